#!/bin/sh
# The newest deployment wins: it stops the one in progress, on whichever machine that runs, and begins when that one has
# tidied up. Later somebody cancels the deployment in progress by hand.

deploy() {
  holdfast lock deploy/eu --owner "$1" --if-held interrupt --listen 1s --kill-after 10s -- sh -c '
    trap "echo \"$1: rolled back\"; exit 1" TERM
    echo "$1: begins"
    sleep 30 & wait
    echo "$1: done"' sh "$1"
  echo "$1: exit status $?"
}

# Waits until this deployment has the lock, and some time for its work.
works() {
  until holdfast inspect deploy/eu | grep -q "^owner *$1"; do sleep 1; done
  sleep 2
}

holdfast table create
deploy "commit 1" &
works "commit 1"
deploy "commit 2" &
works "commit 2"
holdfast interrupt deploy/eu --by alice
wait

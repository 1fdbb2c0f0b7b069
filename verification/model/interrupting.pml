/*
 * Callers that interrupt the holder, for Spin: `node scripts/model.mjs`. The lease is assumed to be correct, as in
 * queue.pml: a belief ends before a takeover.
 *
 * Of PROCESSES processes the first ASKERS interrupt, each CALLS times; the others claim without asking. A request and its
 * answer may be lost, a copy of a request may stay in the network and take effect at any later time, a holder may ignore an
 * interruption until its lease ends, a belief may end early, and a process may crash.
 *
 * The turn of a call is a count that only the model has: when the call took its number in the table, or was granted without
 * one.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion    no two processes believe at once
 *   NewestFirst  no caller is granted while one with a later turn waits, and none is interrupted by one with an earlier turn
 *   Addressed    a holder is interrupted only by a request to itself
 *   Stopped      an interrupted holder does not renew
 *   Served       when all other steps have ended, nobody waits, and the call with the last turn was granted, unless its
 *                process crashed
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef ASKERS
#define ASKERS 2
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef LOST
#define LOST 0 /* requests or answers which never arrive */
#endif
#ifndef LATE
#define LATE 0 /* copies of requests which take effect at any later time */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

#define ASKS(p) (p < ASKERS)

/* ---- the table, and the processes ---------------------------------------------------------------- */

byte holder;  /* a process + 1; 0 while the record is free */
byte fence;   /* of the last grant */
byte request; /* the fence of the holder that must stop; 0: none */
byte asked;   /* the number of the last caller that interrupts */
byte asker;   /* its process + 1; 0 after a grant without a request */

mtype = { idle, calling, held, crashed };

typedef Process {
  mtype phase = idle;
  bit believes;
  bit lives;       /* its lease in the record has not run out */
  bit interrupted;
  bit renewed;     /* after an interruption */
  bit isKnown;     /* an answer has shown its number */
  bit mayBe;       /* a request without an answer may have given it its number */
  byte made;       /* its calls */
  byte seen;       /* the fence of the holder that it saw last */
  byte to;         /* the fence of the holder that it asked last */
  byte number;     /* that it has, or tries to take */
  byte turn;       /* of its call; 0: none yet */
  byte fence       /* of its grant */
}
Process at[PROCESSES];

typedef Copy { byte who; byte to; byte number }
Copy late[LATE + 1];
byte lateUsed, lostUsed, sleepsUsed, crashesUsed;
byte turns;   /* how many calls have a turn */
byte lastBy;  /* the process + 1 with the last turn */
byte served;  /* the last turn that was granted */
byte n;

bool Exclusion = true, NewestFirst = true, Addressed = true, Stopped = true, Served = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define IS_TAKEABLE (holder == 0 || !at[holder - 1].lives || at[holder - 1].fence != fence)

inline takeTurn(p) { turns++; at[p].turn = turns; lastBy = p + 1 }

inline forget(p) {
  at[p].phase = idle; at[p].number = 0; at[p].turn = 0; at[p].isKnown = 0; at[p].mayBe = 0; at[p].to = 0; at[p].seen = 0
}

#ifdef DROP_CLAIM
#define MAY_CLAIM(p) true
#else
#define MAY_CLAIM(p) (at[p].number == 0 || !(at[p].isKnown || at[p].mayBe) || asked <= at[p].number)
#endif

inline begin(p) {
  holder = p + 1; fence++;
  if
  :: ASKS(p) && at[p].turn == 0 ->
    takeTurn(p);
#ifndef DROP_FREE
    asked++; asker = 0
#endif
  :: else
  fi;
  at[p].fence = fence; at[p].believes = 1; at[p].lives = 1; at[p].interrupted = 0; at[p].phase = held;
  served = (at[p].turn > served -> at[p].turn : served);
  printf("p%d is granted %d with turn %d\n", p, fence, at[p].turn);
  for (n : 0 .. PROCESSES - 1) {
    require(Exclusion, n == p || !at[n].believes);
    require(NewestFirst, !ASKS(p) || n == p || at[n].phase != calling || at[n].turn < at[p].turn)
  }
  n = 0
}

/* The effect of a request in the table: with the number, if no other caller has as high a one. */
#ifdef DROP_SAME
#define IS_LATER(p, with) (asked < with || asker == p + 1)
#else
#define IS_LATER(p, with) (asked < with || (asker == p + 1 && asked == with))
#endif

inline ask(p, whom, with) {
  if
  :: holder != 0 && fence == whom && IS_LATER(p, with) ->
    if
    :: asked == with
    :: else -> if
      :: at[p].turn == 0 -> takeTurn(p)
      :: else
      fi
    fi;
    asked = with; asker = p + 1; request = whom
  :: else
  fi
}

/* The answer to a request: it shows the record. */
inline learn(p) {
  if
  :: asked == at[p].number && asker == p + 1 -> at[p].isKnown = 1; at[p].mayBe = 0; at[p].to = at[p].seen
#ifdef DROP_LOST
  :: asked >= at[p].number && asker != p + 1 && at[p].isKnown -> forget(p)
  :: asked >= at[p].number && asker != p + 1 && !at[p].isKnown -> at[p].number = asked + 1; at[p].seen = fence
#else
  :: asked >= at[p].number && asker != p + 1 && (at[p].isKnown || at[p].mayBe) -> forget(p)
  :: asked >= at[p].number && asker != p + 1 && !at[p].isKnown && !at[p].mayBe ->
    at[p].number = asked + 1; at[p].seen = fence
#endif
  :: else -> at[p].seen = fence
  fi
}

proctype Caller(byte p) {
end:
  do
  :: d_step { at[p].phase == idle && at[p].made < CALLS -> at[p].made++; at[p].phase = calling; printf("p%d calls\n", p) }
  :: d_step { at[p].phase == calling && IS_TAKEABLE && MAY_CLAIM(p) -> begin(p) }
  /* A refusal, or a look: a later caller has a number. */
  :: d_step { at[p].phase == calling && at[p].number != 0 && (at[p].isKnown || at[p].mayBe) && asked > at[p].number ->
      printf("p%d gives up\n", p);
#ifdef DROP_CLAIM
      skip
#else
      forget(p)
#endif
  }
  /* It sees a live holder that it has not asked. */
  :: d_step { ASKS(p) && at[p].phase == calling && !IS_TAKEABLE && at[p].seen != fence ->
      at[p].seen = fence;
      if
      :: at[p].number == 0 -> at[p].number = asked + 1
      :: else
      fi }
  :: d_step { ASKS(p) && at[p].phase == calling && at[p].number != 0 && at[p].seen != 0 && at[p].to != at[p].seen ->
      printf("p%d asks %d with number %d\n", p, at[p].seen, at[p].number);
      ask(p, at[p].seen, at[p].number); learn(p) }
  :: d_step { ASKS(p) && at[p].phase == calling && at[p].number != 0 && at[p].seen != 0 && at[p].to != at[p].seen && lostUsed < LOST ->
      printf("p%d asks %d with number %d, and the answer is lost\n", p, at[p].seen, at[p].number);
      lostUsed++; at[p].mayBe = 1; ask(p, at[p].seen, at[p].number) }
  :: d_step { ASKS(p) && at[p].phase == calling && at[p].number != 0 && at[p].seen != 0 && at[p].to != at[p].seen && lostUsed < LOST ->
      printf("p%d asks %d with number %d, and the request is lost\n", p, at[p].seen, at[p].number);
      lostUsed++; at[p].mayBe = 1 }
  :: d_step { ASKS(p) && at[p].phase == calling && at[p].number != 0 && at[p].seen != 0 && at[p].to != at[p].seen && lateUsed < LATE ->
      printf("p%d asks %d with number %d, and a copy stays\n", p, at[p].seen, at[p].number);
      lateUsed++;
      late[lateUsed - 1].who = p + 1; late[lateUsed - 1].to = at[p].seen; late[lateUsed - 1].number = at[p].number;
      ask(p, at[p].seen, at[p].number); learn(p) }
  /* The answer to a renewal shows the request. */
#ifdef DROP_ADDRESS
  :: d_step { at[p].phase == held && at[p].believes && !at[p].interrupted && request != 0 ->
#else
  :: d_step { at[p].phase == held && at[p].believes && !at[p].interrupted && request == at[p].fence && fence == at[p].fence ->
#endif
      printf("p%d is interrupted\n", p);
      require(Addressed, request == at[p].fence);
      require(NewestFirst, !ASKS(p) || asker == 0 || asker == p + 1 || at[asker - 1].turn == 0 || at[asker - 1].turn > at[p].turn);
      at[p].interrupted = 1 }
#ifdef DROP_STOP
  :: d_step { at[p].phase == held && at[p].believes && at[p].interrupted && !at[p].renewed ->
      at[p].renewed = 1; require(Stopped, false) }
#endif
  /* The lease ends before its release is sent, and an ignored interruption ends with the lease. */
  :: d_step { at[p].phase == held && at[p].believes ->
      at[p].believes = 0;
      if
      :: holder == p + 1 && fence == at[p].fence -> holder = 0
      :: else
      fi;
      at[p].lives = 0; forget(p) }
  :: d_step { at[p].phase == held && at[p].lives && at[p].interrupted ->
      printf("p%d ignores it\n", p);
      at[p].believes = 0; at[p].lives = 0; forget(p) }
  :: d_step { at[p].phase == held && at[p].lives && sleepsUsed < SLEEPS ->
      sleepsUsed++; at[p].believes = 0; at[p].lives = 0; forget(p) }
  :: d_step { at[p].phase != crashed && crashesUsed < CRASHES ->
      printf("p%d crashes\n", p);
      crashesUsed++; at[p].phase = crashed; at[p].believes = 0; at[p].lives = 0 }
  od
}

/* A copy of a request in the network takes effect, or is refused. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].who != 0 ->
      printf("a copy of a request of p%d arrives\n", late[copy].who - 1);
      if
      :: holder != 0 && fence == late[copy].to && IS_LATER(late[copy].who - 1, late[copy].number) ->
        asked = late[copy].number; asker = late[copy].who; request = late[copy].to
      :: else
      fi;
      late[copy].who = 0 }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (n : 0 .. PROCESSES - 1) { require(Served, at[n].phase != calling) }
  require(Served, turns == 0 || served == turns || at[lastBy - 1].phase == crashed)
}

init {
  atomic {
    for (n : 0 .. PROCESSES - 1) { run Caller(n) }
    for (n : 0 .. LATE) { run Network(n) }
    run End();
    n = 0
  }
}

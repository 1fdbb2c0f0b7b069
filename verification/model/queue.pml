/*
 * The queue before a record, for Spin: `node scripts/model.mjs`.
 *
 * Omitted: eventually consistent polls, hand-offs without a ticket, mutex users with a place, entries on sessions,
 * namespaces.
 *
 * PROCESSES processes contend for one record, each at most TRIES times: without a ticket if the queue is empty,
 * otherwise with a ticket. The lease protocol is in lease.pml, and is assumed to be correct here: a process
 * believes in its hold, or in its place, until this belief is over, and only then can rivals see it dead. So the
 * model has no clocks: a belief ends at any time, where SLEEPS allows this. A ticket, an entry and a claim are
 * separate steps. A process may take two tickets and one place for two calls, hands the lock off to its second call in
 * one write, or marks the second ticket as granted with its release. A copy of an entry or of a claim may stay in the network and take effect at any later time,
 * whether or not its sender continued; the answer to a ticket is lost; a waiter is cancelled; a process crashes. A waiter
 * may be slow: for those behind it, the lock was free for too long, and they pass it.
 * Bounds limit how often.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion    no two processes believe at once that they hold the record
 *   ServedOrder  a ticket is granted only if no ticket as high was granted before
 *   FirstCome    no waiter is granted past a lower entry whose owner believes in it, and which was in the table at
 *                the waiter's last read or refusal, unless that owner was slow then
 *   NoBarging    no process is granted without a ticket while the queue has waiters
 *   PlaceKept    a different process removes an entry only when its owner no longer believes in it, or its ticket
 *                was granted or passed over
 *   NobodyStuck  no process waits when all other steps have ended
 *   NothingLeft  then no live process has an entry left
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef TRIES
#define TRIES 1
#endif
#ifndef LOST
#define LOST 0 /* tickets without an answer */
#endif
#ifndef LATE
#define LATE 0 /* copies of requests which take effect at any later time */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef SLOW
#define SLOW 0 /* waiters that leave the lock free for too long */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef SHARED
#define SHARED 0 /* places for two calls */
#endif

#define MOST_TICKETS (PROCESSES * TRIES + LOST + SHARED)
#if MOST_TICKETS > 6
#error no more than six tickets
#endif

/* ---- the table ---------------------------------------------------------------------------------- */

byte holder;  /* a process + 1; 0 while the record is free */
byte version; /* of the record: new with every grant and every release */
byte tail, served;
byte entry[7]; /* its owner + 1, by its ticket; 0 where absent */

/* ---- the processes ------------------------------------------------------------------------------ */

mtype = { idle, ticketed, waiting, first, holding, lost, leaving, crashed, claim, put };

typedef Process {
  mtype phase = idle;
  bit believes; /* in its hold */
  bit keeps;    /* in its place */
  bit slow;
  byte ticket;  /* the next one of its place */
  byte last;    /* the last one, in the key of its entry */
  byte tries;
  byte saw;     /* the record's version at the last read */
  short before  /* the waiters before it at the last read or refusal: for FirstCome alone */
}
Process at[PROCESSES];

typedef Copy { mtype kind; byte who; byte ticket; byte version }
Copy late[LATE + 1];

byte lostUsed, lateUsed, crashesUsed, sleepsUsed, slowUsed, cancelsUsed, sharedUsed;
byte e, q;

bool Exclusion = true, ServedOrder = true, FirstCome = true, NoBarging = true;
bool PlaceKept = true, NobodyStuck = true, NothingLeft = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define BIT(t) (1 << (t))
#define OWNER(t) (entry[t] - 1)
#define IS_KEPT(t) (entry[t] != 0 && at[OWNER(t)].keeps && at[OWNER(t)].last == (t))
#define IS_OPEN (tail == served)
#ifdef DROP_RECORD
#define IS_TO_BE_HAD true
#else
#define IS_TO_BE_HAD (holder == 0 || !at[holder - 1].believes)
#endif

/* The entries in the table between the last served ticket and this ticket. */
#define AHEAD(e, t) ((e > served && e < t && entry[e] != 0) -> BIT(e) : 0)
#define BEFORE(t) (AHEAD(1, t) + AHEAD(2, t) + AHEAD(3, t) + AHEAD(4, t) + AHEAD(5, t) + AHEAD(6, t))

/* Those of them whose owners are there and would have claimed by now. */
#define THERE(e, t) ((e > served && e < t && entry[e] != 0 && IS_KEPT(e) && !at[OWNER(e)].slow) -> BIT(e) : 0)
#define PROMPT(t) (THERE(1, t) + THERE(2, t) + THERE(3, t) + THERE(4, t) + THERE(5, t) + THERE(6, t))

inline checkExclusion() {
  for (q : 0 .. PROCESSES - 1) {
    for (e : 0 .. PROCESSES - 1) {
      require(Exclusion, q == e || !at[q].believes || !at[e].believes)
    }
  }
  q = 0; e = 0
}

inline checkFirstCome(by, with) {
  for (e : 1 .. MOST_TICKETS) {
    require(FirstCome, !(e > served && e < with && IS_KEPT(e) && (at[by].before & BIT(e)) != 0))
  }
  e = 0
}

/* A grant with a ticket, from any sender. */
inline grantTicket(by, with) {
  require(ServedOrder, with > served);
  if
  :: with > served -> served = with
  :: else
  fi;
  holder = by + 1; version++
}

#ifdef DROP_SERVED
#define MAY_SERVE(t) true
#else
#define MAY_SERVE(t) ((t) > served)
#endif
#ifdef DROP_FAST
#define MAY_PASS true
#else
#define MAY_PASS IS_OPEN
#endif
#ifdef DROP_LOOK
#define IS_FIRST(p) true
#else
#define IS_FIRST(p) (BEFORE(at[p].ticket) == 0)
#endif
#ifdef DROP_LEFT
#define IS_LEFT(p) true
#else
#define IS_LEFT(p) (PROMPT(at[p].ticket) == 0)
#endif
#ifdef DROP_HAND_MINE
#define MAY_HAND_OFF(p) (at[p].phase == holding || at[p].phase == lost)
#else
#define MAY_HAND_OFF(p) (at[p].phase == holding && holder == p + 1)
#endif
#ifdef DROP_SKIP
#define SKIPPED_TO(p) tail
#else
#define SKIPPED_TO(p) (at[p].last)
#endif
#ifdef DROP_WATCH
#define IS_GONE(t) true
#else
#define IS_GONE(t) (!IS_KEPT(t) || (t) <= served)
#endif
#ifdef DROP_LOOK_AGAIN
#define AFTER_REFUSAL first
#else
#define AFTER_REFUSAL waiting
#endif

inline leave(what, by) {
  lateUsed++;
  late[lateUsed - 1].kind = what; late[lateUsed - 1].who = by;
  late[lateUsed - 1].ticket = (what == put -> at[by].last : at[by].ticket); late[lateUsed - 1].version = version
}

inline giveUpPlace(by) {
#ifndef DROP_LEAVE
  at[by].keeps = 0;
  if
  :: entry[at[by].last] == by + 1 -> entry[at[by].last] = 0
  :: else
  fi;
#endif
  at[by].ticket = 0; at[by].last = 0; at[by].before = 0; at[by].saw = 0; at[by].slow = 0
}

inline removeGone(by, which) {
  d_step { at[by].phase == waiting && at[by].keeps && which < at[by].ticket && entry[which] != 0 && IS_GONE(which) ->
      printf("p%d removes %d\n", by, which);
      require(PlaceKept, !IS_KEPT(which) || which <= served);
      entry[which] = 0; at[by].before = BEFORE(at[by].ticket) }
}

proctype Waiter(byte p) {
end:
  do
  /* With an empty queue, one write. */
  :: d_step { at[p].phase == idle && at[p].tries < TRIES && IS_TO_BE_HAD && MAY_PASS ->
      printf("p%d is granted at once\n", p);
      require(NoBarging, IS_OPEN);
      at[p].tries++; holder = p + 1; version++; at[p].phase = holding; at[p].believes = 1;
      checkExclusion() }
  /* If the record is held, or has a queue, the process takes a ticket: in one step, or without an answer. */
  :: d_step { at[p].phase == idle && at[p].tries < TRIES && (!IS_TO_BE_HAD || !MAY_PASS) &&
      tail < MOST_TICKETS ->
      at[p].tries++; tail++; at[p].ticket = tail; at[p].last = tail; at[p].phase = ticketed;
      printf("p%d takes ticket %d\n", p, tail) }
  :: d_step { at[p].phase == idle && at[p].tries < TRIES && (!IS_TO_BE_HAD || !MAY_PASS) &&
      tail + 1 < MOST_TICKETS && sharedUsed < SHARED ->
      sharedUsed++; at[p].tries++; tail = tail + 2; at[p].ticket = tail - 1; at[p].last = tail;
      at[p].phase = ticketed;
      printf("p%d takes tickets %d and %d\n", p, tail - 1, tail) }
  :: d_step { at[p].phase == idle && at[p].tries < TRIES && lostUsed < LOST &&
      (!IS_TO_BE_HAD || !MAY_PASS) ->
      printf("p%d never learns of ticket %d\n", p, tail + 1);
      lostUsed++; tail++ }
  :: d_step { at[p].phase == ticketed ->
      printf("p%d enters with ticket %d\n", p, at[p].ticket);
      entry[at[p].last] = p + 1; at[p].keeps = 1; at[p].phase = waiting; at[p].before = BEFORE(at[p].ticket) }
  /* Its entry is still in flight when it gives up; a late entry is no process's place. */
  :: d_step { at[p].phase == ticketed && lateUsed < LATE && cancelsUsed < CANCELS ->
      printf("p%d is cancelled, its entry on its way\n", p);
      cancelsUsed++; leave(put, p); at[p].ticket = 0; at[p].last = 0; at[p].before = 0; at[p].phase = idle }
  /* Waiting: it reads the entries before its own, and removes dead ones. */
  :: d_step { at[p].phase == waiting && at[p].keeps && at[p].before != BEFORE(at[p].ticket) ->
      at[p].before = BEFORE(at[p].ticket) }
#ifndef DROP_REJOIN
  :: d_step { at[p].phase == waiting && at[p].keeps && at[p].ticket <= served ->
      printf("p%d was passed over\n", p);
      giveUpPlace(p); at[p].phase = idle }
#endif
  /* Claims which must fail are omitted: they change nothing. */
  :: d_step { at[p].phase == waiting && at[p].keeps && at[p].ticket > served && IS_TO_BE_HAD &&
      IS_FIRST(p) ->
      at[p].before = BEFORE(at[p].ticket); at[p].phase = first; at[p].saw = version }
  /* Those before it have left the lock free for too long. */
  :: d_step { at[p].phase == waiting && at[p].keeps && at[p].ticket > served && IS_TO_BE_HAD &&
      !IS_FIRST(p) && slowUsed > 0 && IS_LEFT(p) ->
      printf("p%d finds the lock left\n", p);
      at[p].before = PROMPT(at[p].ticket); at[p].phase = first; at[p].saw = version }
  :: d_step { at[p].phase == waiting && !at[p].slow && slowUsed < SLOW ->
      printf("p%d is slow\n", p);
      slowUsed++; at[p].slow = 1 }
  :: removeGone(p, 1) :: removeGone(p, 2) :: removeGone(p, 3)
  :: removeGone(p, 4) :: removeGone(p, 5) :: removeGone(p, 6)
  /* First in the queue: it claims; after a refusal it reads again. */
  :: d_step { at[p].phase == first && at[p].keeps ->
      if
      :: IS_TO_BE_HAD && MAY_SERVE(at[p].ticket) ->
        printf("p%d is granted with ticket %d\n", p, at[p].ticket);
        checkFirstCome(p, at[p].ticket); grantTicket(p, at[p].ticket);
        at[p].phase = holding; at[p].believes = 1; checkExclusion()
      :: else -> at[p].before = BEFORE(at[p].ticket); at[p].phase = AFTER_REFUSAL
      fi }
  :: d_step { at[p].phase == first && at[p].keeps && lateUsed < LATE && cancelsUsed < CANCELS ->
      printf("p%d is cancelled, its claim on its way\n", p);
      cancelsUsed++; leave(claim, p); giveUpPlace(p); at[p].phase = idle }
  /* It gives up waiting. */
  :: d_step { (at[p].phase == waiting || at[p].phase == first) && cancelsUsed < CANCELS ->
      printf("p%d is cancelled\n", p);
      cancelsUsed++; giveUpPlace(p); at[p].phase = idle }
  /* Its place is over: it never returns to this place. */
  :: d_step { (at[p].phase == waiting || at[p].phase == first || (at[p].phase == holding && at[p].ticket < at[p].last)) &&
      at[p].keeps && sleepsUsed < SLEEPS ->
      printf("p%d oversleeps\n", p);
      sleepsUsed++; at[p].keeps = 0 }
  :: d_step { (at[p].phase == waiting || at[p].phase == first) && !at[p].keeps ->
      giveUpPlace(p); at[p].phase = idle }
  /* Granted with its last ticket: it deletes its entry, and frees the record after its work. */
  :: d_step { at[p].phase == holding && at[p].ticket != 0 && at[p].ticket == at[p].last -> giveUpPlace(p) }
  /* With a ticket left: it hands the lock off to its second call, or that call gives up and the release skips its
     ticket. The place may have ended meanwhile. */
  :: d_step { at[p].ticket < at[p].last && MAY_HAND_OFF(p) ->
      printf("p%d hands off to ticket %d\n", p, at[p].last);
      at[p].before = BEFORE(at[p].last);
      checkFirstCome(p, at[p].last); grantTicket(p, at[p].last); at[p].ticket = at[p].last;
      at[p].phase = holding; at[p].believes = 1; checkExclusion() }
  :: d_step { at[p].phase == holding && at[p].ticket < at[p].last ->
      printf("p%d releases, and skips ticket %d\n", p, at[p].last);
      at[p].believes = 0;
      if
      :: holder == p + 1 ->
        for (e : 1 .. MOST_TICKETS) {
          require(FirstCome, e <= served || e > SKIPPED_TO(p) || !IS_KEPT(e) || OWNER(e) == p)
        }
        e = 0; holder = 0; version++; served = SKIPPED_TO(p)
      :: else
      fi;
      giveUpPlace(p); at[p].phase = idle }
  :: d_step { at[p].phase == holding && at[p].believes && sleepsUsed < SLEEPS ->
      printf("p%d loses it\n", p);
      sleepsUsed++; at[p].believes = 0; at[p].phase = lost }
  :: d_step { at[p].phase == holding && at[p].ticket == 0 ->
      printf("p%d releases\n", p);
      at[p].believes = 0; at[p].phase = idle;
      if
      :: holder == p + 1 -> holder = 0; version++
      :: else
      fi }
  :: d_step { at[p].phase == lost -> giveUpPlace(p); at[p].phase = idle }
  :: d_step { at[p].phase != crashed && crashesUsed < CRASHES ->
      printf("p%d crashes\n", p);
      crashesUsed++; at[p].phase = crashed; at[p].believes = 0; at[p].keeps = 0;
      at[p].before = 0; at[p].saw = 0 }
  od
}

/* A copy in the network takes effect; no process believes in its result. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].kind == put ->
      printf("the copy of entry %d arrives\n", late[copy].ticket);
      late[copy].kind = 0;
      if
      :: entry[late[copy].ticket] == 0 -> entry[late[copy].ticket] = late[copy].who + 1
      :: else
      fi;
      late[copy].who = 0; late[copy].ticket = 0; late[copy].version = 0 }
  /* The copy names the observed version, so it fails once the record was used. */
  :: d_step { late[copy].kind == claim ->
      printf("the copy of a claim with ticket %d arrives\n", late[copy].ticket);
      late[copy].kind = 0;
      if
#ifdef DROP_ANCHOR
      :: IS_TO_BE_HAD ->
#else
      :: IS_TO_BE_HAD && late[copy].version == version && MAY_SERVE(late[copy].ticket) ->
#endif
        grantTicket(late[copy].who, late[copy].ticket)
      :: else
      fi;
      late[copy].who = 0; late[copy].ticket = 0; late[copy].version = 0 }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (q : 0 .. PROCESSES - 1) {
    require(NobodyStuck, at[q].phase == idle || at[q].phase == crashed)
  }
  for (e : 1 .. MOST_TICKETS) {
    require(NothingLeft, entry[e] == 0 || at[OWNER(e)].phase == crashed || lateUsed > 0)
  }
}

init {
  atomic {
    for (q : 0 .. PROCESSES - 1) { run Waiter(q) }
    for (q : 0 .. LATE) { run Network(q) }
    run End();
    q = 0
  }
}

/*
 * Rings in the queue of a fair lock, for Spin: `node scripts/model.mjs`. The lease, the places and the tickets are assumed to
 * be correct, as in queue.pml and lease.pml: a belief ends before a takeover, and an entry is removed only by its process.
 *
 * Each of PROCESSES processes takes a ticket, waits, holds the lock and releases it. Whoever releases or leaves rings the
 * waiter behind. A ring may be lost, come at any later time, come twice, or be forged by anybody.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion    no two processes believe at once
 *   FirstCome    a process is granted the lock only if none before it waits
 *   Bounded      a waiter sends at most MOST claims because of rings
 *   NobodyStuck  when all other steps have ended, nobody waits
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef PROCESSES
#define PROCESSES 3 /* or 4 */
#endif
#ifndef FORGED
#define FORGED 0 /* rings from nowhere, or for a second time */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef CANCELS
#define CANCELS 0 /* waiters that give up */
#endif
#define MOST 2

/* ---- the table, and the processes ---------------------------------------------------------------- */

byte holder; /* a process + 1; 0 while the record is free */
byte tail, served;

mtype = { idle, waiting, first, holding, gone };

typedef Process {
  mtype phase = idle;
  bit believes;
  bit lives;  /* its lease in the record has not run out */
  bit rings;  /* a ring for it is on its way */
  bit hears;  /* it was told that it will be rung */
  byte ticket;
  byte claims /* that it sent because of rings */
}
Process at[PROCESSES];
byte forgedUsed, sleepsUsed, cancelsUsed;
byte n;

bool Exclusion = true, FirstCome = true, Bounded = true, NobodyStuck = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define WAITS(p) (at[p].phase == waiting || at[p].phase == first)
#define IS_TAKEABLE (holder == 0 || !at[holder - 1].lives)

inline grant(p) {
  holder = p + 1; served = at[p].ticket;
  at[p].phase = holding; at[p].believes = 1; at[p].lives = 1;
  printf("p%d is granted ticket %d\n", p, served);
  for (n : 0 .. PROCESSES - 1) {
    require(Exclusion, n == p || !at[n].believes);
    require(FirstCome, n == p || !WAITS(n) || at[n].ticket > at[p].ticket)
  }
  n = 0
}

/* Rings the waiter that has the next ticket, if there is one: a ring that is lost is one that never comes. */
inline ring(p) {
  for (n : 0 .. PROCESSES - 1) {
    if
    :: WAITS(n) && at[n].ticket == at[p].ticket + 1 -> at[n].rings = 1
    :: else
    fi
  }
  n = 0
}

#define IS_BEFORE(q, p) (WAITS(q) && at[q].ticket < at[p].ticket)
/* By a strongly consistent read. */
#define SEES_NOBODY(p) (!IS_BEFORE(0, p) && !IS_BEFORE(1, p) && !IS_BEFORE(2, p) && !IS_BEFORE(PROCESSES - 1, p))

#ifdef DROP_POLL
#define POLLS(p) (!at[p].hears)
#else
#define POLLS(p) true
#endif

#ifdef DROP_TURN
#define IS_NEXT(p) (served < at[p].ticket)
#else
#define IS_NEXT(p) (served + 1 == at[p].ticket)
#endif

#ifdef DROP_END
/* The ring proves that the holder has ended. */
#define IS_FREE true
#else
#define IS_FREE (holder == 0)
#endif

#ifdef DROP_MOST
#define FOLLOWS(p) true
#else
#define FOLLOWS(p) (at[p].claims < MOST)
#endif

proctype Waiter(byte p) {
end:
  do
  :: d_step { at[p].phase == idle -> tail++; at[p].ticket = tail; at[p].phase = waiting }
  :: d_step { WAITS(p) && !at[p].hears -> at[p].hears = 1 }
  :: d_step { at[p].phase == waiting && POLLS(p) && SEES_NOBODY(p) -> at[p].phase = first }
  :: d_step { at[p].phase == first && IS_TAKEABLE && POLLS(p) ->
      if
      :: served < at[p].ticket -> grant(p)
      :: else -> at[p].phase = gone
      fi }
  :: d_step { WAITS(p) && at[p].rings ->
      at[p].rings = 0;
      if
#ifdef DROP_GRANT
      :: IS_NEXT(p) -> grant(p)
      :: !IS_NEXT(p)
#else
      :: FOLLOWS(p) ->
        at[p].claims++;
        require(Bounded, at[p].claims <= MOST);
        if
        :: IS_FREE && IS_NEXT(p) -> grant(p)
        :: else
        fi
      :: !FOLLOWS(p)
#endif
      fi }
  :: d_step { WAITS(p) && cancelsUsed < CANCELS ->
      printf("p%d gives up\n", p);
      cancelsUsed++; at[p].phase = gone; ring(p) }
  :: d_step { at[p].phase == holding && at[p].believes && sleepsUsed < SLEEPS ->
      printf("p%d loses its lease\n", p);
      sleepsUsed++; at[p].believes = 0; at[p].lives = 0 }
  :: d_step { at[p].phase == holding ->
      at[p].believes = 0; at[p].phase = gone;
      if
      :: holder == p + 1 -> holder = 0; printf("p%d releases\n", p); ring(p)
      :: else
      fi }
  :: d_step { at[p].rings -> at[p].rings = 0; printf("p%d's ring is lost\n", p) }
  :: d_step { forgedUsed < FORGED -> forgedUsed++; at[p].rings = 1; printf("p%d's ring is forged\n", p) }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (n : 0 .. PROCESSES - 1) { require(NobodyStuck, !WAITS(n)) }
}

init {
  atomic {
    for (n : 0 .. PROCESSES - 1) { run Waiter(n) }
    run End();
    n = 0
  }
}

/*
 * One due instant of a schedule, for Spin: `node scripts/model.mjs`. The lease is assumed to be correct, as in queue.pml: a
 * belief ends before a takeover.
 *
 * Each of PROCESSES processes looks at the record, and acts by what it saw, perhaps much later: it begins an attempt by its
 * grant, works, and records the end with the release. The answer to a grant may be lost, and the grant with it, so that the
 * process undoes it; the undoing or the end may be lost, a belief may end early, and a process may crash.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion  no two processes believe at once
 *   BegunOnce  each attempt begins once, and none beyond the last retry
 *   Final      no attempt begins after the end of a completed one was recorded
 *   Finished   when all other steps have ended and a process lives, the instant was completed, or all attempts are spent
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef LOST
#define LOST 0 /* lost grants, lost answers to grants, lost releases */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

/* ---- the table, and the processes ---------------------------------------------------------------- */

mtype = { idle, decided, granted, running, ending, undoing, crashed };
mtype = { none, completed, failed };

typedef Record {
  byte holder;        /* a process + 1; 0 while the record is free */
  byte fence;         /* also the id of the grant */
  byte mark;          /* the grant, until its first renewal */
  byte last;          /* the grant that freed the record; of one that was never applied NOBODY */
  byte attempt;       /* 0 before the first */
  bool isEnded = true;
  mtype outcome = none
}
Record record;
#define NOBODY 255

typedef Process {
  mtype phase = idle;
  bit believes;
  bit lives;      /* its lease in the record has not run out */
  byte fence;     /* of its grant */
  bit gaveUp;     /* the grant, for want of an answer */
  byte attempt;   /* of its grant, or of its decision */
  mtype outcome = none;
  bool hasLooked; /* only of a mutant */
  Record seen
}
Process at[PROCESSES];

byte lostUsed, sleepsUsed, crashesUsed, alive = PROCESSES;
byte begun[RETRIES + 4];
bool isRecorded; /* the end of a completed run */
byte n;

bool Exclusion = true, BegunOnce = true, Final = true, Finished = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define IS_DEAD(r) (r.holder != 0 && (!at[r.holder - 1].lives || at[r.holder - 1].fence != r.fence))
#define IS_MINE(p) (record.holder == p + 1 && record.fence == at[p].fence)
#ifdef DROP_GAVE_UP
/* The last grant of the process itself counts as given up, also if a run began under it. */
#define IS_OWN(p, r) (r.holder == p + 1 && r.fence == at[p].fence)
#else
#define IS_OWN(p, r) (at[p].gaveUp && r.holder == p + 1 && r.fence == at[p].fence)
#endif
#define IS_OPEN(p, r) (r.holder == 0 || IS_DEAD(r) || IS_OWN(p, r))

#ifdef DROP_UNDONE
/* A free record without an end counts as that of a claim that was undone. */
#define IS_UNDONE(p, r) (r.holder == 0)
#else
#define IS_UNDONE(p, r) ((r.holder == 0 && r.mark == r.last) || IS_OWN(p, r))
#endif

#ifdef DROP_SPENT
#define IS_SPENT(p, r) false
#else
#define IS_SPENT(p, r) (r.attempt == 0 || r.isEnded || !IS_UNDONE(p, r))
#endif

#ifdef DROP_BOUND
#define IS_LEFT(r) (r.attempt <= RETRIES || !r.isEnded)
#else
#define IS_LEFT(r) (r.attempt <= RETRIES)
#endif

/* Whether an attempt is due by a record, and which. */
#define IS_DUE(p, r) (IS_OPEN(p, r) && r.outcome != completed && (!IS_SPENT(p, r) || IS_LEFT(r)))
#define NEXT(p, r) (IS_SPENT(p, r) -> r.attempt + 1 : r.attempt)

inline look(p) {
  at[p].seen.holder = record.holder; at[p].seen.fence = record.fence;
  if
#ifdef DROP_MEMORY
  /* What the record remembers comes from the first look. */
  :: at[p].hasLooked -> skip
#endif
  :: !at[p].hasLooked ->
    at[p].seen.mark = record.mark; at[p].seen.last = record.last;
    at[p].seen.attempt = record.attempt; at[p].seen.isEnded = record.isEnded; at[p].seen.outcome = record.outcome
  fi;
#ifdef DROP_MEMORY
  at[p].hasLooked = true
#endif
}

#ifdef DROP_EXACT
/* The grant requires an open record, and not the one that the decision came from. */
#define IS_AS_SEEN(p) IS_OPEN(p, record)
#else
#define IS_AS_SEEN(p) (IS_OPEN(p, record) && record.holder == at[p].seen.holder && record.fence == at[p].seen.fence)
#endif

inline grant(p) {
  record.holder = p + 1; record.fence++; record.mark = record.fence; record.last = 0;
#ifndef DROP_BEGUN
  record.attempt = at[p].attempt; record.isEnded = false; record.outcome = none;
#endif
  at[p].fence = record.fence; at[p].lives = 1; at[p].gaveUp = 0;
  printf("p%d is granted %d for attempt %d\n", p, record.fence, at[p].attempt)
}

inline believe(p) {
  at[p].believes = 1; at[p].phase = granted;
  for (n : 0 .. PROCESSES - 1) { require(Exclusion, n == p || !at[n].believes) }
  n = 0
}

inline recordEnd(p) {
  record.isEnded = true; record.attempt = at[p].attempt; record.outcome = at[p].outcome;
  isRecorded = isRecorded || at[p].outcome == completed
}

proctype Instance(byte p) {
end:
  do
  :: d_step { at[p].phase == idle && IS_DUE(p, record) ->
      look(p);
      if
      :: IS_DUE(p, at[p].seen) ->
        at[p].attempt = NEXT(p, at[p].seen); at[p].phase = decided;
        printf("p%d finds attempt %d due\n", p, at[p].attempt)
      :: else
      fi }
  :: d_step { at[p].phase == decided ->
      if
      :: IS_AS_SEEN(p) -> grant(p); believe(p)
      :: else -> at[p].phase = idle
      fi }
  :: d_step { at[p].phase == decided && IS_AS_SEEN(p) && lostUsed < LOST ->
      printf("the answer to p%d is lost\n", p);
      lostUsed++; grant(p); at[p].gaveUp = 1; at[p].phase = undoing }
  :: d_step { at[p].phase == decided && lostUsed < LOST ->
      printf("the grant of p%d is lost\n", p);
      lostUsed++; at[p].fence = NOBODY; at[p].gaveUp = 0; at[p].phase = undoing }
  /* Frees what it may have been granted, or the dead holder that it wanted to take over from. */
  :: d_step { at[p].phase == undoing ->
      if
      :: IS_MINE(p) || (IS_DEAD(record) && record.holder == at[p].seen.holder && record.fence == at[p].seen.fence) ->
        record.holder = 0; record.last = at[p].fence;
        printf("p%d undoes its grant\n", p)
      :: else
      fi;
      at[p].phase = idle }
  :: d_step { (at[p].phase == undoing || at[p].phase == ending) && lostUsed < LOST ->
      printf("the release of p%d is lost\n", p);
      lostUsed++; at[p].phase = idle }
  :: d_step { at[p].phase == idle && at[p].lives && IS_MINE(p) ->
      printf("the lease of p%d runs out\n", p);
      at[p].lives = 0 }
  :: d_step { at[p].phase == granted && at[p].believes ->
      printf("p%d begins attempt %d\n", p, at[p].attempt);
      begun[at[p].attempt]++; at[p].phase = running;
      require(BegunOnce, begun[at[p].attempt] == 1 && at[p].attempt <= RETRIES + 1);
      require(Final, !isRecorded) }
  :: d_step { at[p].phase == running && at[p].believes && IS_MINE(p) && record.mark == record.fence -> record.mark = 0 }
  /* The lease ends before its release is sent (R2). */
  :: d_step { at[p].phase == running && at[p].believes -> at[p].believes = 0; at[p].outcome = completed; at[p].phase = ending }
  :: d_step { at[p].phase == running && at[p].believes -> at[p].believes = 0; at[p].outcome = failed; at[p].phase = ending }
  /* A run that has lost its lease has failed, even if it was completed. */
  :: d_step { at[p].phase == running && !at[p].lives -> at[p].outcome = failed; at[p].phase = ending }
  :: d_step { at[p].phase == granted && !at[p].lives -> at[p].outcome = failed; at[p].phase = ending }
  :: d_step { at[p].phase == ending ->
      printf("p%d ends\n", p);
      if
#ifdef DROP_END
      /* Another write records the end. */
      :: IS_MINE(p) -> record.holder = 0; record.last = at[p].fence
#else
      :: IS_MINE(p) -> recordEnd(p); record.holder = 0; record.last = at[p].fence
#endif
#ifdef DROP_OWN
      :: !IS_MINE(p) -> recordEnd(p)
#endif
      :: else
      fi;
      at[p].phase = idle }
  :: d_step { (at[p].phase == granted || at[p].phase == running || at[p].phase == ending) && at[p].lives && sleepsUsed < SLEEPS ->
      printf("p%d loses its lease\n", p);
      sleepsUsed++; at[p].believes = 0; at[p].lives = 0 }
  :: d_step { at[p].phase != crashed && crashesUsed < CRASHES ->
      printf("p%d crashes\n", p);
      crashesUsed++; alive--; at[p].phase = crashed; at[p].believes = 0; at[p].lives = 0 }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout -> require(Finished, alive == 0 || record.outcome == completed || record.attempt > RETRIES)
}

init {
  atomic {
    for (n : 0 .. PROCESSES - 1) { run Instance(n) }
    run End();
    n = 0
  }
}

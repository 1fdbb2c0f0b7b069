/*
 * Coalesced calls, for Spin: `node scripts/model.mjs`. The lease is assumed to be correct, as in queue.pml: a belief ends
 * before a takeover.
 *
 * Each of PROCESSES processes calls CALLS times. A call claims the record, or counts itself in the record of a believing
 * holder, and then watches. A copy of a write may stay in the network and take effect at any later time, the answer to a
 * release may be lost, a belief may end early, and a process may crash.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion  no two processes believe at once
 *   Followed   when all other steps have ended, a run that ended in order began after every call of a live process, and
 *              after the noted calls of a crashed one if no other process had a fault
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef LOST
#define LOST 0 /* lost answers to releases */
#endif
#ifndef LATE
#define LATE 0 /* copies of writes which take effect at any later time */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

/* ---- the table, and the processes ---------------------------------------------------------------- */

byte holder; /* a process + 1; 0 while the record is free */
byte last;   /* the process + 1 that freed the record last */
byte fence, calls, ran;

mtype = { idle, calling, granted, running, ended, releasing, owed, crashed, claim, raise, settle };

typedef Process {
  mtype phase = idle;
  bit believes;
  bit lives;    /* its lease in the record has not run out */
  bit watches;
  bit noted;    /* it crashed after its call was noted */
  byte made;    /* its calls */
  byte seen;    /* the fence that it saw when it called */
  byte fence;   /* of its grant */
  byte covered; /* by its run */
  byte began;   /* the number of its run, among all runs */
  byte number;  /* of its last noted call */
  byte after    /* its calls need a run with a higher number */
}
Process at[PROCESSES];

typedef Copy { mtype kind; byte who; byte fence; byte covered }
Copy late[LATE + 1];
byte lateUsed, lostUsed, sleepsUsed, crashesUsed;
byte runs;      /* how many began */
byte completed; /* the number of the last run that ended in order */
byte n;

bool Exclusion = true, Followed = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define IS_TAKEABLE (holder == 0 || !at[holder - 1].lives || at[holder - 1].fence != fence)
#define IS_MINE(p) (holder == p + 1 && fence == at[p].fence)

inline checkExclusion(p) {
  for (n : 0 .. PROCESSES - 1) { require(Exclusion, n == p || !at[n].believes || !at[p].believes) }
  n = 0
}

/* A grant of a run counts as a call. */
inline begin(p) {
  holder = p + 1; fence++; calls++;
  at[p].fence = fence; at[p].covered = calls; at[p].believes = 1; at[p].lives = 1; at[p].phase = granted;
  printf("p%d is granted %d, which covers %d\n", p, fence, calls);
  checkExclusion(p)
}

inline watch(p, until) {
  at[p].number = until;
#ifndef DROP_WATCH
  at[p].watches = 1
#endif
}

inline stay(what, p) {
  lateUsed++;
  late[lateUsed - 1].kind = what; late[lateUsed - 1].who = p;
  late[lateUsed - 1].fence = (what == raise -> at[p].seen : at[p].fence);
  late[lateUsed - 1].covered = at[p].covered
}

#if defined(DROP_CHECK) || defined(DROP_COVERED)
#define MAY_SETTLE(with) true
#else
#define MAY_SETTLE(with) (calls == with)
#endif

#ifdef DROP_COVERED
/* The release covers the calls that it finds. */
#define COVERS(with) calls
#else
#define COVERS(with) with
#endif

inline free(p, with) { ran = COVERS(with); last = p + 1; holder = 0 }

proctype Caller(byte p) {
end:
  do
  :: d_step { at[p].phase == idle && at[p].made < CALLS ->
      at[p].made++; at[p].seen = fence; at[p].after = runs; at[p].phase = calling;
      printf("p%d calls\n", p) }
  :: d_step { at[p].phase == calling && IS_TAKEABLE -> begin(p) }
  :: d_step { at[p].phase == calling && IS_TAKEABLE && holder == 0 && lateUsed < LATE -> stay(claim, p); begin(p) }
  :: d_step { at[p].phase == calling && !IS_TAKEABLE ->
      if
      :: at[p].seen == fence ->
        calls++; watch(p, calls); at[p].phase = idle;
        printf("p%d's call is noted as %d\n", p, calls)
      :: else -> at[p].seen = fence
      fi }
  :: d_step { at[p].phase == calling && !IS_TAKEABLE && at[p].seen == fence && lateUsed < LATE ->
      stay(raise, p); calls++; watch(p, calls); at[p].phase = idle;
      printf("p%d's call is noted as %d, and a copy stays\n", p, calls) }
  :: d_step { at[p].phase == granted -> runs++; at[p].began = runs; at[p].phase = running }
  :: d_step { at[p].phase == running && at[p].believes ->
      printf("p%d's run ends\n", p);
      completed = (at[p].began > completed -> at[p].began : completed); at[p].phase = ended }
  :: d_step { at[p].phase != idle && at[p].phase != calling && at[p].lives && sleepsUsed < SLEEPS ->
      printf("p%d loses its lease\n", p);
      sleepsUsed++; at[p].believes = 0; at[p].lives = 0 }
  /* A lost run: its calls are owed. */
  :: d_step { (at[p].phase == running || at[p].phase == ended) && !at[p].lives ->
      watch(p, at[p].covered); at[p].phase = idle }
  /* The lease ends before its release is sent (R2). */
  :: d_step { at[p].phase == ended && at[p].believes -> at[p].believes = 0; at[p].phase = releasing }
  :: d_step { at[p].phase == releasing ->
      if
      :: IS_MINE(p) && MAY_SETTLE(at[p].covered) -> free(p, at[p].covered); at[p].phase = idle
      :: IS_MINE(p) && !MAY_SETTLE(at[p].covered) -> at[p].phase = owed
      :: !IS_MINE(p) && holder == 0 && last == p + 1 -> at[p].phase = idle
      :: else -> watch(p, at[p].covered); at[p].phase = idle
      fi }
  :: d_step { at[p].phase == releasing && IS_MINE(p) && MAY_SETTLE(at[p].covered) && lostUsed < LOST ->
      printf("p%d's release is applied, and its answer lost\n", p);
      lostUsed++; free(p, at[p].covered) }
  :: d_step { at[p].phase == releasing && lateUsed < LATE ->
      printf("a copy of p%d's release stays\n", p);
      stay(settle, p) }
#ifdef DROP_GRANT
  /* The further run uses the ended lease. */
  :: d_step { at[p].phase == owed -> at[p].believes = 1; at[p].covered = calls; at[p].phase = granted; checkExclusion(p) }
#else
  :: d_step { at[p].phase == owed ->
      if
#ifdef DROP_COMPLETED
      /* The further grant covers the call that made it necessary, before the run. */
      :: IS_MINE(p) -> ran = calls; begin(p)
#else
      :: IS_MINE(p) -> ran = at[p].covered; begin(p)
#endif
      :: else -> watch(p, at[p].covered); at[p].phase = idle
      fi }
#endif
  :: d_step { at[p].phase == idle && at[p].watches && ran >= at[p].number -> at[p].watches = 0 }
  :: d_step { at[p].phase == idle && at[p].watches && ran < at[p].number && IS_TAKEABLE ->
      printf("p%d pays the debt\n", p);
      begin(p) }
  :: d_step { at[p].phase != crashed && crashesUsed < CRASHES ->
      printf("p%d crashes\n", p);
      crashesUsed++; at[p].noted = (at[p].phase == idle); at[p].phase = crashed; at[p].believes = 0; at[p].lives = 0; at[p].watches = 0 }
  od
}

/* A copy of a write in the network takes effect, or is refused. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].kind != 0 ->
      printf("a copy of a write of p%d arrives\n", late[copy].who);
      if
      :: late[copy].kind == claim && holder == 0 -> holder = late[copy].who + 1; fence++; calls++
      :: late[copy].kind == raise && holder != 0 && fence == late[copy].fence -> calls++
      :: late[copy].kind == settle && holder == late[copy].who + 1 && fence == late[copy].fence && MAY_SETTLE(late[copy].covered) ->
        free(late[copy].who, late[copy].covered)
      :: else
      fi;
      late[copy].kind = 0 }
  od
}

/* The holder, which has no fault, runs for a caller that crashed. */
#define IS_LEFT_TO_HOLDER(p) (at[p].noted && crashesUsed == 1 && sleepsUsed == 0)

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (n : 0 .. PROCESSES - 1) {
    require(Followed, at[n].made == 0 || completed > at[n].after || (at[n].phase == crashed && !IS_LEFT_TO_HOLDER(n)))
  }
}

init {
  atomic {
    for (n : 0 .. PROCESSES - 1) { run Caller(n) }
    for (n : 0 .. LATE) { run Network(n) }
    run End();
    n = 0
  }
}

/*
 * A lease that is kept between its uses, for Spin: `node scripts/model.mjs`. The lease is assumed to be correct, as in
 * queue.pml: a belief ends before a takeover.
 *
 * Each of PROCESSES processes uses the record USES times, and keeps its lease in between until it gives the lease back. A
 * claim reserves BLOCK fences. A copy of a release may stay in the network and take effect at any later time, and a belief
 * may end early.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion    no two processes use the record at once, and no use begins without a belief
 *   FenceGrows   every use has a higher fence than all uses before
 *   NobodyStuck  when all other steps have ended, every process has had its uses
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef USES
#define USES 3
#endif
#ifndef BLOCK
#define BLOCK 2
#endif
#ifndef LATE
#define LATE 0 /* copies of releases which take effect at any later time */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif

/* ---- the table, and the processes ---------------------------------------------------------------- */

byte holder; /* a process + 1; 0 while the record is free */
byte fence;  /* the last one that a grant has reserved */
byte used;   /* the highest fence of a use */

mtype = { away, idle, using, ended };

typedef Process {
  mtype phase = away;
  bit believes;
  bit lives;   /* its lease in the record has not run out */
  byte grant;  /* the fence in the record of its grant */
  byte next;   /* the last fence that a use of its grant has had */
  byte last;   /* the last one that its grant has reserved */
  bit wasUsed; /* its grant */
  byte made    /* its uses */
}
Process at[PROCESSES];

typedef Copy { byte who; byte fence; bit waits }
Copy late[LATE + 1];
byte lateUsed, sleepsUsed;
byte n;

bool Exclusion = true, FenceGrows = true, NobodyStuck = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define IS_TAKEABLE (holder == 0 || !at[holder - 1].lives || at[holder - 1].grant != fence)

#ifdef DROP_FENCE
#define IS_OF(p, f) (holder == p + 1)
#else
#define IS_OF(p, f) (holder == p + 1 && fence == f)
#endif

#ifdef DROP_DEADLINE
/* A use begins without a reading of the clocks. */
#define MAY_USE(p) true
#else
#define MAY_USE(p) at[p].believes
#endif

#ifdef DROP_BLOCK
/* The uses do not count the fences of the block. */
#define IS_LEFT(p) true
#else
#define IS_LEFT(p) (at[p].next < at[p].last)
#endif

#ifdef DROP_RESERVE
#define RESERVED 1
#else
#define RESERVED BLOCK
#endif

inline claim(p) {
  holder = p + 1; at[p].next = fence; fence = fence + RESERVED; at[p].last = at[p].next + BLOCK;
  at[p].grant = fence; at[p].believes = 1; at[p].lives = 1; at[p].wasUsed = 0; at[p].phase = idle;
  printf("p%d is granted the fences %d to %d\n", p, at[p].next + 1, at[p].last)
}

inline begin(p) {
  at[p].made++; at[p].wasUsed = 1; at[p].phase = using;
#ifndef DROP_NEXT
  at[p].next++;
#endif
  printf("p%d's use has fence %d\n", p, at[p].next);
  for (n : 0 .. PROCESSES - 1) { require(Exclusion, n == p || at[n].phase != using || !at[n].believes) }
  n = 0;
  require(Exclusion, at[p].believes);
  require(FenceGrows, at[p].next > used);
  used = at[p].next
}

proctype User(byte p) {
end:
  do
  :: d_step { at[p].phase == away && at[p].made < USES && IS_TAKEABLE -> claim(p) }
  :: d_step { at[p].phase == idle && at[p].made < USES && MAY_USE(p) && IS_LEFT(p) -> begin(p) }
  :: d_step { at[p].phase == using -> at[p].phase = idle }
  :: d_step { at[p].phase != away && at[p].lives && sleepsUsed < SLEEPS ->
      printf("p%d loses its lease\n", p);
      sleepsUsed++; at[p].believes = 0; at[p].lives = 0 }
#ifndef DROP_GIVE_BACK
  /* The length is over, others want it, or no fence is left. The lease ends before its release is sent (R2). */
  :: d_step { at[p].phase == idle && (at[p].wasUsed || !at[p].believes) -> at[p].believes = 0; at[p].phase = ended }
#endif
  :: d_step { at[p].phase == ended ->
      if
      :: IS_OF(p, at[p].grant) -> holder = 0
      :: else
      fi;
      at[p].lives = 0; at[p].phase = away }
  :: d_step { at[p].phase == ended && lateUsed < LATE ->
      printf("a copy of p%d's release stays\n", p);
      late[lateUsed].who = p; late[lateUsed].fence = at[p].grant; late[lateUsed].waits = 1; lateUsed++ }
  od
}

/* A copy of a release takes effect, or is refused. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].waits ->
      late[copy].waits = 0;
      if
      :: IS_OF(late[copy].who, late[copy].fence) -> holder = 0; printf("a copy of a release arrives\n")
      :: else
      fi }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (n : 0 .. PROCESSES - 1) { require(NobodyStuck, at[n].made == USES) }
}

init {
  atomic {
    for (n : 0 .. PROCESSES - 1) { run User(n) }
    for (n : 0 .. LATE) { run Network(n) }
    run End();
    n = 0
  }
}

/*
 * A client whose session is renewed by a second thread, for Spin: `node scripts/model.mjs`. Rules 113 to 116 of spec/protocol.md.
 * The lease of one record is in lease.pml, and is assumed to be correct here.
 *
 * Omitted: clocks that step or stand still, two reads of the shared memory between which a thread writes, `renew()`.
 *
 * The main thread of one process and its renewing threads share memory: the phase, the last stamp, and the deadline. Both
 * threads read the clocks of one machine. The main thread renews until it opens the phase, and again after it has taken
 * the renewals back; then it may start another thread, with a phase of its own. Any thread may make no step for any time:
 * the event loop is blocked, the renewing thread hangs, or the whole process is stopped. Code in a block may ask whether
 * the lease is held. A stamp is read from the clock and written in two steps, so a stamp may be late.
 *
 * A renewal is sent, takes effect and is answered in separate steps, with any delay; requests and answers are lost, and
 * copies of requests may take effect at any later time. A rival takes the row over in the state that it has watched for
 * the watch's length, or at once after a release. An operator may delete the row, at most HAND times.
 *
 * There is no bound on renewals, lost requests or time: the model keeps ticks since an event, and only up to the length
 * that matters. The clock of the machine and the clock of the rival are never more than DRIFT ticks apart.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion     the main thread and the rival never both believe that they hold, unless an operator deleted the row
 *   LostIsFinal   after an answer "not held", or a loss that the thread has reported, the main thread never believes
 *   Silent        no thread sends a renewal after its phase has ended
 *   Bounded       no thread sends a renewal when the main thread has made no step for MAY_BLOCK; and a main thread
 *                 without a step for MAY_BLOCK and a lease does not believe
 *   Kept          the main thread answers "not held" only after the published deadline, or after the end by a thread
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef THREADS
#define THREADS 1 /* threads that the main thread starts, one after the other */
#endif
#ifndef LATE
#define LATE 1 /* copies of requests in the network at a time */
#endif
#ifndef HAND
#define HAND 0 /* deletions of the row by an operator */
#endif
#ifndef LATE_STAMPS
#define LATE_STAMPS 0 /* whether time may pass while the main thread stamps */
#endif
#ifndef DRIFT
#define DRIFT 1
#endif

/* In ticks. */
#ifndef LEASE
#define LEASE 3
#endif
#ifndef MAY_BLOCK
#define MAY_BLOCK 3
#endif

#define HOLD (LEASE - DRIFT)
#define WATCH (LEASE + DRIFT)
#define LOST_BY (MAY_BLOCK + HOLD)

/* ---- state ---------------------------------------------------------------------------------------- */

mtype = { owned, freed, taken };
mtype = { waiting, open, closed, takenBack, lost };
mtype = { quiet, started, sent, applied, refused, acknowledged };

/* A renewing thread, and the memory that it shares with the main thread. */
typedef Thread {
  mtype phase;      /* shared */
  byte stampAge;    /* shared: ticks since the last stamp */
  byte deadlineAge; /* shared: ticks since the start of the published deadline */
  bit hasBegun;     /* the thread has received its assignment */
  bit isOver;       /* the thread's own hold has ended */
  byte age;         /* ticks since the start of the thread's deadline */
  mtype wire;
  byte since;       /* ticks since the start of its renewal */
  bit hasEnded      /* for the invariants alone: one of the two threads has ended the phase */
}
Thread at[THREADS];

typedef Main {
  bit isOver;       /* the hold has ended, for good */
  bit isMoved;      /* the hold lives by the shared deadline */
  byte current;     /* the thread in use; THREADS if none is left */
  byte age;         /* ticks since the start of its own deadline */
  mtype wire;
  byte since;
  bit isStamping;   /* it has read the clock for a stamp */
  byte stampAge;    /* ticks since this reading */
  bit isFreeing     /* its release is in the network */
#ifdef DROP_CACHE
  ; byte copy       /* ticks since the start of the deadline that it read at the handover */
#endif
}
Main main;

mtype row = owned;
byte late;          /* copies of renewals in the network */
bit hasSeen;        /* the rival watches the row in its current version ... */
byte watched;       /* ... for so many ticks */
byte lead = DRIFT;  /* by how much the machine's clock leads the rival's, + DRIFT */
byte hands;

/* For the invariants alone. */
byte idle;          /* ticks of the machine without a step of the main thread */
bit wasLost;        /* the main thread has answered "not held", or a thread has reported a loss */

bool Exclusion = true, LostIsFinal = true, Silent = true, Bounded = true, Kept = true;

byte t; /* within one step; 0 between two steps */

#define require(invariant, condition) \
  if \
  :: (condition) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define MY at[main.current]

#ifdef DROP_CACHE
#define SHARED_AGE main.copy
#else
#define SHARED_AGE MY.deadlineAge
#endif
#ifdef DROP_PHASE
#define KNOWS_LOSS false
#else
#define KNOWS_LOSS (MY.phase == lost)
#endif

/* The answer that the main thread gives now. */
#define BELIEVES (!main.isOver && \
  ((!main.isMoved && main.age < HOLD) || (main.isMoved && !KNOWS_LOSS && SHARED_AGE < HOLD)))

inline check() {
  require(Exclusion, !(row == taken && hands == 0 && BELIEVES));
  require(LostIsFinal, !(wasLost && BELIEVES));
  require(Bounded, idle < LOST_BY || !BELIEVES)
}

/* ---- the table ------------------------------------------------------------------------------------- */

inline changed() {
  hasSeen = 0; watched = 0
}

/* ---- the main thread --------------------------------------------------------------------------------- */

/* The main thread ends the phase, by compare and exchange. */
inline endPhase(to) {
  MY.hasEnded = 1;
#ifdef DROP_END_PHASE
  skip
#else
  if
  :: MY.phase == waiting || MY.phase == open -> MY.phase = to
  :: else
  fi
#endif
}

/* The hold has ended. */
inline endHold() {
  if
  :: main.current < THREADS -> endPhase(closed)
  :: else
  fi;
  main.isOver = 1;
  main.wire = quiet; main.since = 0; main.isStamping = 0; main.stampAge = 0
}

/* Any question, also from code that blocks the event loop. */
inline ask() {
  require(Kept, !main.isMoved || MY.phase == lost || MY.deadlineAge >= HOLD);
#ifdef DROP_STICKY
  skip;
#else
  endHold();
#endif
  wasLost = 1
}

inline ranMain() {
  idle = 0
}

/* The handover: it publishes its deadline, stamps, and opens the phase. */
inline open_() {
#ifdef DROP_HANDOVER
  MY.deadlineAge = 0;
#else
  MY.deadlineAge = main.age;
#endif
  MY.age = MY.deadlineAge;
  MY.stampAge = 0;
  MY.phase = open;
#ifdef DROP_CACHE
  main.copy = MY.deadlineAge;
#endif
  main.isMoved = 1; main.age = HOLD
}

/* It takes the renewals back, with the deadline that is published now. */
inline takeBack() {
  if
  :: MY.phase == lost -> ask()
  :: else ->
#ifdef DROP_TAKE_BACK
    main.age = 0;
#else
    main.age = MY.deadlineAge;
#endif
    endPhase(takenBack);
    main.isMoved = 0; main.isStamping = 0; main.stampAge = 0;
    main.current++
  fi
}

inline mainAnswered() {
  if
  :: main.wire == refused -> endHold(); wasLost = 1
  :: main.wire == applied && main.age < HOLD -> main.age = main.since
  :: else -> endHold(); wasLost = 1
  fi;
  main.wire = quiet; main.since = 0
}

inline mainStep() {
  if
  /* Its own renewals. */
  :: BELIEVES && !main.isMoved && main.wire == quiet -> main.wire = sent; main.since = 0; ranMain()
  :: main.wire == sent -> /* takes effect: no step of the main thread */
    if
    :: row == owned -> changed(); main.wire = applied
    :: else -> main.wire = refused
    fi
  :: main.wire == applied || main.wire == refused -> mainAnswered(); ranMain()
  :: main.wire == sent && late < LATE -> late++; main.wire = quiet; main.since = 0; ranMain()
  :: main.wire != quiet -> main.wire = quiet; main.since = 0; ranMain()
  /* Its stamps. */
#if LATE_STAMPS > 0
  :: !main.isOver && main.isMoved && !main.isStamping -> main.isStamping = 1; main.stampAge = 0; ranMain()
  :: main.isStamping -> MY.stampAge = main.stampAge; main.isStamping = 0; main.stampAge = 0; ranMain()
#else
  :: !main.isOver && main.isMoved && MY.stampAge > 0 -> MY.stampAge = 0; ranMain()
#endif
  /* The renewals move to a thread, and back. */
#ifdef DROP_OPEN
  :: main.current < THREADS && !main.isMoved && main.wire == quiet -> open_(); ranMain()
#else
  :: main.current < THREADS && BELIEVES && !main.isMoved && main.wire == quiet && MY.phase == waiting ->
    open_(); ranMain()
#endif
  :: main.isMoved && !main.isOver -> takeBack(); ranMain()
  /* A question, and the close, after which it frees the row. */
  :: !main.isOver && !BELIEVES -> ask()
#ifdef DROP_ORDER
  :: BELIEVES && !main.isFreeing -> main.isFreeing = 1; ranMain()
#endif
  :: BELIEVES -> endHold(); wasLost = 1; main.isFreeing = 1; ranMain()
  :: main.isFreeing ->
    main.isFreeing = 0;
    if
    :: row == owned -> row = freed; changed()
    :: true /* lost */
    fi
  fi
}

/* ---- the renewing threads ------------------------------------------------------------------------------ */

/* The thread reports a loss, by compare and exchange. */
inline lose(i) {
  at[i].hasEnded = 1;
  at[i].isOver = 1; at[i].age = HOLD; at[i].wire = quiet; at[i].since = 0;
  if
  :: at[i].phase == open ->
    at[i].phase = lost;
    if
    :: main.current == i -> wasLost = 1
    :: else
    fi
  :: else
  fi
}

#ifdef DROP_BOUND
#define IS_YOUNG(i) true
#else
#define IS_YOUNG(i) (at[i].stampAge < MAY_BLOCK)
#endif
#ifdef DROP_CLOSE
#define IS_OPEN(i) true
#else
#define IS_OPEN(i) (at[i].phase == open)
#endif

inline send(i) {
  require(Silent, !at[i].hasEnded);
  require(Bounded, main.current != i || idle < MAY_BLOCK);
  at[i].wire = sent
}

/* Directly before a send. */
inline gate(i) {
#ifdef DROP_STAMP
  at[i].stampAge = 0;
#endif
  if
#ifdef DROP_CHECK
  :: send(i)
#else
  :: IS_OPEN(i) && IS_YOUNG(i) -> send(i)
  :: IS_OPEN(i) && !IS_YOUNG(i) -> at[i].wire = quiet; at[i].since = 0
  :: !IS_OPEN(i) -> at[i].isOver = 1; at[i].age = HOLD; at[i].wire = quiet; at[i].since = 0
#endif
  fi
}

inline answered(i) {
  if
  :: at[i].wire == refused || at[i].age >= HOLD -> lose(i)
  :: else ->
#ifdef DROP_ANSWER
    at[i].age = 0;
#else
    at[i].age = at[i].since;
#endif
    at[i].since = 0; at[i].wire = acknowledged
  fi
}

inline threadStep(i) {
  if
  :: at[i].phase == open && !at[i].hasBegun -> at[i].hasBegun = 1
#ifdef DROP_CHECK
  /* It checks only when it decides to renew. */
  :: at[i].hasBegun && !at[i].isOver && at[i].wire == quiet && at[i].age < HOLD && IS_OPEN(i) && IS_YOUNG(i) ->
#else
  :: at[i].hasBegun && !at[i].isOver && at[i].wire == quiet && at[i].age < HOLD ->
#endif
    at[i].wire = started; at[i].since = 0
  :: at[i].wire == started -> gate(i)
  :: at[i].wire == sent ->
    if
    :: row == owned -> changed(); at[i].wire = applied
    :: else -> at[i].wire = refused
    fi
  :: at[i].wire == sent && late < LATE -> late++; at[i].wire = quiet; at[i].since = 0
  :: at[i].wire == sent || at[i].wire == applied || at[i].wire == refused -> at[i].wire = quiet; at[i].since = 0
  :: at[i].wire == applied || at[i].wire == refused -> answered(i)
  :: at[i].wire == acknowledged -> at[i].deadlineAge = at[i].age; at[i].wire = quiet
  :: at[i].hasBegun && !at[i].isOver && at[i].age >= HOLD -> lose(i)
  fi
}

/* ---- clocks, the network, the rival, the operator -------------------------------------------------------- */

#define LATER(value, most) ((value) < (most) -> (value) + 1 : (value))
#define LATER_IF(isUsed, value, most) ((isUsed) && (value) < (most) -> (value) + 1 : (value))

inline tick() {
  lead++;
  main.age = LATER(main.age, HOLD);
  main.since = LATER_IF(main.wire != quiet, main.since, HOLD);
  main.stampAge = LATER_IF(main.isStamping, main.stampAge, MAY_BLOCK);
#ifdef DROP_CACHE
  main.copy = LATER(main.copy, HOLD);
#endif
  idle = LATER_IF(!main.isOver, idle, LOST_BY);
  for (t : 0 .. THREADS - 1) {
    at[t].stampAge = LATER_IF(at[t].phase == open, at[t].stampAge, MAY_BLOCK);
    at[t].deadlineAge = LATER(at[t].deadlineAge, HOLD);
    at[t].age = LATER(at[t].age, HOLD);
    at[t].since = LATER_IF(at[t].wire != quiet && at[t].wire != acknowledged, at[t].since, HOLD)
  }
  t = 0
}

inline rival() {
  if
  :: row == owned && !hasSeen -> hasSeen = 1
  :: row == owned && hasSeen && watched == WATCH -> row = taken; changed()
  :: row == freed -> row = taken
  fi
}

init {
  atomic {
    main.wire = quiet;
    for (t : 0 .. THREADS - 1) {
      at[t].phase = waiting; at[t].wire = quiet; at[t].age = HOLD; at[t].deadlineAge = HOLD
    }
    t = 0
  }
  do
  :: atomic { mainStep(); check() }
  :: atomic { threadStep(0); check() }
#if THREADS > 1
  :: atomic { threadStep(1); check() }
#endif
  :: atomic { rival(); check() }
  :: atomic { lead < 2 * DRIFT -> tick(); check() }
  :: atomic { lead > 0 -> lead--; watched = LATER_IF(hasSeen, watched, WATCH) }
  :: atomic { late > 0 -> late--;
      if
      :: row == owned -> changed()
      :: else
      fi }
  :: atomic { hands < HAND && row == owned -> hands++; row = freed; changed() }
  od
}

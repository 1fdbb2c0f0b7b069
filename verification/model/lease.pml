/*
 * The protocol of the native lease, for Spin: `node scripts/model.mjs`. The rules R1 to R14 are in ARCHITECTURE.md.
 *
 * Omitted: eventually consistent reads going back, changes of length, user data, restored tables, throttling, a second
 * hand-off, several processes on a machine, bounds on time.
 *
 * PROCESSES processes contend for one record. Send, effect at the table and answer of a request are three separate
 * steps, with any other step between, so the search covers every delay. A paused process makes no step while its
 * clock continues. In addition, as often as the bounds below allow, a request or an answer is lost, a copy of a
 * request stays in the network and takes effect at any later time, a process crashes and restarts without its
 * memory, and a machine is suspended, so its monotonic clock stands still.
 *
 * Every process has a clock of its own, in ticks. No clock is ever more than DRIFT ticks ahead of another, so over
 * any stretch of time two clocks differ by at most 2 * DRIFT: the sum of the holder's and the watcher's margin,
 * and twice the drift for which the code's margins are meant. The model keeps no instant, only ticks since an
 * event, so time has no end.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion      no two processes believe at once that they hold
 *   FenceGrows     every grant has a higher fence than all earlier grants
 *   GuardedWrites  once there is a later grant, no condition of a former holder is true
 *   Ownership      only its holder writes a held record, or a process which watched exactly this state until dead,
 *                  or the process which abandoned the grant
 *   LostIsFinal    no process believes again in a lease which has ended
 *   NoOrphan       a process never waits for its own abandoned grant; a takeover or hand-off with an acknowledged
 *                  rollback is never granted; a claim of a free record as seen is never granted after another use
 *                  of the record; and no process waits when all other steps have ended
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef IDS
#define IDS 2 /* grants of each process, with abandoned grants */
#endif
#ifndef RENEWALS
#define RENEWALS 1 /* of each process */
#endif
#ifndef LOST
#define LOST 1 /* requests or answers which never arrive */
#endif
#ifndef LATE
#define LATE 1 /* copies of requests which take effect at any later time */
#endif
#ifndef SUSPENDED
#define SUSPENDED 1 /* ticks in which a monotonic clock stands still */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef DRIFT
#define DRIFT 1
#endif

/* In ticks. The first process may request a longer lease than the rest. */
#ifndef FIRST_LEASE
#define FIRST_LEASE 3
#endif
#define LEASE(p) ((p) == 0 -> FIRST_LEASE : 2)

/* Ids of holders: 0 is no holder; each other id belongs to one attempt of one process. */
#define ID(p, k) (1 + (p) + PROCESSES * (k))
#define OWNER(id) (((id) - 1) % PROCESSES)
#define BIT(id) (1 << (id))
#define ANY 255 /* in a condition: any value */

/* ---- the two lengths of core/record/decide.ts (R2, R3) -------------------------------------------------- */

#ifdef DROP_R2_MARGIN
#define HOLD(p) LEASE(p)
#else
#define HOLD(p) (LEASE(p) - DRIFT)
#endif

#if defined(DROP_R3_ALLOWANCE)
#define WATCH(p, holder) LEASE(OWNER(holder))
#elif defined(DROP_R3_RECORDED_LENGTH)
#define WATCH(p, holder) (LEASE(p) + DRIFT)
#else
#define WATCH(p, holder) (LEASE(OWNER(holder)) + DRIFT)
#endif

/* ---- state ---------------------------------------------------------------------------------------- */

mtype = { claim, takeOver, handOff, renew, release, rollback };
mtype = { idle, waiting, trying, held, freeing };
mtype = { quiet, sent, answered };

typedef Record {
  byte holder;  /* 0 while the record is free */
  byte fence    /* 0 while the record is absent */
}

/* A version only grows, so of an observed version only its equality with the current version matters. */
#define CURRENT 1
#define PAST 0

typedef Request {
  mtype kind;
  byte id;      /* the holder which the request sets, or for which it writes */
  byte holder;  /* the holder in its condition */
  byte number   /* the fence, or the version, in its condition */
}

typedef Local {
  mtype phase;
  byte issued;      /* ids used */
  byte renewals;
  byte id;          /* of the hold */
  byte fence;       /* of the hold, from the answer to its grant */
  byte age;         /* ticks since the first send from which the deadline counts */
  mtype wire;       /* the state of the one request about a record (R7) */
  Request request;
  byte since;       /* ticks since its send, where this matters */
  bool unanswered;  /* an earlier send had no answer */
  Record answer;
  bool applied;
  bool hasSeen;     /* the observation: the record in its current state; earlier states are not kept ... */
  byte watched;     /* ... and the ticks without a change, on the monotonic clock */
  Request job;      /* the rollback in the background */
  byte ahead        /* ticks by which this clock leads the slowest clock */
}

Record record;
Local at[PROCESSES];
Request late[LATE + 1];
byte lateUsed, lostUsed, suspendedUsed, crashesUsed;

/* Sets of ids. */
short over;      /* holds which ended, and abandoned attempts */
short memory;    /* of these, the ids which their process remembers (R14) */
short forgotten; /* ids which were used before a crash of their process */
short settled;   /* ids which, by an answer, can never be granted any more */

/* For the invariants alone. */
byte highestFence;
byte told[1 + PROCESSES * IDS]; /* the fence which each holder received */
bool Exclusion = true, FenceGrows = true, GuardedWrites = true;
bool Ownership = true, LostIsFinal = true, NoOrphan = true;

#ifdef DELETION
/* Civil time, for the fence of a deleted record (R9, R10). Two hosts are wrong by a tick each. */
#ifndef HORIZON
#define HORIZON 8
#endif
#define RETENTION 2
#define WALL(p) (wall + 1 - 2 * ((p) > 0))
#ifdef DROP_R9_SEED
#define SEED(m) 0
#else
/* The sender's clock at the time of composition. A claim's condition names no holder. */
#define SEED(m) m.holder
#endif
byte wall = 1, expiresAt;
bool granted; /* in this tick: a record takes a limited number of writes a second */
#endif

/* For use within one step; 0 between two steps. */
byte i, q;
bool isTrue, isWatching, wasRenewed;

#define me at[p]
#define BELIEVES(p) (at[p].phase == held && at[p].age < HOLD(p))
#define REMEMBERS(p, holder) ((holder) != 0 && OWNER(holder) == (p) && (memory & BIT(holder)))
#define SEES_HOLDER(p) (at[p].hasSeen && record.holder != 0)
#define TAKEABLE(p) (SEES_HOLDER(p) && at[p].watched >= WATCH(p, record.holder))
#define CAN_TRY(p) (at[p].issued < IDS)

/* ---- invariants ------------------------------------------------------------------------------------ */

#ifdef DELETION
/* Deleting a held record breaks every invariant except the fence's (R10). */
#define require(invariant, condition) skip
#else
#define require(invariant, condition) \
  if \
  :: (condition) \
  :: else -> invariant = false; assert(invariant) \
  fi
#endif

inline checkExclusion(p) {
  for (q : 0 .. PROCESSES - 1) {
    require(Exclusion, q == p || !(BELIEVES(p) && BELIEVES(q)))
  }
}

#ifdef DROP_R7_GUARD_FENCE
#define GUARD(id) (record.holder == id)
#else
#define GUARD(id) (record.holder == id && record.fence == told[id])
#endif

/* A conditional user write can arrive at any time: its condition must be false at all times. */
inline checkGuardedWrites() {
  for (i : 1 .. PROCESSES * IDS) {
    require(GuardedWrites, told[i] == 0 || told[i] == highestFence || !GUARD(i))
  }
  i = 0
}

/* ---- the table: native/native.ts ------------------------------------------------------------------- */

#define AS_HELD(m) (record.holder == m.holder && record.fence == m.number)
#define AS_WATCHED(m) (record.holder == m.holder && m.number == CURRENT)
#define NAMES(id) (id != 0 && record.holder == id)

#if defined(DROP_R7_OWNER)
/* By the process, not by the grant. */
#define WRITABLE(m) (record.holder != 0 && OWNER(record.holder) == OWNER(m.holder))
#elif defined(DROP_R7_FENCE)
#define WRITABLE(m) (record.holder == m.holder)
#else
#define WRITABLE(m) AS_HELD(m)
#endif

#if defined(DROP_R4_VERSION)
#define TAKEABLE_AS_WATCHED(m) (record.holder == m.holder)
#elif defined(DROP_R4_CONDITION)
#define TAKEABLE_AS_WATCHED(m) true
#else
#define TAKEABLE_AS_WATCHED(m) AS_WATCHED(m)
#endif

#ifdef DROP_R5_ONCE
/* Also accepts the state which an earlier send of the same write would have left. */
#define OR_OWN(m) || NAMES(m.id)
#else
#define OR_OWN(m)
#endif

#ifdef DROP_R14_ANCHOR
#define CLAIMABLE(m) (record.holder == 0)
#else
#define CLAIMABLE(m) (record.holder == 0 && (m.number == ANY || record.fence == m.number))
#endif

#ifdef DROP_R14_AS_WATCHED
#define NEUTRALISES(m) NAMES(m.id)
#else
#define NEUTRALISES(m) (NAMES(m.id) || (NAMES(m.holder) && m.number == CURRENT))
#endif

inline evaluate(m) {
  if
  :: m.kind == claim -> isTrue = CLAIMABLE(m) OR_OWN(m)
  :: m.kind == takeOver -> isTrue = TAKEABLE_AS_WATCHED(m) OR_OWN(m)
  :: m.kind == handOff -> isTrue = AS_HELD(m) OR_OWN(m)
  :: m.kind == renew -> isTrue = WRITABLE(m)
  :: m.kind == release -> isTrue = WRITABLE(m) || NAMES(m.id)
  :: m.kind == rollback -> isTrue = NEUTRALISES(m)
  :: else -> isTrue = false
  fi
}

/* Checks the record to which a write is applied, independently of the write's condition. */
inline checkOwnership(m) {
  if
  :: m.kind == claim ->
    require(Ownership, record.holder == 0);
    require(NoOrphan, m.number == ANY || record.fence == m.number)
  :: m.kind == takeOver -> require(Ownership, AS_WATCHED(m))
  :: m.kind == handOff -> require(Ownership, AS_HELD(m))
  :: m.kind == renew -> require(Ownership, AS_HELD(m))
  :: m.kind == release -> require(Ownership, AS_HELD(m) || (NAMES(m.id) && (over & BIT(m.id))))
  :: m.kind == rollback ->
    require(Ownership, (NAMES(m.id) && (over & BIT(m.id))) || AS_WATCHED(m))
  :: else
  fi
}

/* The version has changed, or the holder has gone: the observed pair will never be current again, and a write
   which names it is refused forever. So an outdated observation is dropped here, not at the next read: it could
   only lead to a refusal. */
inline moveOn() {
  for (q : 0 .. PROCESSES - 1) {
#ifdef DROP_R3_ANY_CHANGE
    if
    :: wasRenewed
    :: else -> at[q].hasSeen = false; at[q].watched = 0
    fi;
#else
    at[q].hasSeen = false;
    at[q].watched = 0;
#endif
    if
    :: at[q].request.kind == takeOver -> at[q].request.number = PAST
    :: else
    fi;
    if
    :: at[q].job.number == CURRENT -> at[q].job.number = PAST
    :: else
    fi
  }
  for (q : 0 .. LATE) {
    if
    :: (late[q].kind == takeOver || late[q].kind == rollback) && late[q].number == CURRENT ->
      late[q].number = PAST
    :: else
    fi
  }
  q = 0
}

inline grant(m) {
#ifdef DELETION
  if
  :: record.fence == 0 -> record.fence = SEED(m) + 1
  :: else -> record.fence++
  fi;
  granted = true;
#else
  record.fence++;
#endif
  record.holder = m.id;
  if
  :: record.fence > highestFence
  :: else -> FenceGrows = false; assert(FenceGrows)
  fi;
  highestFence = record.fence;
  require(NoOrphan, !(settled & BIT(m.id)))
}

/* One conditional write, or a read. */
inline apply(m) {
  evaluate(m);
  if
  :: isTrue ->
    printf("the table applies %e %d (names %d, %d)\n", m.kind, m.id, m.holder, m.number);
    checkOwnership(m);
    wasRenewed = (m.kind == renew);
    if
    :: m.kind == renew
    :: m.kind == release || m.kind == rollback ->
      record.holder = 0;
#ifdef DROP_R9_RELEASE
      record.fence = 0;
#endif
    :: else -> grant(m)
    fi;
#ifdef DELETION
    expiresAt = WALL(OWNER(m.id)) + LEASE(OWNER(m.id)) + RETENTION;
#endif
    moveOn();
    checkGuardedWrites()
  :: else -> printf("the table refuses %e %d (names %d, %d)\n", m.kind, m.id, m.holder, m.number)
  fi
}

/* ---- the memory of a process ------------------------------------------------------------------------- */

#ifdef DROP_R3_AFTER_ANSWER
#define WATCHED_ALREADY me.since
#else
#define WATCHED_ALREADY 0
#endif

/* An answer shows the record. The watch of a new observation begins now (R3). */
inline see(p) {
  if
  :: me.hasSeen
  :: else -> me.watched = (record.holder == 0 || REMEMBERS(p, record.holder) -> 0 : WATCHED_ALREADY)
  fi;
  me.hasSeen = true
}

inline clear(m) { m.kind = 0; m.id = 0; m.holder = 0; m.number = 0 }


inline send(p, k, forId, named, numbered) {
  me.request.kind = k;
  me.request.id = forId;
  me.request.holder = named;
  me.request.number = numbered;
  me.since = 0;
  me.wire = sent;
  printf("p%d sends %e %d (names %d, %d)\n", p, k, forId, named, numbered)
}

/* Resets variables which no longer matter, since the search would distinguish their values. */
inline hangUp(p) {
  me.wire = quiet;
  me.applied = false;
  me.since = 0;
  me.answer.holder = 0;
  me.answer.fence = 0
}

inline forgetSeen(p) {
  me.hasSeen = false;
  me.watched = 0
}

inline become(p, newPhase) {
  me.phase = newPhase;
  me.unanswered = false;
  me.id = 0;
  me.fence = 0;
  me.age = 0;
  clear(me.request)
}

/* The next acquisition begins without this acquisition's observation. The code may continue a watch, which is
   equivalent to a longer wait of this acquisition. */
inline finish(p) {
  become(p, idle);
  forgetSeen(p)
}

/* Ends a hold, or abandons an attempt: no process believes in it any more, and its process knows this. */
inline abandon(holder) {
  printf("%d is over\n", holder);
  over = over | BIT(holder);
#ifndef DROP_R14_MEMORY
  memory = memory | BIT(holder)
#endif
}

inline isCopyLate(holder) {
  isTrue = false;
  for (i : 0 .. LATE) {
    if
    :: late[i].kind != 0 && late[i].id == holder -> isTrue = true
    :: else
    fi
  }
  i = 0
}

/* ---- acquiring: core/acquire/acquire.ts, core/acquire/grant.ts -------------------------------------------------- */

inline attempt(p, k, named, numbered) {
  me.phase = trying;
  me.age = 0;
  me.unanswered = false;
  send(p, k, ID(p, me.issued), named, numbered);
  me.issued++
}

#ifdef DELETION
#define CLAIM_SEED WALL(p)
#else
#define CLAIM_SEED 0
#endif

/* core/record/decide.ts, where the decision is not to wait. */
inline decide(p) {
  if
  :: REMEMBERS(p, record.holder) || TAKEABLE(p) -> attempt(p, takeOver, record.holder, CURRENT)
  :: else -> attempt(p, claim, CLAIM_SEED, record.fence)
  fi
}

/* Leaves attempts which may still be granted to the background (R14). A claim's rollback knows only its id. */
inline giveUp(p) {
  abandon(me.request.id);
  me.job.kind = rollback;
  me.job.id = me.request.id;
  me.job.holder = (me.request.kind == claim -> 0 : me.request.holder);
  me.job.number = (me.request.kind == claim -> 0 : me.request.number)
}

/* Refused at its only send: if no copy can be granted later, its id was never used. */
inline refusedAttempt(p) {
  isCopyLate(me.request.id);
  if
  :: me.unanswered -> giveUp(p)
  :: !me.unanswered && isTrue ->
#ifdef DROP_R14_REFUSED
    over = over | BIT(me.request.id)
#else
    abandon(me.request.id)
#endif
  :: else -> me.issued--
  fi
}

inline nextTurn(p) {
  become(p, waiting);
  see(p);
  hangUp(p);
  require(NoOrphan, record.holder == 0 || OWNER(record.holder) != p ||
    (memory & BIT(record.holder)) || (forgotten & BIT(record.holder)))
}

inline hold(p, holder, fenceTold) {
  printf("p%d holds as %d with fence %d\n", p, holder, fenceTold);
  me.phase = held;
  me.id = holder;
  me.fence = fenceTold;
  me.unanswered = false;
  told[holder] = fenceTold;
#ifdef DROP_R2_BEFORE_SEND
  me.age = 0;
#endif
  clear(me.request);
  forgetSeen(p);
  require(LostIsFinal, !(over & BIT(me.id)));
  checkExclusion(p);
  checkGuardedWrites()
}

#ifdef DROP_R5_OWN_ANSWER
/* A refusal counts as a failure, whatever the item shows. */
#define GRANTED(p) (me.applied)
#else
#define GRANTED(p) (me.answer.holder == me.request.id)
#endif

inline attemptAnswered(p) {
  if
  :: GRANTED(p) && me.age < HOLD(p) ->
    q = me.answer.fence;
    hangUp(p);
    hold(p, me.request.id, q)
  :: else ->
    if
    :: GRANTED(p) -> giveUp(p) /* the answer took the whole lease */
    :: !GRANTED(p) && me.answer.holder == me.request.id -> over = over | BIT(me.request.id)
    :: else -> refusedAttempt(p)
    fi;
    nextTurn(p)
  fi
}

/* A read. */
inline look(p) {
#ifdef DROP_R1
  if
  :: record.holder == 0 -> /* a read of a free record counts as a grant */
    q = ID(p, me.issued);
    me.issued++;
    me.age = 0;
    hold(p, q, record.fence + 1)
  :: else -> nextTurn(p)
  fi
#else
  nextTurn(p)
#endif
}

/* ---- holding: core/hold/hold.ts, core/hold/release.ts ----------------------------------------------------------- */

#ifdef DROP_R2_STICKY
#define IS_TOO_LATE(p) (me.since >= HOLD(p))
#else
#define IS_TOO_LATE(p) (me.age >= HOLD(p))
#endif
#ifdef DROP_R7_OWNER
#define IS_RENEWED(p) (me.applied)
#else
#define IS_RENEWED(p) (me.answer.holder == me.id && me.answer.fence == me.fence)
#endif

inline renewalAnswered(p) {
  if
  :: IS_TOO_LATE(p) -> /* an answer after the deadline revives nothing */
    abandon(me.id);
    finish(p)
  :: !IS_TOO_LATE(p) && IS_RENEWED(p) ->
#ifdef DROP_R2_BEFORE_SEND
    me.age = 0;
#else
    me.age = me.since;
#endif
    require(LostIsFinal, !(over & BIT(me.id)));
    checkExclusion(p)
  :: else -> /* stolen */
    abandon(me.id);
    finish(p)
  fi;
  hangUp(p);
  clear(me.request)
}

inline freeingAnswered(p) {
  if
  :: me.request.kind == release ->
    settled = settled | BIT(me.request.id);
    hangUp(p);
    finish(p)
  :: me.request.kind == handOff && me.answer.holder == me.request.id && me.age < HOLD(p) ->
    q = me.answer.fence;
    hangUp(p);
    hold(p, me.request.id, q)
  :: me.request.kind == handOff && me.answer.holder == me.request.id && me.age >= HOLD(p) ->
    abandon(me.request.id);
    q = me.answer.fence;
    hangUp(p);
    me.age = 0;
    send(p, release, 0, me.request.id, q)
  :: else -> /* a third holder: the waiter waits again */
    abandon(me.request.id);
    nextTurn(p)
  fi
}

inline arrive(p) {
  if
  :: me.phase == held -> renewalAnswered(p)
  :: me.phase == freeing -> freeingAnswered(p)
  :: else -> attemptAnswered(p)
  fi
}

/* Whether a late copy can never be applied any more: fences and versions never return. */
#if defined(DROP_R4_VERSION) || defined(DROP_R4_CONDITION) || defined(DROP_R5_ONCE) || \
  defined(DROP_R7_OWNER) || defined(DROP_R7_FENCE) || defined(DROP_R9_RELEASE) || \
  defined(DROP_R14_ANCHOR) || defined(DROP_R14_EITHER) || defined(DELETION)
#define IS_HOPELESS(m) false
#else
#define IS_HOPELESS(m) ( \
  (m.kind == claim && m.number != ANY && m.number != record.fence) || \
  (m.kind == takeOver && m.number == PAST) || \
  ((m.kind == renew || m.kind == handOff) && !AS_HELD(m)) || \
  (m.kind == release && m.id == 0 && !AS_HELD(m)))
#endif

/* An id which no request and no record names can never return: neither its memory nor its rollback is needed. */
inline tidy() {
  for (i : 0 .. LATE) {
    if
    :: late[i].kind != 0 && IS_HOPELESS(late[i]) -> clear(late[i])
    :: else
    fi
  }
  for (i : 1 .. PROCESSES * IDS) {
    isTrue = record.holder == i;
    for (q : 0 .. PROCESSES - 1) {
      isTrue = isTrue || at[q].id == i ||
        (at[q].request.kind != 0 && (at[q].request.id == i || at[q].request.holder == i)) ||
        (at[q].job.kind != 0 && (at[q].job.id == i || at[q].job.holder == i))
    }
    for (q : 0 .. LATE) {
      isTrue = isTrue || (late[q].kind != 0 && (late[q].id == i || late[q].holder == i))
    }
    if
    :: isTrue
    :: else ->
      over = over & ~BIT(i);
      memory = memory & ~BIT(i);
      forgotten = forgotten & ~BIT(i);
      settled = settled & ~BIT(i);
      told[i] = 0
    fi
  }
  for (q : 0 .. PROCESSES - 1) {
    isTrue = at[q].job.kind == 0 || NAMES(at[q].job.id) || NAMES(at[q].job.holder);
    for (i : 0 .. LATE) {
      isTrue = isTrue || (late[i].kind != 0 &&
        (late[i].id == at[q].job.id || late[i].id == at[q].job.holder))
    }
    if
    :: isTrue
    :: else -> clear(at[q].job)
    fi
  }
  i = 0; q = 0;
  isTrue = false; wasRenewed = false
}

/* ---- time ------------------------------------------------------------------------------------------------ */

#ifdef DROP_R2_BEFORE_SEND
#define COUNTS_DOWN(p) (at[p].phase == held)
#else
#define COUNTS_DOWN(p) (at[p].phase == held || at[p].phase == trying || \
  (at[p].phase == freeing && at[p].request.kind == handOff))
#endif
#define IS_AGEING(p) (COUNTS_DOWN(p) && at[p].age < HOLD(p))
#ifdef DROP_R3_AFTER_ANSWER
#define IS_TIMED(p) (at[p].wire != quiet && at[p].since < 4)
#else
#define IS_TIMED(p) (at[p].wire != quiet && at[p].request.kind == renew && at[p].since < HOLD(p))
#endif
#define IS_WATCHING(p) (SEES_HOLDER(p) && !REMEMBERS(p, record.holder) && !TAKEABLE(p))

/* A clock matters only while something is counted on it; otherwise ticks would only repeat states. */
#define IS_COUNTING(p) (IS_AGEING(p) || IS_TIMED(p) || IS_WATCHING(p))
#if defined(DELETION)
#define TIME_MATTERS (wall < HORIZON)
#elif PROCESSES == 2
#define TIME_MATTERS (IS_COUNTING(0) || IS_COUNTING(1))
#else
#define TIME_MATTERS (IS_COUNTING(0) || IS_COUNTING(1) || IS_COUNTING(2))
#endif

inline levelClocks() {
  isTrue = true;
  for (q : 0 .. PROCESSES - 1) { isTrue = isTrue && at[q].ahead > 0 }
  if
  :: isTrue -> for (q : 0 .. PROCESSES - 1) { at[q].ahead-- }
  :: else
  fi;
  q = 0
}

/* The holder counts on the clock which shows the longest time (R2), the watcher only on the monotonic clock (R3). */
#ifdef DROP_R2_EVERY_CLOCK
#define COUNTS_FOR_HOLDER(isSuspended) (!isSuspended)
#else
#define COUNTS_FOR_HOLDER(isSuspended) true
#endif

/* The deadline has passed. When the process learns this makes no difference: from here on it only ends the
   remains. */
inline isTooLate(p) {
  if
  :: me.phase == held && me.wire == quiet -> abandon(me.id); finish(p)
  :: me.phase == held && me.wire != quiet -> over = over | BIT(me.id)
  :: me.phase == trying && me.wire == quiet -> giveUp(p); nextTurn(p)
  :: me.phase != held && me.wire == answered -> arrive(p)
  :: else
  fi
}

inline tick(p, isSuspended) {
  isWatching = IS_WATCHING(p) && !isSuspended;
  me.ahead++;
  printf("p%d counts a tick (suspended: %d)\n", p, isSuspended);
  if
  :: IS_TIMED(p) && COUNTS_FOR_HOLDER(isSuspended) -> me.since++
  :: else
  fi;
  if
  :: IS_AGEING(p) && COUNTS_FOR_HOLDER(isSuspended) ->
    me.age++;
    if
    :: me.age == HOLD(p) -> isTooLate(p)
    :: else
    fi
  :: else
  fi;
  if
  :: isWatching -> me.watched++
  :: else
  fi;
  levelClocks();
#ifdef DELETION
  if
  :: p == 0 -> wall++; granted = false
  :: else
  fi;
#endif
  isWatching = false
}

#ifdef DELETION
#define MAY_WRITE !granted
#else
#define MAY_WRITE true
#endif

/* ---- crash ------------------------------------------------------------------------------------------------ */

inline crash(p) {
  printf("p%d crashes\n", p);
  crashesUsed++;
  for (i : 0 .. IDS - 1) {
    if
    :: i < me.issued ->
      over = over | BIT(ID(p, i));
      forgotten = forgotten | BIT(ID(p, i));
      memory = memory & ~BIT(ID(p, i))
    :: else
    fi
  }
  i = 0;
  hangUp(p);
  finish(p);
  clear(me.job)
}

/* ---- the processes, and the network between them and the table --------------------------------------------- */



/* An answer which neither ends nor begins a belief may arrive at once: its content would only grow older, and the
   process can take its next step later. */
#define IS_ANSWERED_AT_ONCE(p) (me.phase == held -> me.age >= HOLD(p) : \
  (me.request.kind == release || me.answer.holder != me.request.id || me.age >= HOLD(p)))

inline goUnanswered(p) {
  printf("p%d gets no answer\n", p);
  lostUsed++;
  hangUp(p);
  me.unanswered = (me.phase == trying);
  if
  :: me.phase == held && BELIEVES(p) -> clear(me.request)
  :: me.phase == held && !BELIEVES(p) -> abandon(me.id); finish(p)
  :: me.phase == trying && me.age >= HOLD(p) -> giveUp(p); nextTurn(p)
  :: else
  fi
}

proctype Process(byte p) {
end:
  do
  /* An acquisition begins with its only blind claim (R14). */
  :: d_step { me.phase == idle && CAN_TRY(p) -> attempt(p, claim, CLAIM_SEED, ANY) }

  /* A read, answered at once: an answer in flight would only grow older, and the watch begin later. Reads which
     could show nothing new are omitted. */
  :: d_step { me.phase == waiting && CAN_TRY(p) && !me.hasSeen -> look(p); tidy() }
  :: d_step { me.phase == waiting && CAN_TRY(p) && me.hasSeen &&
      (record.holder == 0 || REMEMBERS(p, record.holder) || TAKEABLE(p)) -> decide(p) }
  /* The wait ends: during the watch of a rival, or for lack of further ids. */
  :: d_step { me.phase == waiting && (IS_WATCHING(p) || !CAN_TRY(p)) -> finish(p); tidy() }

  /* An unanswered attempt is resent, or abandoned: to read, or at the end of the wait. */
  :: d_step { me.phase == trying && me.wire == quiet && me.age < HOLD(p) ->
#ifdef DROP_R2_FIRST_SEND
      me.age = 0;
#endif
      me.wire = sent }
  :: d_step { me.phase == trying && me.wire == quiet -> giveUp(p); nextTurn(p); tidy() }
  :: d_step { me.phase == trying && me.wire == quiet -> giveUp(p); finish(p); tidy() }

  /* Holding. */
  :: d_step { BELIEVES(p) && me.wire == quiet && me.renewals < RENEWALS ->
      me.renewals++; send(p, renew, me.id, me.id, me.fence) }
  :: d_step { BELIEVES(p) && me.wire == quiet ->
      abandon(me.id);
      me.phase = freeing; me.age = 0;
      send(p, release, 0, me.id, me.fence);
      me.id = 0; me.fence = 0 }
  :: d_step { BELIEVES(p) && me.wire == quiet && CAN_TRY(p) ->
      abandon(me.id);
      me.phase = freeing; me.age = 0;
      send(p, handOff, ID(p, me.issued), me.id, me.fence);
      me.issued++;
      me.id = 0; me.fence = 0 }

  /* An unanswered release or hand-off. */
  :: d_step { me.phase == freeing && me.wire == quiet &&
      (me.request.kind == release || me.age < HOLD(p)) -> me.wire = sent }
  :: d_step { me.phase == freeing && me.wire == quiet && me.request.kind == handOff ->
      /* the waiter has gone: free the record, whichever of the two holders it names */
      abandon(me.request.id); me.request.kind = release; me.age = 0; me.wire = sent;
#ifdef DROP_R14_EITHER
      me.request.holder = 0; me.request.number = 0;
#endif
      printf("p%d withdraws the hand-over to %d\n", p, me.request.id) }
  :: d_step { me.phase == freeing && me.wire == quiet && me.request.kind == release -> finish(p); tidy() }

  /* An answer. */
  :: d_step { me.wire == answered -> arrive(p); tidy() }

  /* The background: one request makes an abandoned grant fail forever, or undoes it. A claim cannot be made to
     fail; its process keeps reading for as long as it likes. */
  :: d_step { me.job.kind != 0 && (me.job.holder != 0 || NAMES(me.job.id)) && MAY_WRITE ->
      apply(me.job);
      if
      :: me.job.holder != 0 -> settled = settled | BIT(me.job.id)
      :: else
      fi;
      clear(me.job);
      if
      :: me.phase == waiting -> see(p)
      :: else
      fi;
      tidy() }
  :: d_step { me.job.kind != 0 && NEUTRALISES(me.job) && lostUsed < LOST && MAY_WRITE ->
      lostUsed++; apply(me.job); tidy() }
  :: d_step { me.job.kind != 0 && lateUsed < LATE ->
      late[lateUsed].kind = me.job.kind; late[lateUsed].id = me.job.id;
      late[lateUsed].holder = me.job.holder; late[lateUsed].number = me.job.number;
      printf("a copy of %e %d stays behind\n", late[lateUsed].kind, late[lateUsed].id);
      lateUsed++ }
  :: d_step { me.job.kind != 0 && me.job.holder == 0 -> clear(me.job); tidy() }

  /* Its machine. */
  :: d_step { me.ahead < DRIFT && TIME_MATTERS -> tick(p, false); tidy() }
  :: d_step { me.ahead < DRIFT && IS_COUNTING(p) && suspendedUsed < SUSPENDED ->
      suspendedUsed++; tick(p, true); tidy() }
  :: d_step { crashesUsed < CRASHES && me.phase != idle -> crash(p); tidy() }

  /* The network and the table. */
  :: d_step { me.wire == sent && MAY_WRITE ->
      apply(me.request);
      me.applied = isTrue;
      me.answer.holder = record.holder;
      me.answer.fence = record.fence;
      if
      :: IS_ANSWERED_AT_ONCE(p) -> arrive(p)
      :: else -> me.wire = answered
      fi;
      tidy() }
  :: d_step { me.wire == sent && lateUsed < LATE ->
      late[lateUsed].kind = me.request.kind; late[lateUsed].id = me.request.id;
      late[lateUsed].holder = me.request.holder; late[lateUsed].number = me.request.number;
      printf("a copy of %e %d stays behind\n", late[lateUsed].kind, late[lateUsed].id);
      lateUsed++ }
  :: d_step { me.wire != quiet && lostUsed < LOST -> goUnanswered(p); tidy() }
  :: d_step { me.wire == sent && lostUsed < LOST && MAY_WRITE -> apply(me.request); goUnanswered(p); tidy() }
  od
}

/* A copy in the network takes effect; no process waits for its answer. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].kind != 0 && MAY_WRITE -> apply(late[copy]); clear(late[copy]); tidy() }
  od
}

#ifdef DELETION
#ifdef DROP_R10
#define IS_EXPIRED true
#else
#define IS_EXPIRED (wall >= expiresAt)
#endif

/* Deletes the record by its TTL attribute, at any time afterwards (R10). No message of a grant is as late as the
   retention. */
proctype TimeToLive() {
end:
  do
  :: d_step { record.fence != 0 && late[0].kind == 0 && late[LATE].kind == 0 &&
      at[0].wire != sent && at[1].wire != sent && IS_EXPIRED ->
      printf("the record is deleted\n"); record.holder = 0; record.fence = 0; expiresAt = 0 }
  od
}
#else
/* When no process can make a step any more, every process must have ended. */
proctype End() {
end:
  timeout ->
  for (q : 0 .. PROCESSES - 1) { require(NoOrphan, at[q].phase == idle && !CAN_TRY(q)) }
}
#endif

init {
  atomic {
    for (q : 0 .. PROCESSES - 1) { at[q].phase = idle; at[q].wire = quiet; run Process(q) }
    for (q : 0 .. LATE) { run Network(q) }
    q = 0;
#ifdef DELETION
    run TimeToLive()
#else
    run End()
#endif
  }
}

/*
 * The permits of one record, for Spin: `node scripts/model.mjs`. A semaphore; a read-write lock is a semaphore whose writer takes
 * the whole limit. The queue before the record is in queue.pml, and the life of a session in session.pml: here a session
 * is alive or its process has stopped, and only the session of a stopped process is ended.
 *
 * Omitted: the queue, the session's own requests, downgrades, copies that nothing tells of, the end of marks.
 *
 * Three clients have one session and one attempt each, with an id of its own. A request to grant may be sent
 * twice; each copy takes effect at any later time or never, and its answer may be lost. A client that gives up an attempt
 * withdraws it. A process may stop for ever at any time. Two rivals remove permits of ended sessions: each reads the
 * record, and writes at any later time. The record has no limit at first, and the clients come with different numbers: each
 * attempt goes by its client's own number, or by the limit that it saw in the record. An operator lowers the limit once.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion   the permits that live processes believe to hold weigh at most the ruling limit when each was granted: the
 *               number of the record's first grant, until an operator changes it
 *   Counted     `used` is the weight of the permits in the record
 *   NoLeak      the record has no permit of a live session which no part of its process uses
 *   Guarded     no write of a former holder takes effect after its permit was removed
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

#ifndef COPIES
#define COPIES 2 /* how often a request to grant is sent */
#endif
#ifndef LIMITS
#define LIMITS 1 /* changes of the limit */
#endif
#ifndef GUARDS
#define GUARDS 1 /* writes on condition of a permit */
#endif

#define CLIENTS 3
#define FULL 2
#define NEW 0
#define ASKED 1
#define HELD 2
#define RELEASED 3
#define GIVEN_UP 4
#define DONE 5

#define WEIGHT(c) (c == 2 -> FULL : 1)
#define OWN(c) (c == 0 -> FULL - 1 : FULL) /* the number of its deployment */

typedef Attempt {
  byte phase;
  byte limit;   /* that its request requires */
  byte sent;    /* copies sent */
  byte flying;  /* copies which may still take effect */
  bit inRecord; /* the permit */
  bit isMarked; /* the record says that the attempt was withdrawn */
  byte fence;   /* in the record */
  byte granted; /* the fence that the process knows */
  byte guard    /* the fence of a write under way, on condition of the permit; 0 for none */
}
Attempt at[CLIENTS];

byte used, limit, fence, limits, guards; /* limit 0: none */
byte ruling; /* the limit that should count */
bit stopped[CLIENTS], ended[CLIENTS];
byte sees[2]; /* the client whose permit a rival is about to remove, + 1 */

bool Exclusion = true, Counted = true, NoLeak = true, Guarded = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define BELIEVES(id) (at[id].phase == HELD && !stopped[id])

#define BELIEVED(id) (BELIEVES(id) -> WEIGHT(id) : 0)
#define IN_RECORD(id) (at[id].inRecord -> WEIGHT(id) : 0)
#define IS_USED(id) (!at[id].inRecord || stopped[id] || (at[id].phase != NEW && at[id].phase != DONE))

inline check() {
  require(NoLeak, IS_USED(0) && IS_USED(1) && IS_USED(2));
  require(Counted, used == IN_RECORD(0) + IN_RECORD(1) + IN_RECORD(2))
}

#ifdef DROP_LIMIT
#define IS_LIMIT(id) true /* by the limit that the caller knows */
#else
#define IS_LIMIT(id) ((limit == 0 && at[id].limit == OWN(id)) || limit == at[id].limit)
#endif
#ifdef DROP_USED
#define FITS(id) IS_LIMIT(id)
#else
#define FITS(id) (IS_LIMIT(id) && used + WEIGHT(id) <= at[id].limit)
#endif
#ifdef DROP_ABSENT
#define IS_NEW(id) !at[id].isMarked
#else
#ifdef DROP_MARK
#define IS_NEW(id) !at[id].inRecord
#else
#define IS_NEW(id) (!at[id].inRecord && !at[id].isMarked)
#endif
#endif

/* A copy of a request to grant takes effect, or is refused. Its answer arrives or is lost. */
inline deliver(id) {
  at[id].flying--;
  if
  :: IS_NEW(id) && FITS(id) ->
    if
    :: ruling == 0 -> ruling = at[id].limit
    :: else
    fi;
    limit = at[id].limit;
    require(Exclusion, BELIEVED(0) + BELIEVED(1) + BELIEVED(2) + WEIGHT(id) <= ruling);
    fence++;
    at[id].inRecord = 1; at[id].fence = fence;
    used = used + WEIGHT(id)
  :: else
  fi;
  if
  :: at[id].inRecord && at[id].phase == ASKED && !stopped[id] -> at[id].phase = HELD; at[id].granted = at[id].fence
  :: true /* the answer is lost */
  fi;
  check()
}

inline mark(id) {
#ifndef DROP_MARK
  at[id].isMarked = 1
#else
  skip
#endif
}

inline remove(id) {
  at[id].inRecord = 0; at[id].fence = 0;
  used = used - WEIGHT(id)
}

/* The client's own removal. It leaves a mark if a copy of the request may still take effect. */
inline giveBack(id) {
  if
  :: at[id].inRecord -> remove(id)
  :: else
  fi;
#ifdef DROP_MARK_AFTER_RELEASE
  if
  :: at[id].phase == GIVEN_UP -> mark(id)
  :: else
  fi;
#else
  if
  :: at[id].flying > 0 -> mark(id)
  :: else
  fi;
#endif
  at[id].phase = DONE; at[id].granted = 0;
  check()
}

inline step(id) {
  if
  :: at[id].phase <= ASKED && at[id].sent < COPIES && !stopped[id] ->
    if
    :: at[id].sent == 0 -> at[id].limit = OWN(id)
    :: at[id].sent == 0 && limit > 0 && limit != OWN(id) -> at[id].limit = limit
    :: at[id].sent > 0
    fi;
    at[id].phase = ASKED; at[id].sent++; at[id].flying++
  :: at[id].flying > 0 -> deliver(id)
  :: at[id].phase == ASKED && !stopped[id] ->
#ifdef DROP_WITHDRAWAL
    at[id].phase = DONE
#else
    at[id].phase = GIVEN_UP
#endif
  :: BELIEVES(id) && guards < GUARDS && at[id].guard == 0 -> guards++; at[id].guard = at[id].granted
  :: at[id].guard > 0 ->
#ifndef DROP_CONDITION
    if
    :: at[id].inRecord && at[id].fence == at[id].guard ->
#endif
      require(Guarded, at[id].inRecord && at[id].fence == at[id].guard);
#ifndef DROP_CONDITION
    :: else
    fi;
#endif
    at[id].guard = 0
#ifdef DROP_ORDER
  /* It gives the permit back before it stops acting. */
  :: BELIEVES(id) && at[id].inRecord -> remove(id); check()
#endif
  :: BELIEVES(id) -> at[id].phase = RELEASED
  :: (at[id].phase == RELEASED || at[id].phase == GIVEN_UP) && !stopped[id] -> giveBack(id)
  fi
}

#ifdef DROP_ENDING
#define MAY_REMOVE(id) true
#else
#define MAY_REMOVE(id) ended[id]
#endif
#ifdef DROP_EXACT
#define IS_SEEN(id) (used >= WEIGHT(id))
#else
#define IS_SEEN(id) at[id].inRecord
#endif
#ifdef DROP_WEIGHT
#define SEEN_WEIGHT(id) 1 /* the rival subtracts its own weight */
#else
#define SEEN_WEIGHT(id) WEIGHT(id)
#endif

inline rival(r) {
  if
  :: sees[r] == 0 && at[0].inRecord && MAY_REMOVE(0) -> sees[r] = 1
  :: sees[r] == 0 && at[1].inRecord && MAY_REMOVE(1) -> sees[r] = 2
  :: sees[r] == 0 && at[2].inRecord && MAY_REMOVE(2) -> sees[r] = 3
  :: sees[r] > 0 ->
    if
    :: IS_SEEN(sees[r] - 1) ->
      at[sees[r] - 1].inRecord = 0; at[sees[r] - 1].fence = 0;
      used = used - SEEN_WEIGHT(sees[r] - 1)
    :: else
    fi;
    sees[r] = 0;
    check()
  fi
}

/* The process of a client stops: killed, or past the deadline of its session. */
inline stop(c) {
  stopped[c] = 1;
  at[c].phase = DONE; at[c].granted = 0
}

#ifdef DROP_STOPPED
#define MAY_END(c) true
#else
#define MAY_END(c) stopped[c]
#endif

init {
  do
  :: atomic { step(0) }
  :: atomic { step(1) }
  :: atomic { step(2) }
  :: atomic { rival(0) }
  :: atomic { rival(1) }
  :: atomic { !stopped[0] -> stop(0) }
  :: atomic { !stopped[1] -> stop(1) }
  :: atomic { !stopped[2] -> stop(2) }
  :: atomic { !ended[0] && MAY_END(0) -> ended[0] = 1 }
  :: atomic { !ended[1] && MAY_END(1) -> ended[1] = 1 }
  :: atomic { !ended[2] && MAY_END(2) -> ended[2] = 1 }
  :: atomic { limits < LIMITS -> limits++; limit = FULL - 1; ruling = limit }
  :: atomic { true -> break }
  od
}

/*
 * The protocol of sessions, for Spin: `node scripts/model.mjs`. The lease protocol is in lease.pml, and is assumed to be correct
 * here.
 *
 * Omitted: fences, most eventually consistent reads, a rival's late answers, two deletions, two entries, a sweep giving
 * up, suspensions.
 *
 * PROCESSES processes contend for RECORDS records. The first SESSIONS processes have a session, which exists from
 * the start at its first version, and to which they move their holds. The rest are rivals; if all have sessions,
 * all are rivals of each other. A paused process makes no step while its clock continues. Send, effect and answer
 * of three kinds of request are separate steps: the session's renewal, the move, and the record's own renewal. A
 * copy of these, and of the session's creation, a claim, a takeover and a rival's end of a session, may stay in
 * the network and take effect at any later time; requests and answers are lost; a process crashes; the session's
 * row is deleted by hand. Bounds limit how often.
 *
 * The clocks are the clocks of lease.pml: ticks, none ever more than DRIFT ahead of another.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion      no two processes believe at once that they hold a record
 *   EndedForGood   an ended session's row becomes alive again only after a deletion of the ended row by hand, and
 *                  even then no renewal of it counts
 *   Ownership      a held record is taken over only in its observed state, after its lease or session was watched
 *                  dead, and the session ended; or by the process which abandoned the grant
 *   LostIsFinal    no process believes again in a lost session or lease
 *   NoOrphan       no record names a live session with a holder in which no process believes and which no process
 *                  keeps freeing; and no process waits when all other steps have ended
 *   EntryKept      a rival removes a queue entry on a session only after the session has ended and the entry's
 *                  owner no longer believes in its place
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef SESSIONS
#define SESSIONS 1
#endif
#ifndef RECORDS
#define RECORDS 1
#endif
#ifndef IDS
#define IDS 1 /* grants of each process with a session, of each record, with abandoned grants */
#endif
#ifndef RIVAL_IDS
#define RIVAL_IDS 1
#endif
#define MOST_IDS 2
#ifndef RENEWALS
#define RENEWALS 0 /* of a record on its own lease, by each process */
#endif
#ifndef SESSION_RENEWALS
#define SESSION_RENEWALS 2
#endif
#ifndef LOST
#define LOST 1 /* requests or answers which never arrive */
#endif
#ifndef LATE
#define LATE 1 /* copies of requests which take effect at any later time */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef DELETED
#define DELETED 0 /* rows of sessions deleted by hand */
#endif
#ifndef ENTRIES
#define ENTRIES 0 /* of each session */
#endif
#ifndef DRIFT
#define DRIFT 1
#endif

/* In ticks. */
#ifndef LEASE
#define LEASE 2
#endif
#ifndef SESSION_LEASE
#define SESSION_LEASE 3
#endif

#define HOLD (LEASE - DRIFT)
#define WATCH (LEASE + DRIFT)
#define SESSION_HOLD (SESSION_LEASE - DRIFT)
#define SESSION_WATCH (SESSION_LEASE + DRIFT)
#ifdef DROP_MOVE_LENGTH
#define RECORD_WATCH WATCH
#else
#define RECORD_WATCH SESSION_WATCH /* of a record on a session: the move writes the session's length */
#endif

/* Ids of holders: 0 is no holder; each other id belongs to one attempt of one process for a record. */
#define ID(p, k) (1 + (p) + PROCESSES * (k))
#define OWNER(id) (((id) - 1) % PROCESSES)
#define BIT(id) (1 << (id))
#define HAS_SESSION(p) ((p) < SESSIONS)
#define WATCHES(p) (SESSIONS == PROCESSES || !HAS_SESSION(p))
#ifdef APART
#define WANTS(p, r) (HAS_SESSION(p) || (p) == (r) + SESSIONS) /* each rival one record */
#else
#define WANTS(p, r) true
#endif
#define MAY_TRY(p, r) (!at[p].crashed && WANTS(p, r) && at[p].on[r].phase == idle && \
  at[p].on[r].issued < (HAS_SESSION(p) -> IDS : RIVAL_IDS))

/* A record's version only grows, so of an observed version only its equality with the current version matters. A
   session's version can return after a deletion of the row: these are numbers. */
#define CURRENT 1
#define PAST 0

/* ---- state ---------------------------------------------------------------------------------------- */

mtype = { absent, alive, ended };
mtype = { usable, over };
mtype = { idle, held };
mtype = { own, moving, moved };
mtype = { quiet, sent, answered };
mtype = { claim, takeOver, renew, move, create, renewSession, endSession };

typedef Record {
  byte holder;  /* 0 while the record is free */
  byte session  /* 0, or 1 more than the process of the named session */
}

typedef Row {
  mtype state;
  byte version;
  bool hasEnded /* at any time: for the invariants alone */
}

typedef Request {
  mtype kind;
  byte where;   /* the record or the session */
  byte id;      /* the holder which the request sets, or for which it writes */
  byte holder;  /* the holder in its condition */
  byte number   /* the version in its condition; in an end of a session, 0 is absence */
}

/* A process and a record. */
typedef Lease {
  mtype phase;
  mtype by;       /* what keeps it alive */
  byte id;
  byte age;       /* ticks since the start of its own deadline */
  byte issued;
  byte renewals;
  mtype wire;     /* the state of the one request about it */
  mtype kind;
  byte number;
  byte since;     /* ticks since the send of a renewal */
  byte verdict;   /* the content of the answer */
  bool hasSeen;   /* it watches the holder's own lease, in its current state ... */
  byte watched    /* ... for this many ticks */
}

/* A process and the session of a different process. */
typedef Observation {
  byte saw;       /* 0, or 1 more than the version; 1 is absence */
  byte watched;
  bool knowsEnded
}

/* A process, and its own session. */
typedef Local {
  mtype session;
  byte known;     /* the last known version */
  byte age;       /* ticks since the start of the session's deadline */
  byte renewals;
  mtype wire;
  byte number;
  byte since;
  byte verdict;   /* 0, or the version in the answer */
  mtype entry;
  bool crashed;
  byte ahead;     /* ticks by which this clock leads the slowest clock */
  Lease on[RECORDS];
  Observation sees[SESSIONS]
}

Record record[RECORDS];
Row row[SESSIONS];
Local at[PROCESSES];
Request late[LATE + 1];
byte lateUsed, lostUsed, crashesUsed, deletedUsed;

/* Sets of ids, of each record. */
short given[RECORDS];  /* ended leases, and abandoned attempts: their processes remember them */
short sweeps[RECORDS]; /* of these, the ids which their processes keep freeing until acknowledged */

bool Exclusion = true, EndedForGood = true, Ownership = true;
bool LostIsFinal = true, NoOrphan = true, EntryKept = true;

/* For use within one step; 0 between two steps. */
byte i, j, q;
bool isTrue;

#define me at[p]
#define my at[p].on[r]
#define SESSION_HELD(p) (HAS_SESSION(p) && at[p].session == usable && at[p].age < SESSION_HOLD)
#ifdef DROP_MOVE_DEADLINE
#define WHILE_MOVING(p) true
#else
#define WHILE_MOVING(p) SESSION_HELD(p)
#endif
#define BELIEVES(p, r) (at[p].on[r].phase == held && ( \
  (at[p].on[r].by == own && at[p].on[r].age < HOLD) || \
  (at[p].on[r].by == moving && at[p].on[r].age < HOLD && WHILE_MOVING(p)) || \
  (at[p].on[r].by == moved && SESSION_HELD(p))))
#define MAY_BE_DELETED (deletedUsed < DELETED)
#ifdef DROP_FIRST_RENEWAL
#define MAY_BE_NAMED(p) SESSION_HELD(p)
#else
#define MAY_BE_NAMED(p) (SESSION_HELD(p) && at[p].known > 1)
#endif

/* ---- invariants ------------------------------------------------------------------------------------ */

#define requireAlways(invariant, condition) \
  if \
  :: (condition) \
  :: else -> invariant = false; assert(invariant) \
  fi
#ifdef EXCLUSION_ALONE
#define require(invariant, condition) skip
#else
#define require(invariant, condition) requireAlways(invariant, condition)
#endif

inline checkExclusion(p, r) {
  for (q : 0 .. PROCESSES - 1) {
    requireAlways(Exclusion, q == p || !(BELIEVES(p, r) && BELIEVES(q, r)))
  }
  q = 0
}

#define IS_SWEPT(r) (sweeps[r] & BIT(record[r].holder))
#define IS_BELIEVED(r) (BELIEVES(OWNER(record[r].holder), r) && \
  at[OWNER(record[r].holder)].on[r].id == record[r].holder)

inline checkNoOrphan() {
  for (i : 0 .. RECORDS - 1) {
    require(NoOrphan, record[i].holder == 0 || record[i].session == 0 ||
      !SESSION_HELD(record[i].session - 1) || IS_SWEPT(i) || IS_BELIEVED(i))
  }
  i = 0
}

/* ---- the table -------------------------------------------------------------------------------------- */

/* The record's version has changed. The observation is dropped here, not at the next read: it could only lead to a
   refusal. */
inline moveOn(r, isOther) {
  for (q : 0 .. PROCESSES - 1) {
#ifdef DROP_TAKEOVER_VERSION
    if
    :: isOther -> at[q].on[r].hasSeen = false; at[q].on[r].watched = 0
    :: else
    fi;
#else
    at[q].on[r].hasSeen = false;
    at[q].on[r].watched = 0;
#endif
    if
    :: at[q].on[r].wire != quiet && at[q].on[r].kind == move -> at[q].on[r].number = PAST
    :: at[q].on[r].wire == quiet && at[q].on[r].by == moving -> at[q].on[r].number = PAST
    :: else
    fi
  }
  for (q : 0 .. LATE) {
    if
    :: late[q].where == r && (late[q].kind == move || late[q].kind == takeOver ||
        (late[q].kind == claim && isOther && record[r].holder != 0)) -> late[q].number = PAST
    :: else
    fi
  }
  q = 0
}

inline write(r, newHolder, newSession) {
  isTrue = record[r].holder != newHolder;
  record[r].holder = newHolder;
  record[r].session = newSession;
  moveOn(r, isTrue);
  isTrue = false
}

#ifdef DROP_MOVE_VERSION
#define IS_MOVABLE(r, asId, n) (record[r].holder == asId && record[r].session == 0)
#else
#define IS_MOVABLE(r, asId, n) (record[r].holder == asId && record[r].session == 0 && n == CURRENT)
#endif
#ifdef DROP_RENEW_MOVING
#define IS_RENEWABLE(r, asId) (record[r].holder == asId)
#else
#define IS_RENEWABLE(r, asId) (record[r].holder == asId && record[r].session == 0)
#endif

#if defined(DROP_SESSION_EXISTS)
#define IS_SESSION_RENEWABLE(s, n) (row[s].state != ended)
#elif defined(DROP_SESSION_ENDED)
#define IS_SESSION_RENEWABLE(s, n) (row[s].state != absent && row[s].version >= n)
#elif defined(DROP_SESSION_VERSION)
#define IS_SESSION_RENEWABLE(s, n) (row[s].state == alive)
#else
#define IS_SESSION_RENEWABLE(s, n) (row[s].state == alive && row[s].version >= n)
#endif

inline renewRow(s, atLeast) {
  isTrue = IS_SESSION_RENEWABLE(s, atLeast);
  if
  :: isTrue ->
    printf("session %d is renewed to version %d\n", s, row[s].version + 1);
    require(EndedForGood, row[s].state != ended);
    row[s].state = alive;
    row[s].version++
  :: else -> printf("session %d is not renewed\n", s)
  fi
}

inline endRow(s) {
  printf("session %d is ended at version %d\n", s, row[s].version);
  row[s].state = ended;
#ifndef DROP_SESSION_ENDED
  row[s].version = 0; /* no process reads it any more */
#endif
  row[s].hasEnded = true
}

#ifdef DROP_END_VERSION
#define IS_AS_SEEN(s, n) ((n == 0 && row[s].state == absent) || (n != 0 && row[s].state == alive))
#else
#define IS_AS_SEEN(s, n) ((n == 0 && row[s].state == absent) || \
  (n != 0 && row[s].state == alive && row[s].version == n))
#endif

/* ---- leases ------------------------------------------------------------------------------------------ */

inline hangUp(p, r) {
  my.wire = quiet;
  my.kind = 0;
  my.number = 0;
  my.since = 0;
  my.verdict = 0
}

/* A lease ends. Its requests in flight are lost, or stayed in the network before. */
inline endLease(p, r) {
  printf("p%d's lease %d on record %d ends\n", p, my.id, r);
  given[r] = given[r] | BIT(my.id);
  my.phase = idle;
  my.by = own;
  my.id = 0;
  my.age = 0;
  hangUp(p, r)
}

inline endAndSweep(p, r) {
  sweeps[r] = sweeps[r] | BIT(my.id);
  endLease(p, r)
}

/* The session is lost, or closed: every lease which is, or may be, on the session ends. */
inline loseSession(p) {
  printf("p%d has no session any more\n", p);
  me.session = over;
  me.known = 0;
  me.age = 0;
  me.wire = quiet;
  me.number = 0;
  me.since = 0;
  me.verdict = 0;
  for (j : 0 .. RECORDS - 1) {
    if
    :: me.on[j].phase == held && me.on[j].by == moved -> endLease(p, j)
    :: me.on[j].phase == held && me.on[j].by == moving ->
#ifdef DROP_MOVE_DEADLINE
      skip
#else
      endLease(p, j)
#endif
    :: else
    fi
  }
  j = 0
}

/* A grant with an immediate answer: with a later answer its holder would only believe for a shorter time. */
inline grant(p, r, newSession) {
  write(r, ID(p, my.issued), newSession);
  my.phase = held;
  my.by = own;
  my.id = record[r].holder;
  my.age = 0;
  my.issued++;
  printf("p%d holds record %d as %d\n", p, r, my.id);
  require(LostIsFinal, !(given[r] & BIT(my.id)));
  checkExclusion(p, r)
}

#ifdef DROP_TAKEOVER_SESSION
#define AFTER_TAKEOVER(r) record[r].session
#else
#define AFTER_TAKEOVER(r) 0
#endif

inline take(p, r) {
  isTrue = (record[r].session == 0 || row[record[r].session - 1].hasEnded ||
    (given[r] & BIT(record[r].holder) && OWNER(record[r].holder) == p));
  i = isTrue;
  grant(p, r, AFTER_TAKEOVER(r));
  require(Ownership, i);
  i = 0
}

#define REMEMBERS(p, r) (record[r].holder != 0 && OWNER(record[r].holder) == p && \
  (given[r] & BIT(record[r].holder)))
#ifdef DROP_SESSION_WATCH
#define IS_WATCHABLE(r) (record[r].holder != 0)
#define LENGTH(r) (record[r].session == 0 -> WATCH : RECORD_WATCH)
#else
#define IS_WATCHABLE(r) (record[r].holder != 0 && record[r].session == 0)
#define LENGTH(r) WATCH
#endif
#define IS_WATCHED_DEAD(p, r) (my.hasSeen && my.watched >= LENGTH(r))
#define NAMES_ENDED(p, r) (record[r].holder != 0 && record[r].session != 0 && \
  me.sees[record[r].session - 1].knowsEnded)
#define IS_TAKEABLE(p, r) (REMEMBERS(p, r) || \
  (WATCHES(p) && (IS_WATCHED_DEAD(p, r) || NAMES_ENDED(p, r))))

#ifdef DROP_GRANT
#define AFTER_CLAIM(p) ((1 + (p)) * (MAY_BE_NAMED(p)))
#else
#define AFTER_CLAIM(p) 0
#endif

inline sendAbout(p, r, k) {
  my.wire = sent;
  my.kind = k;
  my.number = CURRENT;
  my.since = 0;
  printf("p%d sends %e of record %d\n", p, k, r)
}

inline leave(what, place, asId, named, numbered) {
  late[lateUsed].kind = what;
  late[lateUsed].where = place;
  late[lateUsed].id = asId;
  late[lateUsed].holder = named;
  late[lateUsed].number = numbered;
  lateUsed++;
  printf("a copy of %e (%d, %d, names %d, %d) stays behind\n", what, place, asId, named, numbered)
}

#define STOLEN 0
#define DONE 1
#define AGAIN 2

/* The answer is the item's state at that time. */
inline applyAbout(p, r) {
  if
  :: my.kind == move && IS_MOVABLE(r, my.id, my.number) ->
    printf("record %d is moved\n", r);
    write(r, my.id, p + 1);
    my.verdict = DONE
  :: my.kind == renew && IS_RENEWABLE(r, my.id) ->
    printf("record %d is renewed\n", r);
    write(r, my.id, record[r].session);
    my.verdict = DONE
  :: else ->
    printf("%e of record %d is refused\n", my.kind, r);
    if
    :: record[r].holder != my.id -> my.verdict = STOLEN
    :: record[r].holder == my.id && record[r].session != 0 -> my.verdict = DONE
    :: else -> my.verdict = AGAIN
    fi
  fi;
  my.wire = answered
}

inline answerAbout(p, r) {
  if
  :: my.verdict == STOLEN -> endLease(p, r)
  :: my.verdict == AGAIN -> hangUp(p, r); sendAbout(p, r, move)
  :: my.verdict == DONE && my.kind == renew ->
    my.by = own;
    my.age = my.since;
    hangUp(p, r);
    checkExclusion(p, r)
  :: my.verdict == DONE && my.kind == move ->
    my.by = moved;
    my.age = 0;
    hangUp(p, r);
    require(LostIsFinal, !(given[r] & BIT(my.id)));
    checkExclusion(p, r)
  fi
}

/* An unanswered move is resent as the same write. */
inline goUnanswered(p, r) {
  printf("p%d gets no answer about record %d\n", p, r);
  lostUsed++;
  my.wire = quiet;
  my.since = 0;
  my.verdict = 0;
  if
  :: my.by == moving
  :: else -> my.number = 0; my.kind = 0
  fi
}

/* ---- resets state which can have no effect any more ------------------------------------------------------- */

#ifdef DROP_SESSION_ENDED
#define NEVER_LIVES(s) false
#else
#define NEVER_LIVES(s) (row[s].state == ended && !MAY_BE_DELETED)
#endif
#if defined(DROP_MOVE_VERSION) || defined(DROP_TAKEOVER_VERSION)
#define IS_PAST(m) false
#else
#define IS_PAST(m) (m.number == PAST)
#endif
#ifdef DROP_END_VERSION
#define IS_OUTDATED(s, n) false
#else
#define IS_OUTDATED(s, n) (row[s].state != absent && !MAY_BE_DELETED && n < row[s].version)
#endif

#define IS_HOPELESS(m) ( \
  (m.kind == claim && m.number == PAST) || \
  (m.kind == takeOver && (IS_PAST(m) || record[m.where].holder != m.holder)) || \
  (m.kind == move && (IS_PAST(m) || record[m.where].holder != m.id || record[m.where].session != 0)) || \
  (m.kind == renew && (record[m.where].holder != m.id || record[m.where].session != 0)) || \
  (m.kind == create && row[m.where].state != absent && !MAY_BE_DELETED) || \
  (m.kind == renewSession && NEVER_LIVES(m.where)) || \
  (m.kind == endSession && (NEVER_LIVES(m.where) || IS_OUTDATED(m.where, m.number))))

inline clear(m) { m.kind = 0; m.where = 0; m.id = 0; m.holder = 0; m.number = 0 }

inline tidy() {
  for (i : 0 .. LATE) {
    if
    :: late[i].kind != 0 && IS_HOPELESS(late[i]) -> clear(late[i])
    :: else
    fi
  }
  for (j : 0 .. RECORDS - 1) {
    q = record[j].holder;
    sweeps[j] = sweeps[j] & BIT(q);
    given[j] = given[j] & BIT(q);
    q = 0
  }
  for (j : 0 .. PROCESSES - 1) {
    isTrue = false;
    for (i : 0 .. RECORDS - 1) {
      isTrue = isTrue || (WANTS(j, i) && at[j].on[i].issued < (HAS_SESSION(j) -> IDS : RIVAL_IDS))
    }
    for (i : 0 .. SESSIONS - 1) {
      if
      :: at[j].crashed || at[j].sees[i].knowsEnded || (!isTrue && ENTRIES == 0) ||
          (at[j].sees[i].saw > 1 && IS_OUTDATED(i, at[j].sees[i].saw - 1)) ->
        at[j].sees[i].saw = 0; at[j].sees[i].watched = 0
      :: else
      fi;
      if
      :: at[j].crashed || (!isTrue && ENTRIES == 0) -> at[j].sees[i].knowsEnded = false
      :: else
      fi
    }
  }
  i = 0; j = 0; isTrue = false;
  checkNoOrphan()
}

/* ---- time ------------------------------------------------------------------------------------------------- */

#define NEEDED(p, s) (at[p].sees[s].saw <= 2 -> RECORD_WATCH : SESSION_WATCH)
#define IS_WATCHING_SESSION(p, s) (at[p].sees[s].saw != 0 && at[p].sees[s].watched < NEEDED(p, s))
#define IS_COUNTING_ON(p, r) ((at[p].on[r].phase == held && at[p].on[r].by != moved) || \
  (at[p].on[r].hasSeen && at[p].on[r].watched < LENGTH(r)))
#define ANY_RECORD(p) (IS_COUNTING_ON(p, 0) || (RECORDS > 1 && IS_COUNTING_ON(p, RECORDS - 1)))
#define ANY_SESSION(p) (IS_WATCHING_SESSION(p, 0) || (SESSIONS > 1 && IS_WATCHING_SESSION(p, SESSIONS - 1)))
#define IS_COUNTING(p) (!at[p].crashed && (SESSION_HELD(p) || ANY_RECORD(p) || ANY_SESSION(p)))
#if PROCESSES == 2
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
  q = 0;
  isTrue = false
}

inline countRecord(p, r) {
  if
  :: my.hasSeen && my.watched < LENGTH(r) -> my.watched++
  :: else
  fi;
  if
  :: my.phase == held && my.by != moved ->
    my.age++;
    if
    :: my.wire != quiet && my.kind == renew -> my.since++
    :: else
    fi;
    if
    :: my.age >= HOLD && my.by == own -> endLease(p, r)
    :: my.age >= HOLD && my.by == moving ->
#ifdef DROP_SWEEP
      endLease(p, r)
#else
      endAndSweep(p, r)
#endif
    :: else
    fi
  :: else
  fi
}

inline tick(p) {
  printf("p%d counts a tick\n", p);
  me.ahead++;
  for (i : 0 .. RECORDS - 1) { countRecord(p, i) }
  for (i : 0 .. SESSIONS - 1) {
    if
    :: IS_WATCHING_SESSION(p, i) -> me.sees[i].watched++
    :: else
    fi
  }
  i = 0;
  if
  :: HAS_SESSION(p) && me.session == usable ->
    if
    :: me.age < SESSION_HOLD -> me.age++
    :: else
    fi;
    if
    :: me.wire != quiet && me.since < SESSION_HOLD -> me.since++
    :: else
    fi;
    if
    :: me.age == SESSION_HOLD ->
#ifdef DROP_SESSION_STICKY
      if
      :: me.wire == quiet -> loseSession(p)
      :: else
      fi
#else
      loseSession(p)
#endif
    :: else
    fi
  :: else
  fi;
  levelClocks()
}

inline crash(p) {
  printf("p%d crashes\n", p);
  crashesUsed++;
  for (i : 0 .. RECORDS - 1) {
    if
    :: me.on[i].phase == held -> endLease(p, i)
    :: else
    fi;
    me.on[i].hasSeen = false;
    me.on[i].watched = 0;
    for (q : 1 .. PROCESSES * MOST_IDS) {
      if
      :: OWNER(q) == p -> sweeps[i] = sweeps[i] & ~BIT(q)
      :: else
      fi
    }
  }
  i = 0; q = 0;
  if
  :: HAS_SESSION(p) -> loseSession(p)
  :: else
  fi;
  me.crashed = true
}

/* ---- sessions ------------------------------------------------------------------------------------------------ */

inline sessionAnswered(p) {
  if
  :: me.verdict == 0 -> loseSession(p)
  :: me.verdict != 0 && me.since >= SESSION_HOLD -> loseSession(p)
  :: else ->
    require(LostIsFinal, me.age < SESSION_HOLD);
    require(EndedForGood, !row[p].hasEnded);
    me.known = me.verdict;
    me.age = me.since;
    me.wire = quiet;
    me.number = 0;
    me.since = 0;
    me.verdict = 0
  fi;
  for (i : 0 .. RECORDS - 1) { checkExclusion(p, i) }
  i = 0
}

#define NAMES(p, s, r) (r < RECORDS && MAY_TRY(p, r) && record[r].holder != 0 && record[r].session == s + 1)
#define IS_INTERESTED(p, s) (!me.crashed && WATCHES(p) && p != s && !me.sees[s].knowsEnded && \
  (NAMES(p, s, 0) || (RECORDS > 1 && NAMES(p, s, RECORDS - 1)) || at[s].entry == held))
#define SHOWN(s) (row[s].state == absent -> 1 : 1 + row[s].version)

/* A strongly consistent read, answered at once. Where it matters, the model also has the further results of an
   eventually consistent read. */
inline look(p, s) {
  if
  :: row[s].state == ended ->
    printf("p%d sees that session %d has ended\n", p, s);
    me.sees[s].knowsEnded = true
  :: else ->
    printf("p%d sees session %d at version %d\n", p, s, row[s].version);
    me.sees[s].saw = SHOWN(s);
    me.sees[s].watched = 0;
#ifdef DROP_ABSENCE
    if
    :: row[s].state == absent -> me.sees[s].knowsEnded = true
    :: else
    fi
#endif
  fi
}

#define IS_DEAD(p, s) (me.sees[s].saw != 0 && !IS_WATCHING_SESSION(p, s))

/* ---- the processes, and the network between them and the table ------------------------------------------------ */

/* The steps of a process for one record. */
proctype Holder(byte p, r) {
end:
  do
  :: atomic {
    if
    :: d_step { MAY_TRY(p, r) && record[r].holder == 0 ->
        grant(p, r, AFTER_CLAIM(p));
#ifdef DROP_GRANT
        if
        :: record[r].session != 0 -> my.by = moved
        :: else
        fi;
#endif
      }
    :: d_step { MAY_TRY(p, r) && record[r].holder == 0 && lateUsed < LATE ->
        leave(claim, r, ID(p, my.issued), AFTER_CLAIM(p), CURRENT); my.issued++ }
    :: d_step { MAY_TRY(p, r) && WATCHES(p) && !my.hasSeen && IS_WATCHABLE(r) && !REMEMBERS(p, r) ->
        printf("p%d watches the holder of record %d\n", p, r);
        my.hasSeen = true; my.watched = 0 }
    :: d_step { MAY_TRY(p, r) && IS_TAKEABLE(p, r) -> take(p, r) }
    :: d_step { MAY_TRY(p, r) && IS_TAKEABLE(p, r) && lateUsed < LATE ->
        leave(takeOver, r, ID(p, my.issued), record[r].holder, CURRENT); my.issued++ }

    /* Holding. */
    :: d_step { BELIEVES(p, r) && my.by == own && my.wire == quiet && my.renewals < RENEWALS ->
        my.renewals++; sendAbout(p, r, renew) }
#ifdef DROP_RENEW_MOVING
    :: d_step { BELIEVES(p, r) && my.by == moving && my.wire == quiet && my.renewals < RENEWALS ->
        my.renewals++; sendAbout(p, r, renew) }
#endif
    :: d_step { BELIEVES(p, r) && my.by == own && my.wire == quiet && MAY_BE_NAMED(p) ->
        my.by = moving; sendAbout(p, r, move) }
    :: d_step { BELIEVES(p, r) && my.by == moving && my.wire == quiet ->
        my.kind = move; my.wire = sent; printf("p%d sends the move of record %d again\n", p, r) }
    :: d_step { BELIEVES(p, r) && my.wire == quiet -> endAndSweep(p, r) }

    /* A release, or a repeated free: retried while unanswered. */
    :: d_step { IS_SWEPT(r) && OWNER(record[r].holder) == p ->
        printf("p%d frees record %d\n", p, r); write(r, 0, 0) }

    /* The network and the table. */
    :: d_step { my.wire == sent -> applyAbout(p, r) }
    :: d_step { my.wire == answered -> answerAbout(p, r) }
    :: d_step { my.wire == sent && lateUsed < LATE -> leave(my.kind, r, my.id, 0, my.number) }
    :: d_step { my.wire != quiet && lostUsed < LOST -> goUnanswered(p, r) }
    fi;
    d_step { tidy() } }
  od
}

/* The clock of a process, and its crash. */
proctype Machine(byte p) {
end:
  do
  :: d_step { me.ahead < DRIFT && TIME_MATTERS -> tick(p); tidy() }
  :: d_step { crashesUsed < CRASHES && !me.crashed && HAS_SESSION(p) -> crash(p); tidy() }
  od
}

/* The steps of a process for its own session. */
proctype Keeper(byte p) {
end:
  do
  :: atomic {
    if
    :: d_step { SESSION_HELD(p) && me.wire == quiet && me.renewals < SESSION_RENEWALS ->
        me.renewals++; me.wire = sent; me.number = me.known;
        printf("p%d renews its session (names %d)\n", p, me.number) }
    :: d_step { me.wire == sent ->
        renewRow(p, me.number);
        me.verdict = (isTrue -> row[p].version : 0);
        me.wire = answered }
    :: d_step { me.wire == answered -> sessionAnswered(p) }
    :: d_step { me.wire == sent && lateUsed < LATE -> leave(renewSession, p, 0, 0, me.number) }
    :: d_step { me.wire != quiet && lostUsed < LOST ->
        printf("p%d gets no answer about its session\n", p);
        lostUsed++; me.wire = quiet; me.number = 0; me.since = 0; me.verdict = 0;
        if
        :: SESSION_HELD(p)
        :: else -> loseSession(p)
        fi }
    /* It closes: its leases end first, its row at any time afterwards. */
    :: d_step { SESSION_HELD(p) -> loseSession(p) }
    :: d_step { me.session == over && !me.crashed && row[p].state == alive -> endRow(p) }
#if ENTRIES > 0
    :: d_step { MAY_BE_NAMED(p) && me.entry == idle -> me.entry = held; printf("p%d has a place\n", p) }
#endif
    fi;
    d_step { tidy() } }
  od
}

/* The steps of a process for the session of a different process. */
proctype Rival(byte p, s) {
end:
  do
  :: atomic {
    if
    :: d_step { IS_INTERESTED(p, s) && (row[s].state == ended || me.sees[s].saw != SHOWN(s)) -> look(p, s) }
#ifdef DROP_STRONG_READS
    :: d_step { IS_INTERESTED(p, s) && row[s].state == alive && me.sees[s].saw != 1 ->
        printf("p%d does not see session %d yet\n", p, s); me.sees[s].saw = 1; me.sees[s].watched = 0 }
#endif
#ifdef DROP_FIRST_VERSION
    :: d_step { IS_INTERESTED(p, s) && row[s].state == alive && me.sees[s].saw != 2 ->
        printf("p%d still sees session %d at version 1\n", p, s); me.sees[s].saw = 2; me.sees[s].watched = 0 }
#endif
#ifdef DROP_END
    :: d_step { IS_DEAD(p, s) && IS_AS_SEEN(s, me.sees[s].saw - 1) -> me.sees[s].knowsEnded = true }
#else
    :: d_step { IS_DEAD(p, s) && IS_AS_SEEN(s, me.sees[s].saw - 1) ->
        endRow(s); me.sees[s].knowsEnded = true }
    :: d_step { IS_DEAD(p, s) && lateUsed < LATE ->
        leave(endSession, s, 0, 0, me.sees[s].saw - 1) }
#endif
#if ENTRIES > 0
    :: d_step { at[s].entry == held && me.sees[s].knowsEnded ->
        printf("p%d removes the place\n", p);
        at[s].entry = moved; require(EntryKept, row[s].hasEnded && !SESSION_HELD(s)) }
#endif
    fi;
    d_step { tidy() } }
  od
}

inline applyLate(m) {
  if
  :: m.kind == claim && record[m.where].holder == 0 ->
    given[m.where] = given[m.where] | BIT(m.id);
    write(m.where, m.id, m.holder)
  :: m.kind == takeOver && record[m.where].holder == m.holder && !IS_PAST(m) ->
    require(Ownership, m.number == CURRENT);
    given[m.where] = given[m.where] | BIT(m.id);
    write(m.where, m.id, AFTER_TAKEOVER(m.where))
  :: m.kind == move && IS_MOVABLE(m.where, m.id, m.number) ->
    write(m.where, m.id, OWNER(m.id) + 1)
  :: m.kind == renew && IS_RENEWABLE(m.where, m.id) ->
    write(m.where, m.id, record[m.where].session)
  :: m.kind == create && row[m.where].state == absent ->
    row[m.where].state = alive; row[m.where].version = 1
  :: m.kind == renewSession -> renewRow(m.where, m.number)
  :: m.kind == endSession && IS_AS_SEEN(m.where, m.number) -> endRow(m.where)
  :: else
  fi
}

/* A copy in the network takes effect; no process waits for its answer. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].kind != 0 ->
      printf("the copy of %e arrives\n", late[copy].kind);
      applyLate(late[copy]); clear(late[copy]); tidy() }
  od
}

#if DELETED > 0
proctype Hand(byte s) {
end:
  do
  :: d_step { MAY_BE_DELETED && row[s].state != absent ->
      printf("session %d is deleted\n", s);
      deletedUsed++; row[s].state = absent; row[s].version = 0; tidy() }
  od
}
#endif

/* When no process can make a step any more, no process may still wait. */
proctype End() {
end:
  timeout ->
  for (q : 0 .. PROCESSES - 1) {
    for (i : 0 .. RECORDS - 1) { require(NoOrphan, !WATCHES(q) || !MAY_TRY(q, i)) }
  }
}

init {
  atomic {
    for (q : 0 .. PROCESSES - 1) {
      at[q].session = over; at[q].wire = quiet; at[q].entry = idle;
      for (i : 0 .. RECORDS - 1) { at[q].on[i].phase = idle; at[q].on[i].by = own; at[q].on[i].wire = quiet }
    }
    for (q : 0 .. SESSIONS - 1) {
      row[q].state = alive; row[q].version = 1;
      at[q].session = usable; at[q].known = 1
    }
#if DELETED > 0 && (LATE == 1 || defined(DROP_CREATION))
    /* The creation may stay in the network too, but not together with further copies: see verification/README.md. */
    if
    :: leave(create, 0, 0, 0, 0)
    :: skip
    fi;
#endif
    for (q : 0 .. PROCESSES - 1) {
      run Machine(q);
      for (i : 0 .. RECORDS - 1) { run Holder(q, i) }
      for (i : 0 .. SESSIONS - 1) {
        if
        :: q == i -> run Keeper(q)
        :: q != i && WATCHES(q) -> run Rival(q, i)
        :: else
        fi
      }
    }
    for (q : 0 .. LATE) { run Network(q) }
#if DELETED > 0
    for (q : 0 .. SESSIONS - 1) { run Hand(q) }
#endif
    run End();
    q = 0; i = 0
  }
}

/*
 * Takeover at first sight, for Spin: `node scripts/model.mjs`. The end of a lease in the table's time, which a rival compares
 * with the `Date` of the answer that shows the record.
 *
 * Omitted: lost or late answers to claims, corrections and takeovers, answers without a `Date`, restarts, eventually
 * consistent reads, sessions, queue entries, changes of length, drift.
 *
 * True time passes in steps. Two servers answer; each clock is off by a fixed length, and they differ by DIFFER, and a `Date` is rounded down to
 * a multiple of STEP. Two processes contend for one record. Each knows an upper bound of the servers' time after its
 * first answer, and before that its own wall clock, which is wrong by up to WRONG. A renewal is sent, and takes effect
 * at any later time, once or again; its answer may be lost. A process may stop for ever, or for a while: it does nothing.
 * The machines' clocks run at the true rate here; lease.pml has the drift.
 *
 * A newcomer reads the record at any time, and takes it over at any later time if holder and version are the same.
 *
 * Up to STRAY answers have any other `Date`, far ahead or far behind: never two successive ones of one process. So a
 * process counts the later of its last two answers as the upper bound, and takes over by the earlier. Its first answer is
 * right, and counts alone: the wall clock confirms it in the code. Without STRAY each answer counts alone.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion   no two processes are before their deadlines under one record at once
 *   Forward     within a grant, the end is never before the deadline of the holder plus the servers' difference
 *   Prompt      a read long enough after a grant without a renewal shows that the holder is dead
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef HORIZON
#define HORIZON 11
#endif
#ifndef RENEWALS
#define RENEWALS 1 /* renewals sent under the first two grants */
#endif
#ifndef GRANTS
#define GRANTS 3
#endif
#ifndef LATE
#define LATE 0 /* renewals which take effect again */
#endif
#ifndef LOST
#define LOST 0 /* answers which are lost */
#endif
#ifndef DIFFER
#define DIFFER 3
#endif
#ifndef BOUND
#define BOUND 3 /* the reader's bound on the difference */
#endif
#ifndef WRONG
#define WRONG 8
#endif
#ifndef FAR
#define FAR 8 /* by how much such a `Date` is wrong; at most BASE */
#endif
#ifndef STRAY
#define STRAY 0 /* answers with a `Date` that is wrong */
#endif

#define LEASE 4
#define STEP 2
#define SLACK 1 /* what the end of a first grant is later, so that a small error costs nothing */
#define LOSS 3  /* what a first grant may lose by the end, before a correction */
#define BASE 8  /* the servers' time at the true time 0, so that no number is below 0 */
#define SLOTS 3

/* ---- the table, and the processes ---------------------------------------------------------------- */

byte now_;
byte grant, version, holder, end; /* holder: a process + 1; 0 while the record was never held */
byte lastSent;                    /* when the last renewal that has taken effect was sent */

typedef Process {
  bit isKnown;    /* whether an answer has shown a `Date` */
  short ahead;    /* the upper bound of the servers' time, less the true time and BASE */
#if STRAY
  bit wasStray;   /* whether the last answer had a wrong `Date` */
  bit isDoubted;  /* whether the `Date` of the last answer was above the bound by more than the servers may differ */
  short last;     /* the bound of the last answer alone, as `ahead` */
  byte seen;      /* the `Date` of the last answer, less the true time of its arrival */
#endif
  byte wall;      /* the wall clock, less the true time; WRONG means correct */
  bit believes;
  bit isUnchecked;
  byte deadline;
  byte grant;
  byte endSent;
  byte waitsFor;  /* the slot of the renewal whose answer it waits for, + 1 */
  bit hasRead; /* `sawDate`: less the true time of the read */
  byte sawGrant; byte sawVersion; byte sawEnd; byte sawDate
}
Process at[2];

typedef Slot { bit isUsed; bit isOpen; byte who; byte grant; byte version; byte end; byte sent }
Slot slot[SLOTS];

byte renewals, grants, lates, losses;
byte date, s;
short wanted, left;
#if STRAY
byte strays;
bit isAhead;
#endif

bool Exclusion = true, Forward = true, Prompt = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define ACTS(p) (at[p].believes && now_ < at[p].deadline)
#define LESSER(a, b) ((a) < (b) -> (a) : (b))
#define GREATER(a, b) ((a) > (b) -> (a) : (b))

/* The `Date` of an answer to a process that one of the servers makes now. */
inline answered(p) {
#if STRAY
  if
  :: date = ((BASE + now_) / STEP) * STEP; at[p].wasStray = 0
  :: date = ((BASE + now_ + DIFFER) / STEP) * STEP; at[p].wasStray = 0
  :: strays < STRAY && at[p].isKnown && !at[p].wasStray ->
    strays++; at[p].wasStray = 1;
    if
    :: date = ((BASE + now_ + DIFFER + FAR) / STEP) * STEP
    :: date = ((BASE + now_ - FAR) / STEP) * STEP
    fi
  fi
#else
  if
  :: date = ((BASE + now_) / STEP) * STEP
  :: date = ((BASE + now_ + DIFFER) / STEP) * STEP
  fi
#endif
}

/* The bound after an answer to a request sent at `from`: the tighter one, unless the `Date` shows that it was wrong:
   it is later by more than the servers may differ. */
inline learn(p, from) {
#ifdef DROP_ROUNDING
  wanted = date - BASE - LESSER(from, date - BASE);
#else
  wanted = date + STEP - BASE - from;
#endif
#if STRAY
  left = wanted;
  if
  :: at[p].isKnown -> left = GREATER(wanted, at[p].last)
  :: else
  fi;
  isAhead = at[p].isKnown && date > BASE + now_ + at[p].ahead + BOUND;
  if
  :: !at[p].isKnown || left < at[p].ahead || (isAhead && at[p].isDoubted) -> at[p].ahead = left
  :: else
  fi;
  at[p].isDoubted = isAhead; at[p].last = wanted; at[p].seen = date - now_;
  isAhead = 0; left = 0;
#else
  if
  :: !at[p].isKnown || wanted < at[p].ahead || date > BASE + now_ + at[p].ahead + BOUND -> at[p].ahead = wanted
  :: else
  fi;
#endif
  at[p].isKnown = 1;
  wanted = 0
}

inline checkExclusion() {
  require(Exclusion, !(ACTS(0) && ACTS(1)))
}

/* The deadline of a lease whose request was sent at `from`: by the machine's clocks, and by the end in the record. */
inline believe(p, from, to) {
  at[p].believes = 1;
#ifdef DROP_LIMIT
  at[p].deadline = from + LEASE;
#else
  if
  :: to > BASE + at[p].ahead -> at[p].deadline = LESSER(from + LEASE, to - BASE - at[p].ahead)
  :: else -> at[p].deadline = 0
  fi;
#endif
  checkExclusion()
}

inline granted(p) {
  grant++; version++; grants++;
  holder = p + 1; end = wanted; lastSent = now_;
  at[p].grant = grant; at[p].endSent = wanted; at[p].waitsFor = 0; at[p].hasRead = 0
}

#ifdef DROP_AHEAD
#define IS_NEAR(left) true
#else
#define IS_NEAR(left) (left <= LEASE + STEP + SLACK + BOUND)
#endif

/* ---- the steps ------------------------------------------------------------------------------------ */

/* The claim of a record that was never held: the first request of a process. Its end comes from the wall clock. */
inline claim(p) {
  wanted = BASE + now_ + at[p].wall - WRONG + STEP + SLACK + LEASE;
  granted(p);
  wanted = 0;
  answered(p);
  learn(p, now_);
  left = end - LESSER(end, BASE + now_ + at[p].ahead);
#ifdef DROP_CHECK
  at[p].believes = 1; at[p].deadline = now_ + LEASE;
  checkExclusion();
#else
  if
  :: left + LOSS >= LEASE && IS_NEAR(left) -> believe(p, now_, end)
  :: else -> at[p].isUnchecked = 1
  fi;
#endif
#ifndef DROP_DATE
  at[p].wall = WRONG; /* never read again */
#endif
  left = 0; date = 0
}

/* The correction: a renewal on the exact version, which may set an earlier end. */
inline correct(p) {
  at[p].isUnchecked = 0;
  if
  :: holder == p + 1 && grant == at[p].grant && version == 1 ->
    version++;
    end = BASE + now_ + at[p].ahead + LEASE;
    lastSent = now_;
    at[p].endSent = end;
    believe(p, now_, end)
  :: else /* refused: not acquired */
  fi
}

inline renew(p) {
  for (s : 0 .. SLOTS - 1) {
    if
    :: !slot[s].isUsed && !slot[s].isOpen && at[p].waitsFor == 0 ->
      wanted = BASE + now_ + at[p].ahead + LEASE;
      at[p].endSent = GREATER(at[p].endSent, wanted);
      slot[s].isUsed = 1; slot[s].isOpen = 1; slot[s].who = p; slot[s].grant = at[p].grant;
      slot[s].version = version; slot[s].sent = now_;
      slot[s].end = at[p].endSent;
      at[p].waitsFor = s + 1;
      wanted = 0
    :: else
    fi
  }
  s = 0; renewals++
}

#ifdef DROP_OLDER_END
#define NO_LATER_END(m) true
#else
#define NO_LATER_END(m) (end <= slot[m].end)
#endif

/* A renewal takes effect, or is refused, and its answer arrives or is lost. */
inline deliver(m) {
  if
  :: grant == slot[m].grant && version >= slot[m].version && NO_LATER_END(m) ->
    version++; end = slot[m].end; lastSent = GREATER(lastSent, slot[m].sent);
    require(Forward, !ACTS(slot[m].who) || at[slot[m].who].grant != grant ||
      end + DIFFER >= BASE + at[slot[m].who].deadline);
    if
    :: at[slot[m].who].waitsFor == m + 1 ->
      answered(slot[m].who);
      learn(slot[m].who, slot[m].sent);
      if
      :: ACTS(slot[m].who) && at[slot[m].who].grant == slot[m].grant ->
#ifdef DROP_ANSWER
        at[slot[m].who].deadline = now_ + LEASE; checkExclusion()
#else
        believe(slot[m].who, slot[m].sent, end)
#endif
      :: else
      fi;
      at[slot[m].who].waitsFor = 0; date = 0
    :: else
    fi
  :: else ->
    if
    :: at[slot[m].who].waitsFor == m + 1 -> at[slot[m].who].waitsFor = 0
    :: else
    fi
  fi;
  if
  :: lates < LATE -> lates++ /* it takes effect again later */
  :: slot[m].isUsed = 0
  fi
}

/* The holder gives up an answer; the renewal may still take effect. */
inline giveUp(p) {
  at[p].waitsFor = 0; losses++
}

#if STRAY
#define WAS_STRAY(p) at[p].wasStray
#else
#define WAS_STRAY(p) false
#endif

inline read(p) {
  answered(p);
#if STRAY && !defined(DROP_SECOND)
  s = date - now_;
  if
  :: at[p].isKnown -> s = LESSER(s, at[p].seen)
  :: else
  fi;
#endif
  learn(p, now_);
  at[p].hasRead = 1; at[p].sawGrant = grant; at[p].sawVersion = version; at[p].sawEnd = end;
#ifdef DROP_DATE
  at[p].sawDate = BASE + at[p].wall - WRONG;
#elif STRAY && !defined(DROP_SECOND)
  at[p].sawDate = s; s = 0;
#else
  at[p].sawDate = date - now_;
#endif
  /* A holder that dies before its check, or whose renewal is still under way, may leave an end far ahead. */
  require(Prompt, WAS_STRAY(p) || at[holder - 1].isUnchecked || RENEWALS > 0 || now_ <= lastSent + LEASE + BOUND + DIFFER + STEP + STEP + SLACK + BOUND || date >= end + BOUND);
  date = 0
}

#ifdef DROP_BOUND
#define MARGIN 0
#else
#define MARGIN BOUND
#endif

#define IS_DEAD(p) (at[p].hasRead && at[p].sawDate + now_ >= at[p].sawEnd + MARGIN)

#ifdef DROP_VERSION
#define IS_SAME(p) (grant == at[p].sawGrant)
#else
#define IS_SAME(p) (grant == at[p].sawGrant && version == at[p].sawVersion)
#endif

inline takeOver(p) {
  if
  :: IS_SAME(p) ->
    wanted = BASE + now_ + at[p].ahead + LEASE;
    granted(p);
    wanted = 0;
    believe(p, now_, end)
  :: else -> at[p].hasRead = 0
  fi
}

inline step(p) {
  if
  :: p == 0 && holder == 0 -> claim(p)
  :: at[p].isUnchecked -> correct(p)
  :: ACTS(p) && at[p].waitsFor == 0 && renewals < RENEWALS -> renew(p)
  :: at[p].waitsFor != 0 && losses < LOST -> giveUp(p)
  :: holder != 0 && holder != p + 1 && !ACTS(p) && !at[p].hasRead -> read(p)
  :: IS_DEAD(p) && grants < GRANTS -> takeOver(p)
  fi
}

init {
  atomic {
    select(left : 0 .. 2);
    at[0].wall = left * WRONG;
#ifdef DROP_DATE
    select(left : 0 .. 2);
    at[1].wall = left * WRONG;
#endif
    left = 0
  }
  do
  :: atomic { now_ < HORIZON -> now_++ }
  :: atomic { step(0) }
  :: atomic { step(1) }
  :: atomic { slot[0].isUsed -> deliver(0) }
  :: atomic { slot[1].isUsed -> deliver(1) }
  :: atomic { slot[2].isUsed -> deliver(2) }
  :: atomic { now_ == HORIZON -> break }
  od
}

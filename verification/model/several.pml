/*
 * Several locks at once, for Spin: `node scripts/model.mjs`. The lease is assumed to be correct, as in queue.pml; this is the queue
 * of queue.pml before two records. Omitted: more than two names, the loss of all locks together, weights, limits that
 * change, and sessions that end while their process lives (permits.pml and session.pml have them).
 *
 * PROCESSES processes contend for both records, except these: FIRST_ALONE processes contend only for the first
 * record, SECOND_ALONE only for the second. A process which wants both takes one ticket for both queues, in one
 * transaction with its entries, and is granted both by another transaction. A copy of either may stay in the
 * network and take effect at any later time, whether applied before or not. A belief ends at any time, where
 * SLEEPS allows this.
 *
 * A record of which ROOM is 1 is a lock. With more room it is a semaphore: its grants require room and that the attempt was
 * not withdrawn, and its permits count until their process has stopped. A process that gives up an attempt whose request
 * may still arrive withdraws it later: it frees the permit, or marks the attempt.
 *
 * Invariants, each a variable which is true until the invariant fails:
 *
 *   Exclusion    no two processes believe at once that they hold one record
 *   AllOrNothing a process which wants both records is granted both at once
 *   OneNumber    no two entries of one queue have one ticket
 *   ServedOrder  a ticket is granted only if no ticket as high was granted before
 *   Room         the permits of live processes never exceed the room of their record
 *   NoLeak       when all other steps have ended, a live process has no permit that no part of it uses
 *   NoDeadlock   no process waits when all other steps have ended
 *
 * A flag -DDROP_... plants one defect. Each must break the invariant in scripts/lib/models.mjs.
 */

/* ---- bounds ------------------------------------------------------------------------------------- */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef FIRST_ALONE
#define FIRST_ALONE 0
#endif
#ifndef SECOND_ALONE
#define SECOND_ALONE 0
#endif
#ifndef TRIES
#define TRIES 1
#endif
#ifndef LATE
#define LATE 0 /* copies of transactions which take effect at any later time */
#endif
#ifndef SLEEPS
#define SLEEPS 0 /* beliefs which end early */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

#ifndef FIRST_ROOM
#define FIRST_ROOM 1
#endif
#ifndef SECOND_ROOM
#define SECOND_ROOM 1
#endif

#define NAMES 2
#define ROOM(r) (r == 0 -> FIRST_ROOM : SECOND_ROOM)
#define MOST_TICKETS 5

/* ---- the table, and the processes ---------------------------------------------------------------- */

typedef Record {
  byte holder;  /* of a lock: a process + 1; 0 while the record is free */
  byte permit[6]; /* of a semaphore: its owner + 1, by the ticket of its attempt */
  bit isMarked[6]; /* the attempt with this ticket was withdrawn */
  byte version; /* new with every grant and every release */
  byte tail, served;
  byte entry[6] /* its owner + 1, by its ticket */
}
Record record[NAMES];

mtype = { idle, half, waiting, holding, crashed, enter, grant };

typedef Process {
  mtype phase = idle;
  bit wants[NAMES];
  bit believes[NAMES];
  bit keeps; /* in its places */
  byte ticket[NAMES];
  byte owes[NAMES]; /* the tickets of an attempt to withdraw */
  byte tries
}
Process at[PROCESSES];

typedef Copy { mtype kind; byte who; byte ticket[NAMES]; byte version[NAMES] }
Copy late[LATE + 1];
byte lateUsed, sleepsUsed, crashesUsed;
byte n, q, e;

bool Exclusion = true, AllOrNothing = true, OneNumber = true, ServedOrder = true, NoDeadlock = true,
  Room = true, NoLeak = true;

#define require(invariant, holds) \
  if \
  :: (holds) \
  :: else -> invariant = false; assert(invariant) \
  fi

#define IS_LOCK(r) (ROOM(r) == 1)
/* The session of a process that has stopped counts as ended. */
#define IS_USED(r, t) (record[r].permit[t] != 0 && at[record[r].permit[t] - 1].phase != crashed)
#define USED(r) (IS_USED(r, 1) + IS_USED(r, 2) + IS_USED(r, 3) + IS_USED(r, 4) + IS_USED(r, 5))
#ifdef DROP_ROOM
#define HAS_ROOM(r) true
#else
#define HAS_ROOM(r) (USED(r) < ROOM(r))
#endif
#define IS_FREE(r) (IS_LOCK(r) -> (record[r].holder == 0 || !at[record[r].holder - 1].believes[r]) : HAS_ROOM(r))
#define IS_KEPT(r, t) (record[r].entry[t] != 0 && at[record[r].entry[t] - 1].keeps && \
  at[record[r].entry[t] - 1].ticket[r] == (t))
#define AHEAD(r, e, t) (e > record[r].served && e < t && IS_KEPT(r, e))
#define IS_FIRST(r, t) (!AHEAD(r, 1, t) && !AHEAD(r, 2, t) && !AHEAD(r, 3, t) && !AHEAD(r, 4, t) && !AHEAD(r, 5, t))
#define MAY_HAVE(p, r) (!at[p].wants[r] || \
  (IS_FREE(r) && at[p].ticket[r] > record[r].served && IS_FIRST(r, at[p].ticket[r])))
#define IS_PASSED_OVER(p, r) (at[p].wants[r] && at[p].ticket[r] <= record[r].served)
#define TAIL(p, r) (at[p].wants[r] -> record[r].tail : 0)
#define HIGHEST(p) ((TAIL(p, 0) > TAIL(p, 1)) -> TAIL(p, 0) : TAIL(p, 1))

inline checkExclusion() {
  for (n : 0 .. NAMES - 1) {
    for (q : 0 .. PROCESSES - 1) {
      for (e : 0 .. PROCESSES - 1) {
        require(Exclusion, !IS_LOCK(n) || q == e || !at[q].believes[n] || !at[e].believes[n])
      }
    }
  }
  n = 0; q = 0; e = 0
}

/* One record of a grant, from any sender. */
inline take(by, r, with) {
  require(ServedOrder, with > record[r].served);
  record[r].served = with; record[r].version++;
  if
  :: IS_LOCK(r) -> record[r].holder = by + 1
  :: else -> record[r].permit[with] = by + 1; require(Room, USED(r) <= ROOM(r))
  fi
}

inline forget(by) {
  at[by].keeps = 0;
  for (n : 0 .. NAMES - 1) {
    if
    :: at[by].ticket[n] != 0 && record[n].entry[at[by].ticket[n]] == by + 1 ->
      record[n].entry[at[by].ticket[n]] = 0
    :: else
    fi;
    at[by].ticket[n] = 0
  }
  n = 0
}

inline stay(what, by) {
  lateUsed++;
  late[lateUsed - 1].kind = what; late[lateUsed - 1].who = by;
  for (n : 0 .. NAMES - 1) {
    late[lateUsed - 1].ticket[n] = at[by].ticket[n];
    late[lateUsed - 1].version[n] = record[n].version
  }
  n = 0
}

#ifdef DROP_STEPWISE
#define MAY_TAKE(p) ((at[p].wants[0] && !at[p].believes[0] && MAY_HAVE(p, 0)) || \
  (at[p].wants[1] && !at[p].believes[1] && MAY_HAVE(p, 1)))
#else
#define MAY_TAKE(p) (MAY_HAVE(p, 0) && MAY_HAVE(p, 1))
#endif

#define OWES(p) (at[p].owes[0] != 0 || at[p].owes[1] != 0)
#define MAY_ENTER(p) (at[p].phase == idle && at[p].tries < TRIES && HIGHEST(p) < MOST_TICKETS)

inline enterAll(by) {
  at[by].tries++;
  q = HIGHEST(by) + 1;
  for (n : 0 .. NAMES - 1) {
    if
    :: at[by].wants[n] ->
      at[by].ticket[n] = q; record[n].tail = q; record[n].entry[q] = by + 1
    :: else
    fi
  }
  n = 0;
  printf("p%d enters with %d and %d\n", by, at[by].ticket[0], at[by].ticket[1]);
  q = 0; at[by].keeps = 1; at[by].phase = waiting
}

inline enterOne(by, r) {
  record[r].tail++; at[by].ticket[r] = record[r].tail; record[r].entry[record[r].tail] = by + 1;
  at[by].keeps = 1;
  printf("p%d enters queue %d with %d\n", by, r, record[r].tail);
  if
  :: at[by].ticket[0] != 0 && at[by].ticket[1] != 0 -> at[by].phase = waiting
  :: else
  fi
}

proctype Waiter(byte p) {
end:
  do
#ifdef DROP_ONE_NUMBER
  /* A separate ticket in each queue, one after the other. */
  :: d_step { at[p].phase == idle && at[p].tries < TRIES && at[p].wants[0] && at[p].wants[1] ->
      at[p].tries++; at[p].phase = half }
  :: d_step { at[p].phase == half && at[p].ticket[0] == 0 -> enterOne(p, 0) }
  :: d_step { at[p].phase == half && at[p].ticket[1] == 0 -> enterOne(p, 1) }
#else
  /* One ticket for all its queues, above every ticket of any of these queues; a refusal shows these tickets. */
  :: d_step { MAY_ENTER(p) -> enterAll(p) }
  :: d_step { MAY_ENTER(p) && lateUsed < LATE -> enterAll(p); stay(enter, p) }
#endif
  :: d_step { at[p].phase == waiting && at[p].keeps && MAY_TAKE(p) ->
      for (n : 0 .. NAMES - 1) {
        if
        :: at[p].wants[n] && !at[p].believes[n] && MAY_HAVE(p, n) ->
          printf("p%d is granted %d with %d\n", p, n, at[p].ticket[n]);
          take(p, n, at[p].ticket[n]); at[p].believes[n] = 1
        :: else
        fi
      }
      n = 0;
      checkExclusion();
      require(AllOrNothing, at[p].believes[0] == at[p].wants[0] && at[p].believes[1] == at[p].wants[1]);
      if
      :: at[p].believes[0] == at[p].wants[0] && at[p].believes[1] == at[p].wants[1] -> at[p].phase = holding
      :: else
      fi }
  /* A sent grant, not yet applied, when it gives up. */
  :: d_step { at[p].phase == waiting && at[p].keeps && MAY_TAKE(p) && lateUsed < LATE && !OWES(p) ->
      printf("p%d gives up, its grant on its way\n", p);
      stay(grant, p);
      for (n : 0 .. NAMES - 1) { at[p].owes[n] = (!IS_LOCK(n) -> at[p].ticket[n] : 0) }
      n = 0;
      forget(p); at[p].phase = idle }
  :: d_step { OWES(p) && at[p].phase != crashed ->
      printf("p%d withdraws its attempt\n", p);
      for (n : 0 .. NAMES - 1) {
        if
        :: at[p].owes[n] != 0 ->
          if
          :: record[n].permit[at[p].owes[n]] != 0 -> record[n].permit[at[p].owes[n]] = 0; record[n].version++
#ifndef DROP_MARK
          :: else -> record[n].isMarked[at[p].owes[n]] = 1
#else
          :: else
#endif
          fi;
          at[p].owes[n] = 0
        :: else
        fi
      }
      n = 0 }
  /* Passed over in one queue, it leaves both. */
  :: d_step { at[p].phase == waiting && (IS_PASSED_OVER(p, 0) || IS_PASSED_OVER(p, 1)) ->
      printf("p%d was passed over\n", p);
      forget(p); at[p].believes[0] = 0; at[p].believes[1] = 0; at[p].phase = idle }
  :: d_step { at[p].phase == waiting && at[p].keeps && sleepsUsed < SLEEPS ->
      printf("p%d oversleeps\n", p);
      sleepsUsed++; forget(p); at[p].phase = idle }
  :: d_step { at[p].phase == holding ->
      printf("p%d releases\n", p);
      for (n : 0 .. NAMES - 1) {
        if
        :: at[p].believes[n] && record[n].holder == p + 1 -> record[n].holder = 0; record[n].version++
        :: at[p].believes[n] && record[n].permit[at[p].ticket[n]] == p + 1 ->
          record[n].permit[at[p].ticket[n]] = 0; record[n].version++
        :: else
        fi;
        at[p].believes[n] = 0
      }
      n = 0;
      forget(p); at[p].phase = idle }
  :: d_step { at[p].phase != crashed && crashesUsed < CRASHES ->
      printf("p%d crashes\n", p);
      crashesUsed++; at[p].phase = crashed; at[p].keeps = 0;
      at[p].believes[0] = 0; at[p].believes[1] = 0 }
  od
}

#define IS_AS_SEEN(copy, r) (late[copy].version[r] == record[r].version)
#ifdef DROP_ANCHOR
#define FITS(copy, r) true
#else
#define FITS(copy, r) (late[copy].ticket[r] == 0 || \
  (IS_GRANTABLE(copy, r) && late[copy].ticket[r] > record[r].served))
#endif
/* The condition of a lock names the record that was seen. That of a permit asks for room, and for no mark. */
#define IS_GRANTABLE(copy, r) (IS_LOCK(r) -> (IS_AS_SEEN(copy, r) && IS_FREE(r)) : \
  (IS_FREE(r) && !record[r].isMarked[late[copy].ticket[r]] && record[r].permit[late[copy].ticket[r]] == 0))
#ifdef DROP_WHOLE
#define ALL_FIT(copy) (FITS(copy, 0) || FITS(copy, 1))
#else
#define ALL_FIT(copy) (FITS(copy, 0) && FITS(copy, 1))
#endif
#ifdef DROP_TAIL
#define IS_BELOW(copy, r) true
#else
#define IS_BELOW(copy, r) (late[copy].ticket[r] == 0 || record[r].tail < late[copy].ticket[r])
#endif

/* A copy of a transaction in the network takes effect, completely or not at all. */
proctype Network(byte copy) {
end:
  do
  :: d_step { late[copy].kind == enter ->
      printf("the copy of an entry arrives\n");
      late[copy].kind = 0;
      if
      :: IS_BELOW(copy, 0) && IS_BELOW(copy, 1) ->
        for (n : 0 .. NAMES - 1) {
          if
          :: late[copy].ticket[n] != 0 ->
            require(OneNumber, record[n].entry[late[copy].ticket[n]] == 0);
            record[n].tail = late[copy].ticket[n];
            record[n].entry[late[copy].ticket[n]] = late[copy].who + 1
          :: else
          fi
        }
        n = 0
      :: else
      fi }
  :: d_step { late[copy].kind == grant ->
      printf("the copy of a grant arrives\n");
      late[copy].kind = 0;
      if
      :: ALL_FIT(copy) ->
        for (n : 0 .. NAMES - 1) {
          if
          :: late[copy].ticket[n] != 0 -> take(late[copy].who, n, late[copy].ticket[n])
          :: else
          fi
        }
        n = 0
      :: else
      fi }
  od
}

/* When no process can make a step any more. */
proctype End() {
end:
  timeout ->
  for (q : 0 .. PROCESSES - 1) {
    require(NoDeadlock, at[q].phase == idle || at[q].phase == crashed)
  }
  require(NoLeak, USED(0) == 0 && USED(1) == 0)
}

init {
  atomic {
    for (q : 0 .. PROCESSES - 1) {
      at[q].wants[0] = (q >= SECOND_ALONE); at[q].wants[1] = (q < SECOND_ALONE || q >= SECOND_ALONE + FIRST_ALONE);
      run Waiter(q)
    }
    for (q : 0 .. LATE) { run Network(q) }
    run End();
    q = 0
  }
}

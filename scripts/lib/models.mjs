// The searches of `node scripts/model.mjs`: for each model the protocol within several bounds, a shorter form, and the
// mutants, each with the first invariant to break. verification/README.md counts searches and mutants.

/** No fault; a search names the faults that it allows. */
export const NOTHING = { LOST: 0, LATE: 0, SUSPENDED: 0, CRASHES: 0 };
const DELETION = { DELETION: 1, RENEWALS: 0, FIRST_LEASE: 2 };
/** Two records on one session, with a rival for each record. */
const APART = { PROCESSES: 3, RECORDS: 2, APART: 1, SESSION_RENEWALS: 1 };

/** For errors whose consequence is clearer than the first broken invariant. */
const EXCLUSION = { EXCLUSION_ALONE: 1 };

const LEASE_SEARCHES = [
  {
    name: "lost and late messages, suspended machines",
    bounds: { LOST: 1, LATE: 1, SUSPENDED: 1 },
  },
  { name: "late messages, crashes", bounds: { LATE: 1, CRASHES: 1 } },
  {
    name: "lost messages, suspended machines, crashes",
    bounds: { LOST: 1, SUSPENDED: 1, CRASHES: 1 },
  },
  { name: "two late messages", bounds: { LATE: 2, RENEWALS: 0 } },
  { name: "three grants each, lost messages", bounds: { IDS: 3, LOST: 1 } },
  { name: "three processes, lost messages", bounds: { PROCESSES: 3, IDS: 1, LOST: 1 } },
  { name: "three processes, late messages", bounds: { PROCESSES: 3, IDS: 1, LATE: 1 } },
  { name: "deletion, late messages", bounds: { ...DELETION, LATE: 1, HORIZON: 6 } },
  { name: "deletion, for longer", bounds: { ...DELETION, HORIZON: 9 } },
];

const SHORT_LEASE_SEARCHES = [
  { name: "lost messages", bounds: { LOST: 1 } },
  { name: "late messages", bounds: { LATE: 1, RENEWALS: 0 } },
  { name: "suspended machines, crashes", bounds: { SUSPENDED: 1, CRASHES: 1 } },
  { name: "deletion", bounds: { ...DELETION, HORIZON: 6 } },
];

/** The first invariant that each error breaks, in a breadth-first search, and the bounds of the search. */
const LEASE_MUTANTS = [
  { name: "R1", breaks: "Exclusion", what: "a record that is read as free counts as granted" },
  { name: "R2_BEFORE_SEND", breaks: "Exclusion", what: "the deadline counts from the answer" },
  {
    name: "R2_FIRST_SEND",
    breaks: "Exclusion",
    what: "the deadline counts from the last send of a grant",
    bounds: { LOST: 1 },
  },
  { name: "R2_MARGIN", breaks: "Exclusion", what: "the holder keeps no margin for drift" },
  {
    name: "R2_EVERY_CLOCK",
    breaks: "Exclusion",
    what: "the holder trusts the monotonic clock alone",
    bounds: { SUSPENDED: 1 },
  },
  {
    name: "R2_STICKY",
    breaks: "LostIsFinal",
    what: "an answer after the deadline revives the lease",
  },
  {
    name: "R3_AFTER_ANSWER",
    breaks: "Exclusion",
    what: "the watch counts from before the request that showed the holder",
  },
  { name: "R3_ANY_CHANGE", breaks: "Exclusion", what: "a renewal does not start the watch again" },
  {
    name: "R3_RECORDED_LENGTH",
    breaks: "Exclusion",
    what: "the watch lasts for the watcher's own lease",
  },
  { name: "R3_ALLOWANCE", breaks: "Exclusion", what: "the watcher makes no allowance for drift" },
  {
    name: "R4_VERSION",
    breaks: "Ownership",
    what: "a takeover is conditional on the holder alone",
  },
  { name: "R4_CONDITION", breaks: "Ownership", what: "a takeover has no condition" },
  {
    name: "R5_ONCE",
    breaks: "Ownership",
    what: "a grant also accepts its own holder, so it is applied twice",
    bounds: { LATE: 1 },
  },
  {
    name: "R5_OWN_ANSWER",
    breaks: "NoOrphan",
    what: "a grant refused by its own success is taken for a failure",
    bounds: { LOST: 1 },
  },
  {
    name: "R7_OWNER",
    breaks: "Ownership",
    what: "renewal and release are conditional on the process",
    bounds: { LATE: 1 },
  },
  {
    name: "R7_FENCE",
    breaks: "Ownership",
    what: "renewal and release are conditional on the holder without the fence",
    bounds: { LATE: 2, RENEWALS: 0 },
  },
  {
    name: "R7_GUARD_FENCE",
    breaks: "GuardedWrites",
    what: "a guarded write is conditional on the holder without the fence",
    bounds: { LATE: 1 },
  },
  { name: "R9_RELEASE", breaks: "FenceGrows", what: "a release takes the fence away" },
  {
    name: "R9_SEED",
    breaks: "FenceGrows",
    what: "after a deletion the fence starts at 1",
    bounds: { ...DELETION, HORIZON: 6 },
  },
  {
    name: "R10",
    breaks: "FenceGrows",
    what: "a record is deleted before its retention is over",
    bounds: { ...DELETION, HORIZON: 6 },
  },
  { name: "R14_ANCHOR", breaks: "NoOrphan", what: "every claim is blind", bounds: { LATE: 1 } },
  {
    name: "R14_AS_WATCHED",
    breaks: "NoOrphan",
    what: "a takeover's neutraliser names the attempt alone",
    bounds: { LOST: 1, LATE: 1, RENEWALS: 0 },
  },
  {
    name: "R14_EITHER",
    breaks: "NoOrphan",
    what: "a withdrawn hand-over is freed by its new holder alone",
    bounds: { LOST: 1, LATE: 1 },
  },
  {
    name: "R14_MEMORY",
    breaks: "NoOrphan",
    what: "a process does not remember what it gave up",
    bounds: { LOST: 1 },
  },
  {
    name: "R14_REFUSED",
    breaks: "NoOrphan",
    what: "a refused attempt is forgotten while a copy of it is on its way",
    bounds: { LATE: 1 },
  },
];

const SESSION_SEARCHES = [
  {
    name: "lost and late messages, entries",
    bounds: { LOST: 1, LATE: 1, IDS: 2, RENEWALS: 1, ENTRIES: 1 },
  },
  { name: "two late messages", bounds: { LATE: 2, RENEWALS: 1 } },
  { name: "late messages, crashes", bounds: { LATE: 1, CRASHES: 1, IDS: 2, RENEWALS: 1 } },
  {
    name: "a session shorter than a lease",
    bounds: { LOST: 1, LATE: 1, RENEWALS: 1, LEASE: 3, SESSION_LEASE: 2 },
  },
  {
    name: "deletion, lost and late messages, entries",
    bounds: { DELETED: 1, LOST: 1, LATE: 1, ENTRIES: 1, SESSION_RENEWALS: 3 },
  },
  { name: "deletion, two late messages", bounds: { DELETED: 1, LATE: 2 } },
  { name: "two sessions, late messages", bounds: { SESSIONS: 2, LATE: 1 } },
  { name: "two sessions, lost messages", bounds: { SESSIONS: 2, LOST: 1 } },
  { name: "two rivals", bounds: { PROCESSES: 3, RENEWALS: 1 } },
  { name: "two records, a rival for each", bounds: APART },
  {
    name: "a move that does not name the version",
    bounds: { DROP_MOVE_VERSION: 1, LOST: 1, LATE: 1, IDS: 2, RENEWALS: 1 },
  },
  {
    name: "records taken without ending the session, Exclusion alone",
    bounds: { DROP_END: 1, ...EXCLUSION, LOST: 1, LATE: 1 },
  },
  {
    name: "renewals that revive an ended row, Exclusion alone",
    bounds: { DROP_SESSION_ENDED: 1, ...EXCLUSION, LOST: 1, LATE: 1 },
  },
];

const SHORT_SESSION_SEARCHES = [
  { name: "late messages, entries", bounds: { LATE: 1, RENEWALS: 1, ENTRIES: 1 } },
  { name: "lost messages", bounds: { LOST: 1, RENEWALS: 1, ENTRIES: 1 } },
  { name: "deletion, late messages", bounds: { DELETED: 1, LATE: 1 } },
  { name: "two records, a rival for each", bounds: { ...APART, SESSION_LEASE: 2 } },
];

const SESSION_MUTANTS = [
  {
    name: "CREATION",
    breaks: "Exclusion",
    what: "a session's creation and its first renewal both arrive after a deletion by hand",
    bounds: { DELETED: 1, LATE: 2 },
    isLong: true,
  },
  {
    name: "GRANT",
    breaks: "NoOrphan",
    what: "a grant is made on the session at once",
    bounds: { LATE: 1 },
  },
  {
    name: "FIRST_RENEWAL",
    breaks: "Exclusion",
    what: "records are moved before the session's first answered renewal",
    bounds: { DELETED: 1, LOST: 1, LATE: 1 },
    isLong: true,
  },
  {
    name: "MOVE_LENGTH",
    breaks: "Exclusion",
    what: "a move leaves the record's own length",
    bounds: { DELETED: 1 },
  },
  {
    name: "MOVE_DEADLINE",
    breaks: "Exclusion",
    what: "the lease's own deadline is kept while its move is unanswered",
    bounds: { LOST: 1 },
  },
  {
    name: "RENEW_MOVING",
    breaks: "Exclusion",
    what: "a plain renewal is sent while a move is unanswered, and accepted on a session",
    bounds: { LOST: 1, RENEWALS: 1, ...EXCLUSION },
  },
  {
    name: "SWEEP",
    breaks: "NoOrphan",
    what: "a lease that ends while its move is unanswered is not swept",
    bounds: { LOST: 1 },
  },
  {
    name: "SESSION_EXISTS",
    breaks: "Exclusion",
    what: "a session's renewal creates its row anew",
    bounds: { DELETED: 1, SESSION_RENEWALS: 3, ...EXCLUSION },
  },
  {
    name: "SESSION_ENDED",
    breaks: "EndedForGood",
    what: "a session's renewal revives an ended row",
    bounds: { LATE: 1 },
  },
  {
    name: "SESSION_VERSION",
    breaks: "Exclusion",
    what: "a session's renewal accepts a version lower than the one last known",
    bounds: { DELETED: 1, LATE: 1 },
  },
  {
    name: "SESSION_STICKY",
    breaks: "LostIsFinal",
    what: "an answer after the session's deadline revives it",
  },
  {
    name: "SESSION_STICKY",
    breaks: "Exclusion",
    what: "the same, and its renewal revives an ended row",
    bounds: { DROP_SESSION_ENDED: 1, ...EXCLUSION },
    isLong: true,
  },
  {
    name: "SESSION_STICKY",
    breaks: "Exclusion",
    what: "the same, and records are taken over without ending it",
    bounds: { DROP_END: 1, LOST: 1, ...EXCLUSION },
    isLong: true,
  },
  {
    name: "SESSION_WATCH",
    breaks: "Exclusion",
    what: "the record is watched, and not its session",
    bounds: EXCLUSION,
  },
  {
    name: "ABSENCE",
    breaks: "Exclusion",
    what: "a session that is absent counts as ended",
    bounds: { DELETED: 1 },
  },
  {
    name: "STRONG_READS",
    breaks: "Exclusion",
    what: "an eventually consistent read shows that a session is absent",
    bounds: { DELETED: 1 },
  },
  {
    name: "FIRST_VERSION",
    breaks: "Exclusion",
    what: "a row seen at its first version, by any read, is watched like any other",
    bounds: { DELETED: 1, LATE: 1 },
  },
  {
    name: "END",
    breaks: "Ownership",
    what: "records are taken over without ending their session",
  },
  {
    name: "END_VERSION",
    breaks: "Exclusion",
    what: "a session is ended whatever its version",
  },
  {
    name: "END_VERSION",
    breaks: "EntryKept",
    what: "the same, with an entry of a queue",
    bounds: { ENTRIES: 1 },
  },
  {
    name: "TAKEOVER_VERSION",
    breaks: "Exclusion",
    what: "a takeover, and its watch, are by the holder alone",
    bounds: EXCLUSION,
  },
  {
    name: "TAKEOVER_SESSION",
    breaks: "Exclusion",
    what: "a takeover leaves the session's name",
    bounds: { PROCESSES: 3 },
  },
];

const QUEUE_SEARCHES = [
  {
    name: "lost and late messages, cancels, one that oversleeps, a crash",
    bounds: { PROCESSES: 2, TRIES: 2, LOST: 1, LATE: 1, CANCELS: 1, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "three processes, two late messages",
    bounds: { LOST: 1, LATE: 2, CANCELS: 2, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "three processes twice, a late message",
    bounds: { TRIES: 2, LATE: 1, CANCELS: 1 },
  },
  {
    name: "three processes twice, those that oversleep, a crash",
    bounds: { TRIES: 2, SLEEPS: 2, CRASHES: 1 },
  },
  {
    name: "three processes twice, one that is slow, a crash",
    bounds: { TRIES: 2, SLOW: 1, CRASHES: 1 },
  },
  {
    name: "three processes, two that are slow, a late message, one that oversleeps",
    bounds: { SLOW: 2, LATE: 1, CANCELS: 1, SLEEPS: 1 },
  },
  {
    name: "two places for two calls each, a late message, one that oversleeps, a crash",
    bounds: { SHARED: 2, LATE: 1, CANCELS: 1, SLEEPS: 1, CRASHES: 1 },
  },
];

const SHORT_QUEUE_SEARCHES = [
  ...QUEUE_SEARCHES.slice(0, 2),
  {
    name: "three processes, one that is slow, a crash",
    bounds: { SLOW: 1, CRASHES: 1 },
  },
  {
    name: "a place for two calls, one that oversleeps",
    bounds: { SHARED: 1, CANCELS: 1, SLEEPS: 1 },
  },
];

const QUEUE_MUTANTS = [
  {
    name: "RECORD",
    breaks: "Exclusion",
    what: "the first waiter of the queue counts as the holder, despite another holder in the record",
  },
  {
    name: "SERVED",
    breaks: "ServedOrder",
    what: "a grant by a ticket does not ask for `served`",
    bounds: { TRIES: 2, LATE: 1, CANCELS: 1 },
  },
  {
    name: "ANCHOR",
    breaks: "ServedOrder",
    what: "nor does one that comes late, whatever the record was used for since",
    bounds: { LATE: 1, CANCELS: 1 },
  },
  {
    name: "FAST",
    breaks: "NoBarging",
    what: "a process that finds the record free claims it, despite a queue",
  },
  { name: "LOOK", breaks: "FirstCome", what: "a waiter claims without a look at those before it" },
  {
    name: "LOOK_AGAIN",
    breaks: "FirstCome",
    what: "refused, it claims again without another look",
    bounds: { TRIES: 2 },
  },
  {
    name: "LEFT",
    breaks: "FirstCome",
    what: "a waiter passes all that are before it, once one of them is slow",
    bounds: { SLOW: 1 },
  },
  {
    name: "HAND_MINE",
    breaks: "ServedOrder",
    what: "a process that lost the lock hands it off to its next call, without a condition",
    bounds: { SHARED: 1, SLEEPS: 1 },
  },
  {
    name: "SKIP",
    breaks: "FirstCome",
    what: "a release marks the tickets of other processes as granted, too",
    bounds: { SHARED: 1 },
  },
  { name: "WATCH", breaks: "PlaceKept", what: "a waiter removes the entry before its own" },
  {
    name: "REJOIN",
    breaks: "NobodyStuck",
    what: "a waiter that was passed over waits on",
    bounds: { SLEEPS: 1 },
  },
  {
    name: "LEAVE",
    breaks: "NothingLeft",
    what: "a waiter that gives up keeps its place",
    bounds: { CANCELS: 1 },
  },
];

const SEVERAL_SEARCHES = [
  {
    name: "two that want both, twice, a late copy",
    bounds: { TRIES: 2, LATE: 1, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "two that want both, one that wants one, two late copies",
    bounds: { PROCESSES: 3, FIRST_ALONE: 1, LATE: 2, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "one that wants both, two that want one each, twice",
    bounds: { PROCESSES: 3, FIRST_ALONE: 1, SECOND_ALONE: 1, TRIES: 2, LATE: 1, SLEEPS: 1 },
  },
  { name: "three that want both, two late copies", bounds: { PROCESSES: 3, LATE: 2 } },
  {
    name: "a lock and a semaphore, twice, late copies",
    bounds: { SECOND_ROOM: 2, TRIES: 2, LATE: 2, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "a lock and a semaphore, one that wants a permit alone",
    bounds: { PROCESSES: 3, SECOND_ROOM: 2, SECOND_ALONE: 1, LATE: 2, SLEEPS: 1, CRASHES: 1 },
  },
  {
    name: "two semaphores, three that want both",
    bounds: { PROCESSES: 3, FIRST_ROOM: 2, SECOND_ROOM: 2, LATE: 2, SLEEPS: 1, CRASHES: 1 },
  },
];

const SEVERAL_MUTANTS = [
  {
    name: "ONE_NUMBER",
    breaks: "NoDeadlock",
    what: "a number of its own in each queue, one after the other",
  },
  {
    name: "STEPWISE",
    breaks: "AllOrNothing",
    what: "a lock is taken while another is waited for",
    bounds: { PROCESSES: 3, FIRST_ALONE: 1, TRIES: 2 },
  },
  {
    name: "TAIL",
    breaks: "OneNumber",
    what: "an entry does not ask that its number is above all that were given out",
    bounds: { LATE: 1 },
  },
  {
    name: "WHOLE",
    breaks: "ServedOrder",
    what: "a transaction of which one part is refused takes effect",
    bounds: { LATE: 1, FIRST_ALONE: 1 },
  },
  {
    name: "ANCHOR",
    breaks: "ServedOrder",
    what: "a grant of several has no condition",
    bounds: { LATE: 1, FIRST_ALONE: 1 },
  },
  {
    name: "ROOM",
    breaks: "Room",
    what: "the grant of a permit among several does not ask for room",
    bounds: { PROCESSES: 3, FIRST_ROOM: 2, SECOND_ROOM: 2 },
  },
  {
    name: "MARK",
    breaks: "NoLeak",
    what: "an attempt at several that is withdrawn leaves no mark",
    bounds: { FIRST_ROOM: 2, SECOND_ROOM: 2, LATE: 1 },
  },
];

const INTERRUPTING_SEARCHES = [
  { name: "two calls each, beside a plain one", bounds: { CALLS: 2 } },
  { name: "three askers, crashes", bounds: { PROCESSES: 3, ASKERS: 3, CRASHES: 1, SLEEPS: 1 } },
  { name: "lost requests and answers", bounds: { LOST: 2, CRASHES: 1 } },
  { name: "copies of requests", bounds: { LATE: 2, LOST: 1, SLEEPS: 1 } },
];

const INTERRUPTING_MUTANTS = [
  {
    name: "CLAIM",
    breaks: "NewestFirst",
    what: "a claim does not require that no later caller has a number",
    bounds: { ASKERS: 3 },
  },
  {
    name: "FREE",
    breaks: "NewestFirst",
    what: "a caller that finds the lock free takes no number",
    bounds: { ASKERS: 3 },
  },
  {
    name: "LOST",
    breaks: "NewestFirst",
    what: "a caller whose request was not answered takes a new number above a later one",
    bounds: { ASKERS: 3, LOST: 1 },
  },
  {
    name: "SAME",
    breaks: "NewestFirst",
    what: "a late copy of a request sets an earlier number of its caller",
    bounds: { LATE: 1 },
  },
  {
    name: "ADDRESS",
    breaks: "Addressed",
    what: "a holder obeys a request to an earlier holder",
    bounds: {},
  },
  {
    name: "STOP",
    breaks: "Stopped",
    what: "an interrupted holder renews its lease",
    bounds: {},
  },
];

const COALESCED_SEARCHES = [
  { name: "crashes, beliefs that end early", bounds: { CRASHES: 1, SLEEPS: 1 } },
  { name: "lost answers, copies of writes", bounds: { LOST: 1, LATE: 1, SLEEPS: 1 } },
  { name: "two copies of writes, crashes", bounds: { LATE: 2, CRASHES: 1 } },
  { name: "three processes, crashes", bounds: { PROCESSES: 3, CALLS: 1, CRASHES: 2, SLEEPS: 1 } },
  { name: "three calls each", bounds: { CALLS: 3, CRASHES: 1, LOST: 1 } },
];

const SHORT_COALESCED_SEARCHES = [
  { name: "crashes, beliefs that end early", bounds: { CRASHES: 1, SLEEPS: 1 } },
  { name: "lost answers, copies of writes", bounds: { LOST: 1, LATE: 1 } },
  { name: "two copies of writes", bounds: { LATE: 2 } },
  { name: "three processes, crashes", bounds: { PROCESSES: 3, CALLS: 1, CRASHES: 1, SLEEPS: 1 } },
  { name: "three calls each", bounds: { CALLS: 3, CRASHES: 1, LOST: 1 } },
];

const COALESCED_MUTANTS = [
  {
    name: "CHECK",
    breaks: "Followed",
    what: "a release does not require the count of its grant",
    bounds: { CRASHES: 1 },
  },
  {
    name: "COVERED",
    breaks: "Followed",
    what: "a release covers the calls that it finds, and requires nothing",
    bounds: { CRASHES: 1 },
  },
  {
    name: "WATCH",
    breaks: "Followed",
    what: "a process whose call is noted does not watch",
    bounds: { CRASHES: 1 },
  },
  {
    name: "GRANT",
    breaks: "Exclusion",
    what: "a further run uses the lease of the run before",
    bounds: { SLEEPS: 1 },
  },
  {
    name: "COMPLETED",
    breaks: "Followed",
    what: "a further grant covers the noted call before its run",
    bounds: { CRASHES: 1 },
  },
];

const KEEP_SEARCHES = [
  {
    name: "two processes, copies of releases, beliefs that end early",
    bounds: { LATE: 1, SLEEPS: 1 },
  },
  { name: "three processes", bounds: { PROCESSES: 3, USES: 2, LATE: 1, SLEEPS: 1 } },
];

const KEEP_MUTANTS = [
  {
    name: "DEADLINE",
    breaks: "Exclusion",
    what: "a use begins without a reading of the clocks",
    bounds: { SLEEPS: 1 },
  },
  { name: "BLOCK", breaks: "FenceGrows", what: "the uses go on after the last reserved fence" },
  { name: "NEXT", breaks: "FenceGrows", what: "two uses have one fence" },
  {
    name: "RESERVE",
    breaks: "FenceGrows",
    what: "a claim reserves fewer fences than its uses have",
  },
  {
    name: "FENCE",
    breaks: "Exclusion",
    what: "a release is conditional on the holder without the fence",
    bounds: { LATE: 1 },
  },
  { name: "GIVE_BACK", breaks: "NobodyStuck", what: "a process never gives the lease back" },
];

const RINGS_SEARCHES = [
  {
    name: "forged rings, waiters that give up, beliefs that end early",
    bounds: { FORGED: 2, CANCELS: 1, SLEEPS: 1 },
  },
];

const RINGS_MUTANTS = [
  { name: "GRANT", breaks: "Exclusion", what: "a ring counts as a grant", bounds: { FORGED: 1 } },
  {
    name: "END",
    breaks: "Exclusion",
    what: "a ring counts as the end of the holder",
    bounds: { FORGED: 1 },
  },
  {
    name: "TURN",
    breaks: "FirstCome",
    what: "a claim after a ring does not require the ticket before",
    bounds: { FORGED: 1 },
  },
  { name: "POLL", breaks: "NobodyStuck", what: "a waiter that will be rung does not poll" },
  {
    name: "MOST",
    breaks: "Bounded",
    what: "a waiter follows every ring",
    bounds: { FORGED: 3 },
  },
];

const FIRST_SIGHT_SEARCHES = [
  { name: "renewals that take effect again", bounds: { LATE: 1 } },
  { name: "lost answers", bounds: { LOST: 1, RENEWALS: 2, HORIZON: 9 } },
  { name: "a bound of two ticks", bounds: { BOUND: 2, HORIZON: 10 } },
  { name: "no renewals, for much longer", bounds: { RENEWALS: 0, HORIZON: 24 } },
  { name: "one wrong date", bounds: { STRAY: 1, HORIZON: 8 } },
  { name: "two wrong dates, no renewals", bounds: { STRAY: 2, RENEWALS: 0, HORIZON: 12 } },
  { name: "equal clocks, for longer", bounds: { RENEWALS: 0, DIFFER: 0, BOUND: 0, HORIZON: 13 } },
];

// Without the two searches with the most states.
const SHORT_FIRST_SIGHT_SEARCHES = FIRST_SIGHT_SEARCHES.filter(
  ({ name }) => !["lost answers", "no renewals, for much longer"].includes(name),
);

const FIRST_SIGHT_MUTANTS = [
  {
    name: "OLDER_END",
    breaks: "Forward",
    what: "an older renewal that takes effect late moves the end back",
    bounds: { RENEWALS: 2, LOST: 1, DIFFER: 0, BOUND: 0, HORIZON: 8, GRANTS: 2 },
  },
  {
    name: "BOUND",
    breaks: "Exclusion",
    what: "the reader allows for no difference of the servers",
  },
  {
    name: "DATE",
    breaks: "Exclusion",
    what: "the reader takes its wall clock in place of the answer's `Date`",
  },
  {
    name: "ROUNDING",
    breaks: "Exclusion",
    what: "the holder takes the `Date` for the exact time",
    bounds: { BOUND: 2 },
  },
  {
    name: "CHECK",
    breaks: "Exclusion",
    what: "a first grant counts before its `Date` was checked",
  },
  {
    name: "LIMIT",
    breaks: "Exclusion",
    what: "the deadline ignores an end that is too early",
    bounds: { WRONG: 4, BOUND: 2 },
  },
  {
    name: "AHEAD",
    breaks: "Prompt",
    what: "a first grant may keep an end far ahead",
    bounds: { RENEWALS: 0, DIFFER: 0, BOUND: 0, HORIZON: 13 },
  },
  { name: "VERSION", breaks: "Exclusion", what: "a takeover does not name the version" },
  {
    name: "ANSWER",
    breaks: "Exclusion",
    what: "the deadline of a renewal counts from its answer",
    bounds: { HORIZON: 9 },
  },
  {
    name: "SECOND",
    breaks: "Exclusion",
    what: "a reader takes over by a single `Date`",
    bounds: { STRAY: 1 },
  },
  {
    name: "ASSUMPTION",
    breaks: "Exclusion",
    what: "the servers differ by more than the bound",
    bounds: { DIFFER: 6, HORIZON: 9 },
  },
];

const PERMITS_SEARCHES = [
  { name: "requests sent twice, a lower limit, guarded writes", bounds: {} },
  { name: "requests sent three times", bounds: { COPIES: 3, LIMITS: 0, GUARDS: 0 } },
];

const SHORT_PERMITS_SEARCHES = [
  { name: "requests sent twice", bounds: { LIMITS: 0, GUARDS: 0 } },
  { name: "a lower limit, guarded writes", bounds: { COPIES: 1 } },
];

const PERMITS_MUTANTS = [
  { name: "USED", breaks: "Exclusion", what: "a grant ignores what the permits weigh" },
  { name: "LIMIT", breaks: "Exclusion", what: "a grant goes by the limit that its caller knows" },
  {
    name: "ABSENT",
    breaks: "Counted",
    what: "a request that takes effect again adds its weight again",
  },
  { name: "MARK", breaks: "NoLeak", what: "a withdrawn attempt leaves no mark" },
  {
    name: "MARK_AFTER_RELEASE",
    breaks: "NoLeak",
    what: "the release of a permit whose request was sent twice leaves no mark",
    bounds: { LIMITS: 0, GUARDS: 0 },
  },
  { name: "WITHDRAWAL", breaks: "NoLeak", what: "a client forgets an attempt that it gives up" },
  { name: "CONDITION", breaks: "Guarded", what: "a guarded write does not require its permit" },
  {
    name: "ORDER",
    breaks: "Exclusion",
    what: "a holder acts on after it has given its permit back",
  },
  {
    name: "ENDING",
    breaks: "Exclusion",
    what: "a rival removes a permit whose session goes on",
    bounds: { LIMITS: 0, GUARDS: 0 },
  },
  {
    name: "EXACT",
    breaks: "Counted",
    what: "a removal does not require the permit",
    isLong: true,
  },
  { name: "WEIGHT", breaks: "Counted", what: "a rival subtracts its own weight" },
  {
    name: "STOPPED",
    breaks: "Exclusion",
    what: "the session of a live process is ended",
    bounds: { LIMITS: 0, GUARDS: 0 },
  },
];

const THREADS_SEARCHES = [
  { name: "two threads, two late requests", bounds: { THREADS: 2, LATE: 2 } },
  {
    name: "two threads, late stamps, a deletion",
    bounds: { THREADS: 2, LATE_STAMPS: 1, HAND: 1 },
  },
  { name: "longer leases, late stamps", bounds: { LEASE: 5, MAY_BLOCK: 6, LATE_STAMPS: 1 } },
];

const SHORT_THREADS_SEARCHES = [
  { name: "two threads", bounds: { THREADS: 2 } },
  { name: "late stamps, a deletion", bounds: { LATE_STAMPS: 1, HAND: 1 } },
];

const THREADS_MUTANTS = [
  { name: "BOUND", breaks: "Bounded", what: "a thread renews whatever the age of the stamp" },
  { name: "STAMP", breaks: "Bounded", what: "a timer of the thread writes the stamp" },
  { name: "CLOSE", breaks: "Silent", what: "a thread renews after the end of its phase" },
  {
    name: "CHECK",
    breaks: "Silent",
    what: "a thread checks the phase and the stamp before it decides to renew, and not before it sends",
  },
  { name: "OPEN", breaks: "Silent", what: "the main thread opens a phase that has ended" },
  {
    name: "END_PHASE",
    breaks: "Silent",
    what: "the main thread closes, or renews again, without an end of the phase",
  },
  { name: "CACHE", breaks: "Kept", what: "the main thread answers from a copy of the deadline" },
  {
    name: "PHASE",
    breaks: "LostIsFinal",
    what: "the main thread does not read the phase",
    bounds: { HAND: 1 },
  },
  { name: "STICKY", breaks: "LostIsFinal", what: "an answer of the thread revives a lost lease" },
  {
    name: "HANDOVER",
    breaks: "Exclusion",
    what: "the first shared deadline counts from the handover",
  },
  {
    name: "TAKE_BACK",
    breaks: "Exclusion",
    what: "the main thread's deadline counts anew when it takes the renewals back",
  },
  { name: "ANSWER", breaks: "Exclusion", what: "the thread's deadline counts from the answer" },
  {
    name: "ORDER",
    breaks: "Exclusion",
    what: "the main thread frees the row before it stops acting",
  },
];

const SCHEDULED_SEARCHES = [
  { name: "crashes, beliefs that end early", bounds: { CRASHES: 1, SLEEPS: 1 } },
  { name: "lost grants, crashes", bounds: { LOST: 2, CRASHES: 1 } },
  { name: "lost grants, beliefs that end early", bounds: { LOST: 1, SLEEPS: 2 } },
  { name: "three processes", bounds: { PROCESSES: 3, LOST: 1, CRASHES: 1, SLEEPS: 1 } },
  { name: "no retries", bounds: { RETRIES: 0, LOST: 1, CRASHES: 1, SLEEPS: 1 } },
  { name: "three retries", bounds: { RETRIES: 3, LOST: 1, CRASHES: 1, SLEEPS: 1 } },
];

const SCHEDULED_MUTANTS = [
  {
    name: "EXACT",
    breaks: "BegunOnce",
    what: "a grant requires an open record, and not the one that it was decided on",
    bounds: NOTHING,
  },
  {
    name: "BEGUN",
    breaks: "BegunOnce",
    what: "a grant does not write its attempt",
    bounds: { CRASHES: 1 },
  },
  {
    name: "MEMORY",
    breaks: "BegunOnce",
    what: "a takeover continues the memory of an earlier look",
    bounds: { CRASHES: 1 },
  },
  {
    name: "SPENT",
    breaks: "BegunOnce",
    what: "a run without an end is repeated as the same attempt",
    bounds: { CRASHES: 1 },
  },
  {
    name: "UNDONE",
    breaks: "BegunOnce",
    what: "a dead run that an undone takeover has freed counts as never begun",
    bounds: { LOST: 1, CRASHES: 1 },
  },
  {
    name: "BOUND",
    breaks: "BegunOnce",
    what: "an interrupted run is repeated without a bound",
    bounds: { CRASHES: 1, RETRIES: 0 },
  },
  {
    name: "END",
    breaks: "BegunOnce",
    what: "the release does not write the end",
    bounds: NOTHING,
  },
  {
    name: "GAVE_UP",
    breaks: "BegunOnce",
    what: "a run whose end was lost counts, in its own process, as a claim that was given up",
    bounds: { LOST: 1 },
  },
  {
    name: "OWN",
    breaks: "Final",
    what: "the end of a lost run is written without a condition",
    bounds: { SLEEPS: 1 },
  },
];

/** The models of verification/model, each with its searches and mutants; also used by the test of their page. */
export const MODELS = [
  {
    name: "lease",
    searches: LEASE_SEARCHES,
    shortSearches: SHORT_LEASE_SEARCHES,
    mutants: LEASE_MUTANTS,
  },
  {
    name: "session",
    searches: SESSION_SEARCHES,
    shortSearches: SHORT_SESSION_SEARCHES,
    mutants: SESSION_MUTANTS,
  },
  {
    name: "queue",
    searches: QUEUE_SEARCHES,
    shortSearches: SHORT_QUEUE_SEARCHES,
    mutants: QUEUE_MUTANTS,
  },
  {
    name: "several",
    searches: SEVERAL_SEARCHES,
    shortSearches: SEVERAL_SEARCHES,
    mutants: SEVERAL_MUTANTS,
  },
  {
    name: "interrupting",
    searches: INTERRUPTING_SEARCHES,
    shortSearches: INTERRUPTING_SEARCHES,
    mutants: INTERRUPTING_MUTANTS,
  },
  {
    name: "coalesced",
    searches: COALESCED_SEARCHES,
    shortSearches: SHORT_COALESCED_SEARCHES,
    mutants: COALESCED_MUTANTS,
  },
  {
    name: "scheduled",
    searches: SCHEDULED_SEARCHES,
    shortSearches: SCHEDULED_SEARCHES,
    mutants: SCHEDULED_MUTANTS,
  },
  {
    name: "first-sight",
    searches: FIRST_SIGHT_SEARCHES,
    shortSearches: SHORT_FIRST_SIGHT_SEARCHES,
    mutants: FIRST_SIGHT_MUTANTS,
  },
  {
    name: "permits",
    searches: PERMITS_SEARCHES,
    shortSearches: SHORT_PERMITS_SEARCHES,
    mutants: PERMITS_MUTANTS,
  },
  {
    name: "threads",
    searches: THREADS_SEARCHES,
    shortSearches: SHORT_THREADS_SEARCHES,
    mutants: THREADS_MUTANTS,
  },
  { name: "keep", searches: KEEP_SEARCHES, shortSearches: KEEP_SEARCHES, mutants: KEEP_MUTANTS },
  {
    name: "rings",
    searches: RINGS_SEARCHES,
    shortSearches: RINGS_SEARCHES,
    mutants: RINGS_MUTANTS,
  },
];

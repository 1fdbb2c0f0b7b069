// The tables of the documents, each made of one case's figures.

const count = (value) => (value === undefined || value === null ? "–" : value.toLocaleString("en"));
const range = (found, digits) =>
  found === undefined || found === null
    ? "–"
    : found.min === found.max
      ? fixed(found.median, digits)
      : [found.min, found.median, found.max].map((value) => fixed(value, digits)).join(" / ");
const fixed = (value, digits) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const middle = (found, digits) => (found ? fixed(found.median, digits) : "–");
const interval = (found) =>
  found === undefined
    ? "–"
    : `${found.median.toFixed(2)} [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]`;

function table(heads, rows) {
  return [heads, heads.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Columns by title; each cell from its row. */
function columns(rows, cells) {
  return table(
    Object.keys(cells),
    rows.map((row) => Object.values(cells).map((cell) => cell(row))),
  );
}

const own = (row) => (row.subject.startsWith("holdfast") ? `**${row.subject}**` : row.subject);

const KEPT_BY = { holdfast: "a lease each", "holdfast-session": "a session" };

// What a run makes that is told nothing else.
const REPETITIONS = 3;

/** Where the figures come from, and what they are worth. */
function origin({ case: name, date, machine, isQuick, repetitions = REPETITIONS }) {
  const busy =
    machine.foreignCores >= 0.1
      ? `; other programs took ${machine.foreignCores} cores meanwhile, so that its times are worth little`
      : "";
  const short = isQuick ? " -- --quick" : "";
  const fewer = isQuick || repetitions === REPETITIONS ? "" : ` --repetitions ${repetitions}`;
  return `\n\n\`npm run bench${short || " --"} --case ${name}${fewer}\`, ${date}, Node.js ${machine.node.slice(1)}, ${machine.cores} cores, ${machine.seconds} s${busy}.`;
}

const units = ({ writeUnits, readUnits }) => writeUnits + readUnits;
const unitsAThousand = ({ found, readUnits }) =>
  found === 0 ? "–" : fixed((1_000 * readUnits) / found, 1);

function remembered({ names: [few, many], kbAName }) {
  return `\n\nHeap of a client for each further name that it has used, from ${count(few)} to ${count(many)} names: ${kbAName.toFixed(2)} KB.`;
}

const cost = (found) =>
  found === undefined
    ? "–"
    : `${count(found.requests)}: ${Object.entries(found.operations)
        .map(([operation, times]) => (times === 1 ? operation : `${times} ${operation}`))
        .join(", ")}`;

const cycleUnits = ({ acquireAgain: one, release: other }) =>
  count(one.writeUnits + one.readUnits + other.writeUnits + other.readUnits);

/** Whom a run did without, and why. */
const without = ({ settings: { leftOut } }) =>
  Object.entries(leftOut)
    .map(([subject, why]) => `\n\nLeft out: ${subject}. ${why}`)
    .join("");

export const TABLES = {
  steps: (found) =>
    columns(found.rows, {
      client: own,
      "acquire, new name": ({ acquire }) => cost(acquire),
      release: ({ release }) => cost(release),
      "acquire again": ({ acquireAgain }) => cost(acquireAgain),
      "try a held lock": ({ tryHeld }) => cost(tryHeld),
      "units of acquire and release": cycleUnits,
    }) + origin(found),

  free: (found) =>
    columns(found.rows, {
      client: own,
      "acquire and release, ms": ({ cycleMs }) => range(cycleMs, 2),
      "times raw-sdk3 [95 %]": ({ toRawSdk3 }) => interval(toRawSdk3),
      "times raw-same [95 %]": ({ toRawSame }) => interval(toRawSame),
      "CPU, µs": ({ cpuUs }) => middle(cpuUs, 0),
    }) + origin(found),

  many: (found) =>
    columns(found.rows, {
      client: own,
      "cycles a second": ({ cyclesPerS }) => range(cyclesPerS, 0),
      "times raw-sdk3 [95 %]": ({ toRawSdk3 }) => interval(toRawSdk3),
      "times raw-same [95 %]": ({ toRawSame }) => interval(toRawSame),
      "CPU a cycle, µs": ({ cpuUs }) => middle(cpuUs, 0),
    }) + origin(found),

  try: (found) =>
    columns(found.rows, {
      client: own,
      "a refused try, ms": ({ tryMs }) => range(tryMs, 2),
      "times raw-sdk3 [95 %]": ({ toRawSdk3 }) => interval(toRawSdk3),
    }) + origin(found),

  foreign: (found) =>
    columns(found.rows, {
      client: own,
      "acquire, new name": ({ acquire }) => cost(acquire),
      release: ({ release }) => cost(release),
      "acquire again": ({ acquireAgain }) => cost(acquireAgain),
      "units of acquire and release": cycleUnits,
      "acquire and release, ms": ({ cycleMs }) => range(cycleMs, 2),
      "times holdfast [95 %]": ({ toHoldfast }) => interval(toHoldfast),
    }) +
    without(found) +
    origin(found),

  handover: (found) =>
    columns(found.rows, {
      client: own,
      poll: ({ poll }) => poll,
      "within a process, ms": ({ withinMs }) => range(withinMs, 1),
      "across processes, ms": ({ acrossMs }) => range(acrossMs, 0),
      "requests a second of waiting": ({ requestsASecond }) => count(requestsASecond),
      "read / write units a second": ({ readUnitsASecond, writeUnitsASecond }) =>
        readUnitsASecond === undefined ? "–" : `${readUnitsASecond} / ${writeUnitsASecond}`,
    }) + origin(found),

  contenders: (found) =>
    columns(found.rows, {
      contenders: ({ contenders, processes }) =>
        processes === 1 ? count(contenders) : `${contenders} in ${processes} processes`,
      client: own,
      poll: ({ poll }) => poll,
      "requests a grant": ({ requestsAGrant }) => range(requestsAGrant, 1),
      "ms a grant": ({ msAGrant }) => range(msAGrant, 0),
      "pairs out of order": ({ outOfOrder }) => outOfOrder.toFixed(2),
      "longest wait, ms": ({ longestWaitMs }) => count(longestWaitMs),
      "releases failed": ({ failedReleases = 0 }) => count(failedReleases),
    }) + origin(found),

  takeover: (found) =>
    columns(found.rows, {
      client: own,
      "killed to next holder, ms": ({ takeoverMs }) => range(takeoverMs, 0),
    }) + origin(found),

  held: (found) =>
    columns(found.rows, {
      locks: ({ locks }) => count(locks),
      client: own,
      "period, s": ({ periodS }) => count(periodS),
      "requests a period": ({ requestsAPeriod }) => count(requestsAPeriod),
      "CPU, share of a core": ({ cores }) => cores.toFixed(3),
      "heap a lock, KB": ({ locks, heapKbALock }) => (locks < 1_000 ? "–" : heapKbALock.toFixed(1)),
      "event loop late by up to, ms": ({ lateMs }) => lateMs.toFixed(0),
      "an idle process beside it": ({ idleLateMs }) => idleLateMs.toFixed(0),
    }) + origin(found),

  sessions: (found) =>
    columns(
      found.rows.filter(({ subject, locks }) => subject in KEPT_BY && locks >= 1_000),
      {
        locks: ({ locks }) => count(locks),
        "kept by": ({ subject }) => KEPT_BY[subject],
        "period, s": ({ periodS }) => count(periodS),
        "requests a period": ({ requestsAPeriod }) => count(requestsAPeriod),
        "CPU a period, ms": ({ cpuMsAPeriod }) => count(cpuMsAPeriod),
        "event loop late by up to, ms": ({ lateMs }) => lateMs.toFixed(0),
        "an idle process beside it": ({ idleLateMs }) => idleLateMs.toFixed(0),
      },
    ) + origin(found),

  queue: (found) =>
    columns(found.rows, {
      "waiting processes": ({ waiters }) => count(waiters),
      lock: ({ kind }) => kind,
      "requests a waiter and minute": ({ requestsAWaiterMinute }) => count(requestsAWaiterMinute),
      "read units": ({ readUnitsAWaiterMinute }) => count(readUnitsAWaiterMinute),
      "write units": ({ writeUnitsAWaiterMinute }) => count(writeUnitsAWaiterMinute),
      "requests a grant": ({ requestsAGrantAlone }) => count(requestsAGrantAlone),
      "s a grant": ({ secondsAGrant }) => secondsAGrant.toFixed(2),
      "in order": ({ inOrder }) => (inOrder ? "yes" : "no"),
    }) + origin(found),

  election: (found) =>
    columns(found.rows, {
      "what is measured": ({ step }) => step,
      runs: ({ found: { n } }) => count(n),
      "least / median / most": ({ found: one }) => range(one, 0),
      bound: ({ bound }) => bound,
      broken: ({ broken }) => count(broken),
    }) + origin(found),

  objects: (found) =>
    columns(found.rows, {
      strategy: ({ strategy }) => `\`${strategy}\``,
      "requests to the store": ({ storeRequests }) => count(storeRequests),
      "requests to the table": ({ tableRequests }) => count(tableRequests),
      "median, ms": ({ putMs }) => putMs.toFixed(2),
    }) + origin(found),

  age: (found) =>
    columns(found.rows, {
      "old records": ({ records }) => count(records),
      "acquire and release, a new name: requests / units": ({ newName }) =>
        `${count(newName.requests)} / ${count(units(newName))}`,
      "an old name": ({ oldName }) =>
        oldName === undefined ? "–" : `${count(oldName.requests)} / ${count(units(oldName))}`,
      "a new name, ms": ({ cycleMs }) => range(cycleMs, 2),
      "times an empty table [95 %]": ({ records, cycleToEmpty }) =>
        records === 0 ? "–" : interval(cycleToEmpty),
      "`inspect()`: requests / units": ({ inspection }) =>
        `${count(inspection.requests)} / ${count(units(inspection))}`,
      "ms of it": ({ inspectMs }) => middle(inspectMs, 2),
      "`list()`: requests / units": ({ listing }) =>
        `${count(listing.requests)} / ${count(listing.readUnits)}`,
      "units for 1,000 records": ({ listing }) => unitsAThousand(listing),
      "its time, ms": ({ listMs }) => middle(listMs, 0),
      "the client's CPU, ms": ({ listCpuMs }) => middle(listCpuMs, 0),
    }) +
    remembered(found.memory) +
    origin(found),

  faults: (found) =>
    columns(found.rows, {
      client: own,
      "answer of the acquiring write lost: wait, ms": ({ lostGrantMs, lostGrantNever }) =>
        lostGrantMs === null || lostGrantMs === undefined
          ? `never (${lostGrantNever})`
          : range(lostGrantMs, 0),
      "one renewal's answer lost: lock lost": ({ lostRenewalLoses, runs }) =>
        `${lostRenewalLoses} of ${runs}`,
      "paused past its lease: acts after, by event": ({ pausedActsByEvent }) =>
        range(pausedActsByEvent, 0),
      "by its own check": ({ pausedActsByCheck }) =>
        pausedActsByCheck ? range(pausedActsByCheck, 0) : "no check",
      "record deleted: unnoticed, ms": ({ deletedUnnoticedMs }) => range(deletedUnnoticedMs, 0),
    }) + origin(found),
};

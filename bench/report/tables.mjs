// The tables of the documents, made of the figures in bench/results. A table shows what a reader compares, mostly the
// medians; least, most and intervals of every figure are in the results.

const count = (value) => (value === undefined || value === null ? "–" : value.toLocaleString("en"));
const fixed = (value, digits) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const middle = (found, digits) => (found ? fixed(found.median, digits) : "–");
const most = (found, digits) => (found ? fixed(found.max, digits) : "–");
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

// The default number of repetitions.
const REPETITIONS = 3;

const busy = ({ foreignCores }) =>
  foreignCores >= 0.1
    ? ` (other programs used ${foreignCores} cores meanwhile: the times are unreliable)`
    : "";

/** The runs by machine: the first and the last date, and the cases with other than the usual repetitions. */
export function runs(results) {
  const groups = new Map();
  for (const found of Object.values(results)) {
    const { machine } = found;
    const where = `Node.js ${machine.node.slice(1)}, ${machine.cores} cores`;
    groups.set(where, [...(groups.get(where) ?? []), found]);
  }
  return [...groups]
    .map(([where, of]) => {
      const dates = of.map(({ date }) => date).sort();
      const when = [...new Set([dates[0], dates.at(-1)])].join(" to ");
      return `${where}, ${when}${exceptionsOf(of).join("")}.`;
    })
    .join("\n\n");
}

function exceptionsOf(found) {
  return found.flatMap(({ case: name, isQuick, repetitions = REPETITIONS, machine }) => {
    const options = [
      ...(isQuick ? ["--quick"] : []),
      ...(isQuick || repetitions === REPETITIONS ? [] : [`--repetitions ${repetitions}`]),
    ];
    const noise = busy(machine);
    if (options.length === 0 && noise === "") return [];
    return [`; \`${[name, ...options].join(" ")}\`${noise}`];
  });
}

const cycleRequests = ({ acquireAgain, release }) => acquireAgain.requests + release.requests;

/** The subjects that a run left out, with the reasons. */
const without = ({ settings: { leftOut } }) =>
  Object.entries(leftOut)
    .map(([subject, why]) => `\n\nLeft out: ${subject}. ${why}`)
    .join("");

/** Subjects that differ little from another row: only in the results. */
const ONLY_IN_RESULTS = ["raw-http", "lean-same", "raw-http-same", "dlc-open-tlt", "dh-tlt"];
/** redlock's times stand once, beside those of etcd and ZooKeeper. */
const isOnDynamoDB = ({ subject }) => subject !== "redlock";
const isShown = ({ subject }) => !ONLY_IN_RESULTS.includes(subject);
/** The transport matters for the client's own time, not for crowds, hand-offs and faults. */
const isShownOnce = (row) => isShown(row) && row.subject !== "holdfast-lean";

const of = (found, { subject }) => found.rows.find((row) => row.subject === subject);

/** False for a client that waits as another client shown: both sleep for a lease, or poll at the same rate. */
const isRepresentative = ({ subject, poll }) =>
  subject !== "dh" && !(poll === "20 ms" && ["dlc-closed", "mutex", "verrou"].includes(subject));

/** The rows of other clients at their default poll, where they have one; Holdfast's at both polls. */
const defaultsOf = (rows) =>
  rows.filter(
    ({ subject, poll }) =>
      poll === "default" ||
      subject === "holdfast" ||
      !rows.some((row) => row.subject === subject && row.poll === "default"),
  );

/** The crowds that have a column, and the largest. */
const CROWDS = [{ title: "50 at once", contenders: 50, processes: 1 }];
const LARGEST = { contenders: 200, processes: 1 };

/** A row for each client and poll, from rows for each client, poll and crowd. */
function contenders(found) {
  const isOf = (crowd) => (row) =>
    row.contenders === crowd.contenders && row.processes === crowd.processes;
  const same = (one) => (row) => row.subject === one.subject && row.poll === one.poll;
  const at = (crowd, row) => found.rows.filter(isOf(crowd)).find(same(row));
  const failed = found.rows.reduce((sum, { failedReleases = 0 }) => sum + failedReleases, 0);
  const crowds = CROWDS.map((crowd) => [
    crowd.title,
    (row) => {
      const { requestsAGrant, msAGrant } = at(crowd, row);
      return `${middle(requestsAGrant, 1)} / ${middle(msAGrant, 0)}`;
    },
  ]);
  const rows = found.rows
    .filter(isOf(CROWDS[0]))
    .filter(isRepresentative)
    .filter((row) => isShownOnce(row) && (row.subject !== "holdfast" || row.poll === "default"));
  const shown = columns(rows, {
    client: own,
    ...Object.fromEntries(crowds),
    "out of order (50)": ({ outOfOrder }) => outOfOrder.toFixed(2),
    "longest wait, s (200)": (row) => fixed(at(LARGEST, row).longestWaitMs / 1_000, 1),
  });
  return `${shown}\n\nReleases that failed: ${failed}.`;
}

const pair = ([fair, mutex], cell) => `${cell(fair)} / ${cell(mutex)}`;

/** A row for each number of waiters, from one for each number and kind of lock. */
function queue(found) {
  const sizes = [...new Set(found.rows.map(({ waiters }) => waiters))];
  const rows = sizes.map((size) =>
    ["fair lock", "mutex"].map((kind) =>
      found.rows.find((row) => row.waiters === size && row.kind === kind),
    ),
  );
  return columns(rows, {
    "waiting processes": ([{ waiters }]) => count(waiters),
    "requests a grant": (row) => pair(row, ({ requestsAGrant }) => count(requestsAGrant)),
    "ms a grant": (row) => pair(row, ({ msAGrant }) => count(msAGrant)),
  });
}

/** The clients that a case measured, and then those that only a second one did. */
const rowsOfBoth = (one, other) => [
  ...one.rows,
  ...other.rows.filter((row) => of(one, row) === undefined),
];

const byCheck = ({ pausedActsByCheck }) => (pausedActsByCheck ? most(pausedActsByCheck, 0) : "–");

/** Milliseconds and requests of a grant. */
const crowd = (found) =>
  found === undefined ? "–" : `${middle(found.msAGrant, 0)} / ${middle(found.requestsAGrant, 1)}`;

export const TABLES = {
  free: (found, { steps }) =>
    columns(found.rows.filter(isShown).filter(isOnDynamoDB), {
      client: own,
      requests: (row) => (of(steps, row) ? count(cycleRequests(of(steps, row))) : "–"),
      "ms (times raw-sdk3)": ({ cycleMs, toRawSdk3 }) =>
        `${middle(cycleMs, 2)} (${middle(toRawSdk3, 2)})`,
      "CPU, µs": ({ cpuUs }) => middle(cpuUs, 0),
    }),

  foreign: (found) => {
    const others = found.rows.filter(({ subject }) => subject !== "holdfast");
    const times = others.map(({ subject, toHoldfast }) => `${subject} ${interval(toHoldfast)}`);
    return `A cycle as a multiple of Holdfast's [95 %]: ${times.join(", ")}.${without(found)}`;
  },

  handover: (found) =>
    columns(
      defaultsOf(found.rows.filter(isShownOnce)).filter(isRepresentative).filter(isOnDynamoDB),
      {
        client: own,
        poll: ({ poll }) => poll,
        "within a process, ms": ({ withinMs }) => middle(withinMs, 0),
        "across processes, ms": ({ acrossMs }) => middle(acrossMs, 0),
        "requests a hand-over": ({ requestsAHandover }) => requestsAHandover ?? "–",
        "read / write units a second": ({ readUnitsASecond, writeUnitsASecond }) =>
          readUnitsASecond === undefined ? "–" : `${readUnitsASecond} / ${writeUnitsASecond}`,
      },
    ),

  contenders: (found) => contenders(found),

  queue: (found) => queue(found),

  held: (found) =>
    columns(
      found.rows.filter(
        ({ locks, subject }) => locks === 1_000 && !["dh", "verrou", "redlock"].includes(subject),
      ),
      {
        client: own,
        "requests a period": ({ requestsAPeriod }) => count(requestsAPeriod),
        "CPU, share of a core": ({ cores }) => cores.toFixed(3),
        "heap a lock, KB": ({ heapKbALock }) => heapKbALock.toFixed(1),
      },
    ),

  faults: (found, { takeover }) =>
    columns(rowsOfBoth(found, takeover).filter(isShownOnce).filter(isOnDynamoDB), {
      client: own,
      "killed to next holder, ms (most)": (row) => {
        const found = of(takeover, row)?.takeoverMs;
        return found ? `${middle(found, 0)} (${most(found, 0)})` : "–";
      },
      "lost renewal: lock lost": ({ lostRenewalLoses, runs }) =>
        runs === undefined ? "–" : `${lostRenewalLoses} of ${runs}`,
      "acts after a pause, by event / check": (row) =>
        row.runs === undefined ? "–" : `${most(row.pausedActsByEvent, 0)} / ${byCheck(row)}`,
    }),

  servers: (found) =>
    columns(found.rows, {
      client: own,
      "free lock": ({ freeMs }) => middle(freeMs, 1),
      "hand-over in / between processes": ({ withinMs, acrossMs }) =>
        withinMs === undefined ? "–" : `${middle(withinMs, 0)} / ${middle(acrossMs, 0)}`,
      "ten contenders": ({ ten }) => crowd(ten),
      "fifty, in 5 processes": ({ fifty }) => crowd(fifty),
      "killed to next holder": ({ takeoverMs }) => middle(takeoverMs, 0),
      "100 idle locks": ({ idleRequestsASecond }) => fixed(idleRequestsASecond, 1),
    }),
};

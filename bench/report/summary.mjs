// The README's table: a line for each client, of several cases.

const SHOWN = [
  "holdfast",
  "holdfast-lean",
  "holdfast-session",
  "raw-sdk3",
  "dlc-open",
  "dh",
  "verrou",
  "mutex",
  "redlock",
];
const CONTENDERS = 50;
const HELD = 1_000;

const by = (found, subject, more = {}) =>
  found.rows.find(
    (row) =>
      row.subject === subject && Object.entries(more).every(([key, value]) => row[key] === value),
  );
const number = (value, digits = 0) =>
  value === undefined || value === null
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function nameOf(subject, free) {
  if (subject === "holdfast-session") return "**Holdfast**, on a session";
  if (subject === "holdfast-lean") return "**Holdfast**, `lean()`";
  if (subject === "holdfast") return "**Holdfast**";
  if (subject === "raw-sdk3") return "the AWS SDK v3 by hand";
  return free?.what.split(",")[0];
}

function lineOf(results, subject) {
  const { steps, free, contenders, held, faults } = results;
  const [cycle, one, many] = [
    by(steps, subject),
    by(free, subject),
    by(held, subject, { locks: HELD }),
  ];
  // The first way of a subject is its default one, where it takes part with several.
  const crowd = by(contenders, subject, { contenders: CONTENDERS, processes: 1 });
  const fault = by(faults, subject);
  return [
    nameOf(subject, one),
    number(cycle && cycle.acquireAgain.requests + cycle.release.requests),
    one ? `${number(one.cycleMs.median, 2)} (${number(one.toRawSdk3.median, 2)})` : "–",
    number(crowd?.requestsAGrant?.median, 1),
    number(many && (many.requestsAPeriod * 10) / many.periodS),
    number(fault?.lostGrantMs?.median),
  ];
}

export function summary(results) {
  const heads = [
    "client",
    "requests to acquire and release",
    "ms for it (times the raw SDK's)",
    `requests a grant, ${CONTENDERS} contenders`,
    `requests in 10 s for ${number(HELD)} held locks`,
    "wait after a lost answer, ms, lease 3 s",
  ];
  const lines = SHOWN.filter(
    (subject) =>
      results.held.rows.some((row) => row.subject === subject) || by(results.free, subject),
  );
  return [heads, heads.map(() => "---"), ...lines.map((subject) => lineOf(results, subject))]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

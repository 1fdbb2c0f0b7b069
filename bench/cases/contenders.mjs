// Many contenders for one name: the total cost of a grant, its latency, and the order of the grants.
import { requestsReceived } from "../lib/lock-servers.mjs";
import { round, spread } from "../lib/statistics.mjs";
import { waysOf } from "../lib/ways.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Contenders on one name, each holding it for 20 ms";

const SECTION_MS = 20;
const STAGGER_MS = 2;
const SCENES = [
  { processes: 1, each: 1 },
  { processes: 1, each: 10 },
  { processes: 1, each: 50 },
  { processes: 1, each: 200, once: true },
  { processes: 5, each: 10 },
];

/** The share of pairs served out of order of arrival: 0 in order, 0.5 by chance. */
function outOfOrder(turns) {
  const byArrival = [...turns].sort((a, b) => a.askedMs - b.askedMs);
  let [pairs, wrong] = [0, 0];
  for (let one = 0; one < byArrival.length; one += 1) {
    for (let other = one + 1; other < byArrival.length; other += 1) {
      pairs += 1;
      if (byArrival[one].gotMs > byArrival[other].gotMs) wrong += 1;
    }
  }
  return pairs === 0 ? 0 : wrong / pairs;
}

/** Lets contenders take turns, and returns what a grant costs and how long it takes. */
export async function play({ servers }, { subject, options }, { processes, each }, name) {
  const isOther = subject.server !== undefined;
  const workers = [];
  try {
    for (let at = 0; at < processes; at += 1) {
      workers.push(await Worker.start(subject, servers, options, { meter: !isOther }));
    }
    await workers[0].do("take", { name: `${name}-before` });
    const before = isOther ? await requestsReceived(subject.server, servers) : 0;
    if (!isOther) await Promise.all(workers.map((worker) => worker.do("counts")));
    const asked = { name, count: each, sectionMs: SECTION_MS, staggerMs: STAGGER_MS * processes };
    const told = await Promise.all(workers.map((worker) => worker.do("contend", asked)));
    const turns = told.flatMap((one) => one.turns);
    const sent = isOther ? [] : await Promise.all(workers.map((worker) => worker.do("counts")));
    const sum = (key) => sent.reduce((all, one) => all + one[key], 0);
    const elapsedMs =
      Math.max(...turns.map(({ calledMs }) => calledMs)) -
      Math.min(...turns.map(({ askedMs }) => askedMs));
    return {
      requests:
        (isOther ? (await requestsReceived(subject.server, servers)) - before : sum("requests")) /
        turns.length,
      writeUnits: isOther ? undefined : sum("writeUnits") / turns.length,
      readUnits: isOther ? undefined : sum("readUnits") / turns.length,
      msAGrant: elapsedMs / turns.length,
      outOfOrder: outOfOrder(turns),
      failedReleases: turns.filter(({ isReleased }) => !isReleased).length,
      longestWaitMs: Math.max(...turns.map(({ askedMs, gotMs }) => gotMs - askedMs)),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
  }
}

export async function run(context) {
  // A client that sleeps a lease between two polls would take minutes, without new insight.
  const subjects = context.subjects("wait").filter(({ waitsALease }) => !waitsALease);
  const ways = waysOf(subjects).filter(
    ({ subject, kind }) => kind === "shortMs" || subject.label.startsWith("holdfast"),
  );
  const rows = [];
  for (const [at, scene] of SCENES.entries()) {
    const played = new Map(ways.map((way) => [way, []]));
    const repetitions = scene.once ? 1 : Math.min(2, context.repetitions);
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      for (const way of ways) {
        const name = `contenders-${at}-${repetition}-${way.subject.label}-${way.kind}`;
        played.get(way).push(await play(context, way, scene, name));
      }
    }
    for (const [{ subject, poll }, runs] of played) {
      const figures = (key) => runs.map((one) => one[key]).filter((value) => value !== undefined);
      rows.push({
        contenders: scene.processes * scene.each,
        processes: scene.processes,
        subject: subject.label,
        what: subject.what,
        poll,
        requestsAGrant: spread(figures("requests"), 1),
        writeUnitsAGrant: spread(figures("writeUnits"), 1),
        readUnitsAGrant: spread(figures("readUnits"), 1),
        msAGrant: spread(figures("msAGrant"), 1),
        outOfOrder: round(Math.max(...figures("outOfOrder")), 2),
        failedReleases: figures("failedReleases").reduce((sum, one) => sum + one, 0),
        longestWaitMs: round(Math.max(...figures("longestWaitMs")), 0),
      });
    }
  }
  return { settings: { sectionMs: SECTION_MS, staggerMs: STAGGER_MS }, rows };
}

/** A release that failed without a disturbance. */
export function isRight({ rows }) {
  return rows
    .filter(({ subject, failedReleases }) => subject.startsWith("holdfast") && failedReleases > 0)
    .map(({ subject, failedReleases }) => `${subject}: ${failedReleases} releases failed`);
}

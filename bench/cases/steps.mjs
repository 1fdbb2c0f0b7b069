// The requests and units of each step, counted in the process. There are no times, so a run may fail by these
// figures.
import { Worker } from "../lib/workers.mjs";

export const title = "Requests and units of each step";
export const isQuick = true;

const STEPS = ["acquire", "release", "acquireAgain", "tryHeld"];

/** Holdfast's promise: one write of one unit for each step, and no read. */
export const PROMISED = { requests: 1, writeUnits: 1, readUnits: 0 };

async function counted(worker, step, asked) {
  await worker.do("counts");
  await worker.do(step, asked);
  return worker.do("counts");
}

async function stepsOf(context, subject, worker) {
  const name = `steps-${subject.label}`;
  const found = {
    acquire: await counted(worker, "take", { name }),
    release: await counted(worker, "free", { name }),
    acquireAgain: await counted(worker, "take", { name }),
  };
  if (!subject.roles.includes("try")) return found;
  const rival = await Worker.start(subject, context.servers, {}, { meter: true });
  try {
    found.tryHeld = await counted(rival, "tries", { name, count: 1 });
  } finally {
    await rival.end();
  }
  return found;
}

export async function run(context) {
  const subjects = context
    .subjects("free")
    .filter(({ server, label }) => server !== "redis" && label !== "raw-http");
  const rows = [];
  for (const subject of subjects) {
    const worker = await Worker.start(subject, context.servers, {}, { meter: true });
    try {
      rows.push({
        subject: subject.label,
        what: subject.what,
        ...(await stepsOf(context, subject, worker)),
      });
    } finally {
      await worker.end();
    }
  }
  return { settings: {}, rows };
}

/** Differences from the promise. */
export function isRight({ rows }) {
  const own = rows.filter(({ subject }) => subject.startsWith("holdfast"));
  if (own.length === 0) return ["Holdfast was not measured"];
  return own.flatMap((row) =>
    STEPS.flatMap((step) =>
      Object.entries(PROMISED)
        .filter(([what, promised]) => row[step]?.[what] !== promised)
        .map(([what]) => `${row.subject} ${step}: ${row[step]?.[what]} ${what}`),
    ),
  );
}

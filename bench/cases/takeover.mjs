// Kills a holder: the time until a waiting process has the lock.
import { spread } from "../lib/statistics.mjs";
import { nowMs, pause } from "../lib/time.mjs";
import { inParallel } from "../lib/ways.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Takeover after SIGKILL, lease 3 s, renewed every second";

const LENGTHS = { leaseMs: 3_000, beatMs: 1_000 };

/** Kills a holder, and returns the milliseconds until a waiting process has the lock. */
export async function kill(context, subject, name) {
  const { default: usual, shortMs } = subject.polls;
  const options = { ...LENGTHS, pollMs: "default" in subject.polls ? usual : shortMs };
  const holder = await Worker.start(subject, context.servers, options);
  const waiter = await Worker.start(subject, context.servers, options);
  try {
    await holder.do("take", { name });
    const taken = waiter.do("take", { name });
    // At a random phase of the renewals; the lease of a client without renewals would otherwise end before the
    // kill.
    await pause(
      subject.renewsNothing ? 100 + 1_000 * Math.random() : 2_000 + 2_000 * Math.random(),
    );
    const killedMs = nowMs();
    await holder.kill();
    return (await taken).gotMs - killedMs;
  } finally {
    await Promise.all([holder.end(), waiter.end()]);
  }
}

export async function run(context) {
  const subjects = context.subjects("fault");
  const kills = context.quick ? 1 : context.repetitions + 2;
  const tasks = Array.from({ length: kills }, (_, at) => at).flatMap((at) =>
    subjects.map((subject) => ({ subject, name: `takeover-${subject.label}-${at}` })),
  );
  const took = await inParallel(6, tasks, ({ subject, name }) => kill(context, subject, name));
  const rows = subjects.map((subject) => ({
    subject: subject.label,
    what: subject.what,
    takeoverMs: spread(
      took.filter((_, at) => tasks[at].subject === subject),
      0,
    ),
  }));
  return { settings: { ...LENGTHS, kills }, rows };
}

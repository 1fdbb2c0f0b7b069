// Holds many locks on one session until killed, and continually reports which leases appear held.
import { locks, mutex, openSession, say, task } from "./common.mjs";

const AT_ONCE = 25;

const session = await openSession(locks);
const emitLoss = ({ signal }) =>
  signal.addEventListener("abort", () => say("lost", { reason: signal.reason.reason }));
emitLoss(session);
const leases = [];
for (let from = 0; from < task.names.length; from += AT_ONCE) {
  const names = task.names.slice(from, from + AT_ONCE);
  leases.push(
    ...(await Promise.all(names.map((name) => mutex(locks, name, { session }).acquire()))),
  );
}
leases.forEach(emitLoss);
say("held", { session: session.id, fences: leases.map(({ fence }) => String(fence)) });

setInterval(() => {
  // Taken before the question: the belief was still valid at this time.
  const beforeNs = String(process.hrtime.bigint());
  say("believes", { beforeNs, in: leases.map(({ isHeld }) => (isHeld ? "1" : "0")).join("") });
}, 20);

// An instance of a service with a scheduled task: node-cron with Holdfast's run coordinator.
import "./wrong-clock.mjs";

const { default: cron } = await import("node-cron");
const { locks, say, task } = await import("./common.mjs");
const { nodeCronCoordinator } = await import("../../../packages/holdfast/dist/node-cron/index.js");

const ours = nodeCronCoordinator(locks, { atMostFor: "2s" });
const coordinator = {
  // node-cron silently skips an occurrence if the question to the coordinator failed.
  async shouldRun(key, ttlMs) {
    try {
      return await ours.shouldRun(key, ttlMs);
    } catch (error) {
      say("unanswered", { occurrence: key.slice(task.name.length + 1), code: error.code });
      throw error;
    }
  },
  onComplete: (key) => ours.onComplete(key),
};
const scheduled = cron.schedule(
  "*/4 * * * * *",
  async ({ date }) => {
    say("ran", { occurrence: date.toISOString() });
    await new Promise((resolve) => setTimeout(resolve, 50));
  },
  { name: task.name, distributed: true, runCoordinator: coordinator },
);
scheduled.on("execution:skipped", ({ date }) => {
  say("skipped", { occurrence: date.toISOString() });
});
// node-cron's event for an occurrence later than its tolerance, on a busy machine.
scheduled.on("execution:missed", ({ date }) => {
  say("missed", { occurrence: date.toISOString() });
});
say("scheduled");

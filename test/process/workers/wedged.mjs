// Leads, and blocks the whole process during a worker's run until long after the deadline; then writes under
// the old term, and reports the result.
import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { blockFor, client, condition, leaderTasks, locks, say, task } from "./common.mjs";

const write = (term) =>
  client
    .send(
      new TransactWriteItemsCommand({
        TransactItems: [
          condition(term),
          { Put: { TableName: task.table, Item: { pk: { S: "written" }, sk: { S: "x" } } } },
        ],
      }),
    )
    .then(
      () => null,
      (error) => error.name,
    );

const coordinator = leaderTasks(locks, {
  name: task.name,
  ...task.lengths,
  tasks: [
    {
      name: "blocks",
      every: "1h",
      async run({ signal, term }) {
        const before = await write(term);
        say("leads", { before });
        blockFor(task.blockMs);
        const isLeading = term.isHeld;
        const health = coordinator.health().state;
        say("wrote", { isLeading, aborted: signal.aborted, health, after: await write(term) });
        process.exit(0);
      },
    },
  ],
});
coordinator.start();

// Holds a lock, is stopped for a while, and reports the findings of the first code after the pause. task.runs:
// the kind of this code; task.asks: the order of the questions.
import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { client, condition, inspect, locks, mutex, say, task } from "./common.mjs";

const lease = await mutex(locks, task.name).acquire();
const { signal } = lease;
const composed = AbortSignal.any([signal]);
let told = 0;
signal.addEventListener("abort", () => {
  told += 1;
});

const errorIn = (check) => {
  try {
    check();
    return null;
  } catch (error) {
    return { code: error.code, reason: error.reason };
  }
};

const questions = {
  assertHeld: () => errorIn(() => lease.assertHeld()),
  aborted: () => signal.aborted,
  throwIfAborted: () => errorIn(() => signal.throwIfAborted()),
  isHeld: () => lease.isHeld,
  remainingMs: () => lease.remainingMs(),
  transaction: () =>
    client
      .send(
        new TransactWriteItemsCommand({
          TransactItems: [
            condition(lease),
            {
              Put: {
                TableName: task.table,
                Item: { pk: { S: `written ${task.name}` }, sk: { S: "x" } },
              },
            },
          ],
        }),
      )
      .then(
        () => null,
        (error) => error.name,
      ),
};

let lastNs = process.hrtime.bigint();
let answered = false;

/** Whether the process was stopped since the last call. */
function wasStopped() {
  const nowNs = process.hrtime.bigint();
  const gapMs = Number(nowNs - lastNs) / 1e6;
  lastNs = nowNs;
  return gapMs > task.longestGapMs;
}

/** Asks the questions, synchronously where possible. */
function look(first) {
  if (answered || !wasStopped()) return;
  answered = true;
  void (async () => {
    const answers = {};
    for (const ask of task.asks) {
      const answer = questions[ask]();
      answers[ask] = answer instanceof Promise ? await answer : answer;
    }
    say("resumed", { first, answers, composed: composed.aborted, told });
    process.exit(0);
  })();
}

say("held", { fence: String(lease.fence) });
switch (task.runs) {
  case "the middle of a function":
    while (!answered) look("the middle of a function");
    break;
  case "a timer":
    setInterval(() => look("a timer"), 5);
    break;
  case "an answer":
    while (!answered) {
      await inspect(locks, "another");
      look("an answer");
    }
}

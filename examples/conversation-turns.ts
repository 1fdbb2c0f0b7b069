/**
 * One turn at a time for each conversation, whichever replica or Lambda function gets the message; a newer message stops the turn that
 * answers an older one, and the next turn answers both.
 *
 * What is not promised: that a stopped turn has changed nothing. It may be stopped between two steps, and a turn that
 * ignores its signal goes on until its lease ends: see docs/requests.md.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, isHoldfastError, mutex } from "holdfast";
import { interrupt, listen } from "holdfast/requests";
import { createTable } from "holdfast/table";

const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });

const replicas = ["replica 1", "replica 2"].map((owner) => new Holdfast({ client, table, owner }));
/** Stands for a store that both replicas share. */
const conversation: string[] = [];

/** Stands for a model that answers word by word. */
async function answer(messages: readonly string[], signal: AbortSignal): Promise<string> {
  const words = `This answers ${messages.join(" and ")}.`.split(" ");
  for (const _ of words) await pause(400, undefined, { signal });
  return words.join(" ");
}

async function receive(locks: Holdfast, message: string): Promise<void> {
  // Before the turn: a turn that comes after this one finds the message, even if this one is stopped.
  conversation.push(message);
  try {
    await mutex(locks, "chat/42").run({ ifHeld: interrupt }, async (lease) => {
      // Without this line, the turn learns of a newer message at its next renewal, after up to 10 s.
      listen(lease, "1s");
      console.log(`${lease.owner} begins a turn`);
      conversation.push(await answer([...conversation], lease.signal));
    });
  } catch (error) {
    if (!isHoldfastError(error, "interrupted")) throw error;
    console.log(`a newer message stopped the turn for ${message}`);
  }
}

const ofFunction = new Holdfast({ client, table, owner: "a function" });

/**
 * The same in a Lambda function, whose client is outside of the handler. An invocation that times out leaves its lock for a
 * lease: another invocation, or a replica, then takes the lock over.
 */
const handler = async ({ message }: { readonly message: string }): Promise<string> => {
  await receive(ofFunction, message);
  return conversation.at(-1) ?? "";
};

const [first, second] = replicas as [Holdfast, Holdfast];
const older = receive(first, "hello");
await pause(500);
const newer = receive(second, "wait");
await Promise.all([older, newer]);
console.log(conversation.splice(0).join(" | "));
console.log(await handler({ message: "thanks" }));
await Promise.all([...replicas, ofFunction].map((locks) => locks.close()));

import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { Finding, Scene } from "../scene.js";
import { pause } from "../steps-kit.js";

const PART = "ttl";
const ITEMS = 10;
const POLL_MS = 30_000;
const HOUR_MS = 3_600_000;
const EXPIRED_S = 60;

/** Puts expired items, and polls them until TTL has deleted all of them, or until the end of the measured time. */
export async function ttl(scene: Scene): Promise<Finding[]> {
  const { client, names, settings, signal } = scene;
  const keys = Array.from({ length: ITEMS }, (_, at) => ({
    pk: { S: `ttl#${scene.run}#${at}` },
    sk: { S: "ttl" },
  }));
  const startMs = performance.now();
  const expiresAt = { N: String(Math.floor(Date.now() / 1000) - EXPIRED_S) };
  for (const key of keys) {
    await client.send(new PutItemCommand({ TableName: names.table, Item: { ...key, expiresAt } }));
  }
  const limitMs = settings.hours * HOUR_MS;
  const delays: number[] = [];
  let left = keys;
  while (left.length > 0) {
    // After an abort, the deletions until then count.
    if (signal.aborted) break;
    const isLast = performance.now() - startMs >= limitMs;
    const present: typeof keys = [];
    for (const Key of left) {
      const { Item } = await client.send(new GetItemCommand({ TableName: names.table, Key }));
      if (Item !== undefined) present.push(Key);
      else delays.push(Math.round((performance.now() - startMs) / 1000));
    }
    left = present;
    if (isLast) break;
    if (left.length > 0) await pause(Math.min(POLL_MS, limitMs), signal).catch(() => undefined);
  }
  return [summary(delays, left.length, performance.now() - startMs)];
}

function summary(delays: readonly number[], left: number, waitedMs: number): Finding {
  const sorted = [...delays].sort((a, b) => a - b);
  const figures = {
    items: ITEMS,
    deleted: sorted.length,
    firstS: sorted[0],
    medianS: sorted[Math.floor((sorted.length - 1) / 2)],
    lastS: sorted.at(-1),
  };
  const range = sorted.length === 0 ? "" : ` (after ${sorted[0]} to ${sorted.at(-1)} s)`;
  const rest = left === 0 ? "" : `; ${left} stayed for ${Math.round(waitedMs / 1000)} s and more`;
  return {
    part: PART,
    check: "delay",
    level: sorted.length === 0 ? "unseen" : "measured",
    message: `TTL deleted ${sorted.length} of ${ITEMS} expired items${range}${rest}.`,
    figures,
  };
}

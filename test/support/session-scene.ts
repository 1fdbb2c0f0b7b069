import { GetItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { mutex } from "../../packages/holdfast/src/index.js";
import type { ProcessScene } from "./process-scene.js";
import { pause } from "./sdk.js";
import type { Said, Worker } from "./worker.js";

/** A grant of a lock in milliseconds, by the clock of the machine, which all processes share. */
interface Hold {
  readonly name: string;
  readonly fence: bigint;
  /** Taken after the grant. */
  readonly grantedMs: number;
  /** Taken before the last question with a positive answer. */
  readonly believedMs: number;
}

/** The fate of a killed process's locks. */
export interface Outcome {
  /** Whether the killed process held all locks until the kill, each on the session. */
  readonly isWhole: boolean;
  /** The reasons of earlier losses, if any. */
  readonly losses: readonly string[];
  readonly killedMs: number;
  /** All holds of each name, in the order of their fences. */
  readonly histories: readonly (readonly Hold[])[];
  readonly rivals: readonly Worker[];
  readonly looks: Looks;
}

/** The parameters of a scene. */
export interface Cast {
  readonly names: readonly string[];
  /** The locks that each rival wants. */
  readonly wanted: readonly (readonly string[])[];
  readonly leaseMs: number;
  readonly pollMs: number;
  /** How long a rival holds a lock. */
  readonly holdMs: number;
  /** For how long the rivals wait, once every lock is on the session, before the holder is killed. */
  readonly waitingMs: number;
}

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const msOf = (ns: unknown): number => Number(ns) / 1e6;

/** Lets one process hold all names on a session, kills the process, and lets rivals take the locks. */
export async function playSession(scene: ProcessScene, cast: Cast): Promise<Outcome> {
  const { names, leaseMs, pollMs, holdMs } = cast;
  const options = { lease: leaseMs, wait: "60s", poll: { min: `${pollMs}ms`, max: `${pollMs}ms` } };
  const rivals = cast.wanted.map((wanted) => {
    const task = { name: "all", names: wanted, gate: "gate", holdMs, options };
    return scene.worker("session-rival", task);
  });
  await Promise.all(rivals.map((rival) => rival.says("started")));
  const holder = scene.worker("session-holder", { name: "all", names, options });
  const held = await holder.says("held");
  const session = String(held["session"]);
  const looks = new Looks(scene, session);
  // Each lease moves at its first renewal, within a period; a busy machine may lose some leases.
  const untilMs = nowMs() + leaseMs;
  while ((await countOn(scene, session)) < names.length && nowMs() < untilMs) await pause(200);
  const onSession = await countOn(scene, session);
  await mutex(scene.locks(), "gate").acquire();
  await Promise.all(rivals.map((rival) => rival.says("waiting")));
  await pause(cast.waitingMs);
  holder.signal("SIGKILL");
  await holder.exited();
  const killedMs = nowMs();
  await Promise.all(rivals.map((rival) => rival.exited()));
  await looks.end();
  const believes = holder.said.filter(({ event }) => event === "believes");
  const later = rivals.flatMap(holdsOf);
  const histories = names.map((name, index): Hold[] => {
    const last = believes.findLast((one) => String(one["in"])[index] === "1");
    const fence = BigInt((held["fences"] as string[])[index] ?? "");
    const grantedMs = msOf(held.atNs);
    const first = { name, fence, grantedMs, believedMs: last ? msOf(last["beforeNs"]) : grantedMs };
    const others = later.filter((hold) => hold.name === name);
    return [first, ...others].sort((a, b) => Number(a.fence - b.fence));
  });
  const isWhole =
    onSession === names.length && believes.every((one) => !String(one["in"]).includes("0"));
  const lost = holder.said.filter(({ event }) => event === "lost");
  const losses = [...new Set(lost.map(({ reason }) => String(reason)))];
  return { isWhole, losses, killedMs, histories, rivals, looks };
}

/** How many locks name a session. */
async function countOn({ client, table }: ProcessScene, session: string): Promise<number> {
  const command = new ScanCommand({ TableName: table, ConsistentRead: true });
  const { Items = [] } = await client.send(command);
  return Items.filter((item) => item["session"]?.S === session).length;
}

function holdsOf(rival: Worker): Hold[] {
  const took = rival.said.find(({ event }) => event === "took");
  return ((took?.["holds"] ?? []) as Said[]).map(({ name, fence, grantedNs, believedNs }) => ({
    name: String(name),
    fence: BigInt(String(fence)),
    grantedMs: msOf(grantedNs),
    believedMs: msOf(believedNs),
  }));
}

/** A strongly consistent read of the session's record, including the pause before. */
interface Look {
  readonly startMs: number;
  readonly version: string | undefined;
  readonly isHeld: boolean;
}

const LOOK_EVERY_MS = 25;

/** Reads a session's record continually, to find the last renewal. */
class Looks {
  readonly #all: Look[] = [];
  readonly #scene: ProcessScene;
  readonly #key: string;
  readonly #done: Promise<void>;
  #isOver = false;

  constructor(scene: ProcessScene, session: string) {
    this.#scene = scene;
    this.#key = `session#${session}`;
    this.#done = this.#goOn();
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.#done;
  }

  get isEnded(): boolean {
    return this.#all.at(-1)?.isHeld === false;
  }

  /** The beginning of the last read before the last renewal was visible. */
  get beforeLastRenewalMs(): number {
    const held = this.#all.filter(({ isHeld }) => isHeld);
    const last = held.at(-1)?.version;
    return held.findLast(({ version }) => version !== last)?.startMs ?? Number.NaN;
  }

  async #goOn(): Promise<void> {
    const { client, table } = this.#scene;
    const Key = { pk: { S: this.#key }, sk: { S: "lease" } };
    const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
    while (!this.#isOver) {
      const startMs = nowMs();
      await pause(LOOK_EVERY_MS);
      const { Item = {} } = await client.send(command);
      const { version, holder } = Item;
      const isHeld = holder !== undefined;
      this.#all.push({ startMs, version: version?.N, isHeld });
    }
  }
}

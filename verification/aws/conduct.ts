import { setTimeout as sleep } from "node:timers/promises";
import {
  type BucketLocationConstraint,
  CreateBucketCommand,
  PutBucketTaggingCommand,
} from "@aws-sdk/client-s3";
import { createTable } from "../../src/table/index.js";
import { Ledger, type LedgerOptions, type Resource } from "./ledger.js";
import { Meter, metered, type Watch } from "./meter.js";
import type { PartName, Settings } from "./options.js";
import { conflicts } from "./parts/conflicts.js";
import { global } from "./parts/global.js";
import { objects } from "./parts/objects.js";
import { policies } from "./parts/policies.js";
import { steps } from "./parts/steps.js";
import { conformance, engine } from "./parts/suites.js";
import { throttling } from "./parts/throttling.js";
import { ttl } from "./parts/ttl.js";
import { needsObjects, planOf } from "./plan.js";
import { removerOver } from "./removal.js";
import { leftoverLines, type Result } from "./report.js";
import { type Aws, type Finding, namesOf, type RunSuite, type Scene } from "./scene.js";
import { unlessEnded } from "./steps-kit.js";

/** The dependencies of a run. */
export interface Surroundings {
  readonly aws: Aws;
  readonly runSuite: RunSuite;
  readonly run: string;
  readonly save: LedgerOptions["save"];
  readonly retryMs: number;
  /** The features with a policy to try. */
  readonly features: Scene["features"];
  note(text: string): void;
  /** Registers a listener for interruptions. Returns a function that removes the listener. */
  onInterrupt(listener: () => void): () => void;
  /** Ends the process at once. */
  exit(): void;
}

const PLAYS: Readonly<Record<PartName, (scene: Scene) => Promise<Finding[]>>> = {
  engine,
  conformance,
  policies,
  conflicts,
  throttling,
  objects,
  global,
  steps,
  ttl,
};

/** The longest wait for requests in flight before the removal. A table created later would stay. */
const SETTLE_MS = 15_000;
const REMOVAL_LIMIT_MS = 30 * 60_000;

/** Creates the resources, plays the parts, and removes every resource, also after a failure. Never rejects. */
export async function conduct(settings: Settings, around: Surroundings): Promise<Result> {
  const { run } = around;
  const startMs = performance.now();
  const ending = new AbortController();
  const { signal } = ending;
  const { factor } = planOf(settings);
  const meter = new Meter(settings.ceilingUsd, factor, (reason) => ending.abort(reason));
  const ledger = ledgerOf(around);
  const forget = onInterrupts(settings, around, ledger, ending);
  const findings: Finding[] = [];
  const work = sceneOf(settings, around, { meter, ledger, signal }).then((scene) =>
    playAll(scene, findings),
  );
  const brokenOff = await unlessEnded(work, signal).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  await settled(work);
  around.note(`Removing the resources of the run: ${ledger.resources.length}.`);
  const leftovers = await ledger.removeAll();
  forget();
  return {
    run,
    region: settings.region,
    findings,
    brokenOff,
    requests: meter.requests,
    usage: meter.usage,
    usd: meter.usd,
    seconds: Math.round((performance.now() - startMs) / 1000),
    leftovers,
  };
}

/** Removes the listed resources of an interrupted run. */
export async function removeLeft(resources: readonly Resource[], around: Surroundings) {
  return ledgerOf(around, resources).removeAll();
}

function ledgerOf({ aws, save, retryMs }: Surroundings, resources?: readonly Resource[]): Ledger {
  const patienceMs = REMOVAL_LIMIT_MS;
  return new Ledger({ remove: removerOver(aws), save, patienceMs, retryMs }, resources);
}

/** The first interruption aborts the run and starts the removal. The second ends the process. */
function onInterrupts(
  { profile }: Settings,
  { onInterrupt, note, exit }: Surroundings,
  ledger: Ledger,
  ending: AbortController,
): () => void {
  return onInterrupt(() => {
    if (!ending.signal.aborted) {
      note("Interrupted. The removal starts; a second interruption skips it.");
      return ending.abort(new Error("Interrupted."));
    }
    const error = new Error("interrupted");
    const left = ledger.resources.map((resource) => ({ resource, error }));
    note(leftoverLines(left, profile).join("\n"));
    exit();
  });
}

/** Waits until the work has stopped, because the removal must see every created resource. */
async function settled(work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const limit = sleep(SETTLE_MS, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled([work]), limit]);
  over.abort();
}

type Kept = Pick<Scene, "meter" | "ledger" | "signal">;

/** Creates the common tables and the bucket. */
async function sceneOf(settings: Settings, around: Surroundings, kept: Kept): Promise<Scene> {
  const { aws, run, runSuite, features, note } = around;
  const { meter, ledger } = kept;
  const { region, replicas } = settings;
  const account = await aws.identity.account();
  const names = namesOf(run, account);
  const tags = { "holdfast-aws": run };
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const listed: NonNullable<Watch["prepared"]> = (operation, input) => {
    const name = input["TableName"];
    if (operation === "CreateTable" && typeof name === "string") {
      ledger.add({ kind: "table", name, region });
    }
    return input;
  };
  const tagged: NonNullable<Watch["prepared"]> = (operation, input) =>
    operation === "CreateTable" ? { Tags, ...input } : input;
  const scene: Scene = {
    ...kept,
    ...{ settings, run, names, account, aws, runSuite, features, tags, note },
    client: metered(aws.dynamodb(region), meter, {
      prepared: (operation, input) => listed(operation, tagged(operation, input)),
    }),
    restricted: (credentials) =>
      metered(aws.dynamodb(region, credentials), meter, { prepared: listed }),
    inRegion: (one) =>
      metered(aws.dynamodb(one), meter, { prepared: tagged, replicas: 1 + replicas.length }),
    s3: (credentials) => metered(aws.s3(credentials), meter),
  };
  await prepare(scene);
  return scene;
}

async function prepare(scene: Scene): Promise<void> {
  const { client, names, settings, ledger, tags } = scene;
  scene.note(`Creating the table ${names.table}.`);
  await createTable({ client, table: names.table, wait: "5m" });
  if (!needsObjects(settings)) return;
  await createTable({ client, table: names.commits, format: "object-commit", wait: "5m" });
  const { region } = settings;
  const Bucket = names.bucket;
  ledger.add({ kind: "bucket", name: Bucket, region });
  const s3 = scene.s3();
  // us-east-1 is the default, and S3 refuses it as a constraint.
  const where =
    region === "us-east-1"
      ? {}
      : { CreateBucketConfiguration: { LocationConstraint: region as BucketLocationConstraint } };
  await s3.send(new CreateBucketCommand({ Bucket, ...where }));
  const TagSet = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  await s3.send(new PutBucketTaggingCommand({ Bucket, Tagging: { TagSet } }));
}

/** Plays the parts in sequence, and the part for TTL beside them. */
async function playAll(scene: Scene, findings: Finding[]): Promise<void> {
  const { parts } = scene.settings;
  const meanwhile = parts.includes("ttl") ? play(scene, "ttl", findings) : Promise.resolve();
  // Awaited below: a rejection before must not count as unhandled.
  meanwhile.catch(() => undefined);
  for (const part of parts) if (part !== "ttl") await play(scene, part, findings);
  await meanwhile;
  scene.signal.throwIfAborted();
}

/**
 * Plays a part. A failure of the part is a finding, and the next part starts. After an abort of the run, a part may still
 * return its figures.
 */
async function play(scene: Scene, part: PartName, findings: Finding[]): Promise<void> {
  scene.signal.throwIfAborted();
  scene.note(`${part} …`);
  try {
    findings.push(...(await PLAYS[part](scene)));
  } catch (error) {
    scene.signal.throwIfAborted();
    const { name, message } = error as Error;
    findings.push({ part, check: "run", level: "problem", message: `${name}: ${message}` });
  }
}

// What the golden vectors of the native record are made of: every step of a lock's life, with fixed
// clocks and ids. Played against DynamoDB Local to record them, and by a test to see whether the code
// still writes the same.
import { setTimeout as sleep } from "node:timers/promises";
import { GetItemCommand, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";

const START_MS = Date.UTC(2026, 0, 1);
const OWNER = "worker-1:4711";
const NAME = "customer/42";

/** The key shapes of the vectors, by name. */
export const SHAPES = {
  default: undefined,
  "custom keys": { pk: "name", sk: "range" },
  "hash key alone": { pk: "id", sk: null },
};

const MANUAL = { lease: "30s", renew: "manual" };
const DATA = { job: 7, tags: ["a", "ß"], ratio: 0.1, none: null, yes: true, deep: { empty: {} } };

// Each leaves one record behind. `locks(seed)` is a client as if of another process.
const SCENES = [
  ["held", async ({ locks }) => void (await locks(1).mutex(NAME).acquire(MANUAL))],
  [
    "renewed",
    async ({ locks, pass }) => {
      const lease = await locks(1).mutex(NAME).acquire(MANUAL);
      pass(10_000);
      await lease.renew();
    },
  ],
  [
    "with data",
    async ({ locks }) => {
      const lease = await locks(1)
        .mutex(NAME)
        .acquire({ ...MANUAL, data: "first" });
      await lease.update(DATA);
    },
  ],
  [
    "length changed",
    async ({ locks, pass }) => {
      const lease = await locks(1).mutex(NAME).acquire(MANUAL);
      pass(10_000);
      await lease.renew({ lease: "90s", data: [1, 2] });
    },
  ],
  [
    "released",
    async ({ locks, pass }) => {
      const lease = await locks(1)
        .mutex(NAME)
        .acquire({ ...MANUAL, data: DATA });
      pass(10_000);
      await lease.release();
    },
  ],
  [
    "released, keeping its data",
    async ({ locks }) => {
      const lease = await locks(1)
        .mutex(NAME)
        .acquire({ ...MANUAL, data: DATA });
      await lease.release({ keepData: true });
    },
  ],
  [
    "claimed again after a release",
    async ({ locks, pass }) => {
      await (await locks(1).mutex(NAME).acquire(MANUAL)).release();
      pass(60_000);
      await locks(2).mutex(NAME).acquire(MANUAL);
    },
  ],
  [
    "taken over",
    async ({ locks, pass }) => {
      await locks(1)
        .mutex(NAME)
        .acquire({ ...MANUAL, data: "of the dead holder" });
      const rival = locks(2).mutex(NAME);
      await rival.tryAcquire(MANUAL);
      pass(31_000);
      await rival.tryAcquire({ ...MANUAL, lease: "20s" });
    },
  ],
  [
    "handed over",
    async ({ locks }) => {
      const mutex = locks(1).mutex(NAME);
      const first = await mutex.acquire({ ...MANUAL, data: "of the first" });
      const second = mutex.acquire({ ...MANUAL, lease: "40s" });
      await first.release();
      await second;
    },
  ],
  ["moved to a session", async (world) => void (await moved(world))],
  ["session", async (world) => ["session", (await moved(world)).id]],
  [
    "session, ended by who watched it",
    async (world) => {
      const { id } = await moved(world);
      const rival = world.locks(2).mutex(NAME);
      await rival.tryAcquire(MANUAL);
      world.pass(31_000);
      await rival.tryAcquire(MANUAL);
      return ["session", id];
    },
  ],
];

// The first renewal of a lease moves it. Timers are this machine's, and find it due once the clock was
// set on; the session is renewed at the same time, and neither of them again.
async function moved({ locks, pass }) {
  const one = locks(1);
  const session = await one.session({ lease: "30s", renew: "10ms" });
  await one.mutex(NAME, { session }).acquire();
  pass(20);
  while ((await one.inspect(NAME)).session === undefined) await sleep(20);
  await sleep(200);
  return session;
}

/** A clock that stands still until time is passed by hand. */
function handClock() {
  let passedMs = 0;
  return {
    pass: (ms) => {
      passedMs += ms;
    },
    clock: {
      monotonicMs: () => 1_000 + passedMs,
      wallMs: () => START_MS + passedMs,
      bootMs: () => 2_000 + passedMs,
    },
  };
}

async function play(scene, { client, table, keys, Holdfast, seededRandom }) {
  const { clock, pass } = handClock();
  // Behind a wrapper the `Date` of the answers is not seen, which would correct a clock set by hand.
  const undated = { config: client.config, send: (...sent) => client.send(...sent) };
  const made = [];
  const locks = (seed) => {
    const environment = { clock, random: seededRandom(seed) };
    const one = new Holdfast({ client: undated, table, keys, owner: OWNER, environment });
    made.push(one);
    return one;
  };
  const [kind, name] = (await scene({ locks, pass })) ?? ["lock", NAME];
  const { pk = "pk", sk = "sk" } = keys ?? {};
  const Key = { [pk]: { S: `${kind}#${name}` }, ...(sk === null ? {} : { [sk]: { S: "lease" } }) };
  const read = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  const { Item } = await client.send(read);
  await Promise.all(made.map((one) => one.close()));
  return Item;
}

// By the clock of the server these items expired long ago, and it would delete them in the middle of a scene.
async function keepExpired(client, table) {
  const TimeToLiveSpecification = { AttributeName: "expiresAt", Enabled: false };
  await client.send(new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification }));
}

/**
 * Plays every scene in a table of its own, and answers with the items that they leave behind. Give it
 * `createTable`, `Holdfast` and `seededRandom` of the code that is to be looked at.
 */
export async function playNativeScenes({ client, createTable, prefix, ...code }) {
  const items = [];
  for (const [shape, keys] of Object.entries(SHAPES)) {
    // The shape of the key changes nothing but the key: one scene shows it.
    for (const [state, scene] of shape === "default" ? SCENES : SCENES.slice(0, 1)) {
      const table = `${prefix}-${items.length}`;
      await createTable({ client, table, keys });
      await keepExpired(client, table);
      items.push({ state, shape, item: await play(scene, { client, table, keys, ...code }) });
    }
  }
  return items;
}

const GRANT = {
  holder: "00000001-0000-4001-8000-000000000001",
  leaseMs: 30_000,
  owner: OWNER,
  data: undefined,
  existingData: "replace",
  wallMs: START_MS,
  acquiredAt: "2026-01-01T00:00:00.000Z",
  fenceSeed: BigInt(START_MS),
};
const OTHER = "00000002-0000-4001-8000-000000000002";
const SESSION = "00000003-0000-4001-8000-000000000003";
const RENEWAL = {
  mark: "00000001-0000-4002-8000-000000000003",
  version: 5n,
  leaseMs: 30_000,
  wallMs: START_MS,
};

const FORCED = {
  holder: GRANT.holder,
  by: "alice",
  reason: "the deployment hangs",
  at: "2026-01-01T00:00:00.000Z",
  now: false,
};

/** Every request of the format with fixed arguments, compiled: what DynamoDB is sent, word for word. */
export function nativeRequests({ nativeFormat, compileWrite }) {
  const format = nativeFormat({ pk: "pk", sk: "sk" });
  const ref = format.refOf("lock", NAME);
  const held = { holder: GRANT.holder, fence: 1_767_225_600_001n };
  const watched = { holder: OTHER, version: 3n };
  const data = { value: { n: 1 }, seq: 2 };
  const free = { keepData: false, lastHolder: held.holder, wallMs: START_MS };
  const writes = {
    "claim, blind": format.claim(ref, GRANT, { kind: "blind" }),
    "claim of what was seen absent": format.claim(ref, GRANT, { kind: "absent" }),
    "claim of what was seen free": format.claim(ref, GRANT, { kind: "free", fence: 9n }),
    "claim of what exists": format.claim(ref, GRANT, { kind: "existing" }),
    "claim with data": format.claim(ref, { ...GRANT, data: "new" }, { kind: "blind" }),
    "claim that keeps data": format.claim(
      ref,
      { ...GRANT, data: "new", existingData: "keep" },
      { kind: "blind" },
    ),
    takeover: format.takeOver(ref, GRANT, watched),
    "hand-over": format.handOver(ref, GRANT, { known: { ...held, holder: OTHER }, maybe: [] }),
    "hand-over after an unanswered one": format.handOver(ref, GRANT, {
      known: held,
      maybe: [OTHER],
    }),
    renewal: format.renew(ref, held, RENEWAL),
    "renewal with data": format.renew(ref, held, { ...RENEWAL, data }),
    "change of length": format.changeLength(ref, held, { ...RENEWAL, leaseMs: 90_000 }),
    "move to a session": format.moveToSession(ref, held, RENEWAL, SESSION),
    "takeover from an ended session": format.takeOver(ref, GRANT, { ...watched, session: SESSION }),
    "end of a session": format.free(
      format.refOf("session", SESSION),
      { known: undefined, maybe: [], watched },
      { ...free, lastHolder: "" },
    ),
    "tombstone of a session": format.tombstone(format.refOf("session", SESSION), {
      fence: BigInt(START_MS),
      owner: OWNER,
      wallMs: START_MS,
    }),
    "keeping from expiring": format.keepFromExpiring(ref, held, {
      leaseMs: 30_000,
      wallMs: START_MS,
    }),
    "update of data": format.updateData(ref, held, data),
    "removal of data": format.updateData(ref, held, { value: undefined, seq: 3 }),
    release: format.free(ref, { known: held, maybe: [] }, free),
    "release that keeps data": format.free(
      ref,
      { known: held, maybe: [] },
      { ...free, keepData: true },
    ),
    "neutraliser of a claim": format.free(ref, { known: undefined, maybe: [OTHER] }, free),
    "neutraliser of a takeover": format.free(
      ref,
      { known: undefined, maybe: [held.holder], watched },
      free,
    ),
    "request to end, with who and why": format.force(ref, FORCED),
    "the same, told to the holder's session": format.notify(
      format.refOf("session", SESSION),
      held.holder,
    ),
    "forced release at once": format.free(
      ref,
      { known: held, maybe: [] },
      { ...free, keepData: true, forced: { ...FORCED, now: true } },
    ),
    "request to resign": format.ask(ref, held.holder, "resign"),
    "request of a preferred candidate": format.ask(ref, held.holder, "prefer"),
  };
  return Object.entries(writes).map(([step, { key, condition, change }]) => {
    const { text, update, names, values } = compileWrite(condition, change);
    return {
      step,
      request: {
        Key: key,
        ConditionExpression: text,
        UpdateExpression: update,
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: values,
      },
    };
  });
}

/** What a format reads in an item, as JSON can say it: whole numbers as text. */
export function readable(record) {
  return JSON.parse(
    JSON.stringify(record, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  );
}

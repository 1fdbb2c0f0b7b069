// The scenes for the golden vectors of the native record: every step of a lock's life, with fixed clocks and
// ids. A script plays the scenes against DynamoDB Local to record the vectors. A test plays them to check that
// the code still writes the same.
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

// Each scene leaves one record behind. `locks(seed)` is a client, as if in another process.
const SCENES = [
  ["held", async ({ locks, mutex }) => void (await mutex(locks(1), NAME).acquire(MANUAL))],
  [
    "renewed",
    async ({ locks, pass, mutex }) => {
      const lease = await mutex(locks(1), NAME).acquire(MANUAL);
      pass(10_000);
      await lease.renew();
    },
  ],
  [
    "with data",
    async ({ locks, mutex }) => {
      const lease = await mutex(locks(1), NAME).acquire({ ...MANUAL, data: "first" });
      await lease.update(DATA);
    },
  ],
  [
    "length changed",
    async ({ locks, pass, mutex }) => {
      const lease = await mutex(locks(1), NAME).acquire(MANUAL);
      pass(10_000);
      await lease.renew({ lease: "90s", data: [1, 2] });
    },
  ],
  [
    "released",
    async ({ locks, pass, mutex }) => {
      const lease = await mutex(locks(1), NAME).acquire({ ...MANUAL, data: DATA });
      pass(10_000);
      await lease.release();
    },
  ],
  [
    "released, keeping its data",
    async ({ locks, mutex }) => {
      const lease = await mutex(locks(1), NAME).acquire({ ...MANUAL, data: DATA });
      await lease.release({ keepData: true });
    },
  ],
  [
    "claimed again after a release",
    async ({ locks, pass, mutex }) => {
      await (await mutex(locks(1), NAME).acquire(MANUAL)).release();
      pass(60_000);
      await mutex(locks(2), NAME).acquire(MANUAL);
    },
  ],
  [
    "taken over",
    async ({ locks, pass, mutex }) => {
      await mutex(locks(1), NAME).acquire({ ...MANUAL, data: "of the dead holder" });
      const rival = mutex(locks(2), NAME);
      await rival.tryAcquire(MANUAL);
      pass(31_000);
      await rival.tryAcquire({ ...MANUAL, lease: "20s" });
    },
  ],
  [
    "handed over",
    async ({ locks, mutex }) => {
      const lock = mutex(locks(1), NAME);
      const first = await lock.acquire({ ...MANUAL, data: "of the first" });
      const second = lock.acquire({ ...MANUAL, lease: "40s" });
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
      const rival = world.mutex(world.locks(2), NAME);
      await rival.tryAcquire(MANUAL);
      world.pass(31_000);
      await rival.tryAcquire(MANUAL);
      return ["session", id];
    },
  ],
];

// The first renewal of a lease moves the lease to the session. Timers are this machine's, and the renewal is
// due once the clock was advanced; the session is renewed at the same time, and neither is renewed again.
async function moved({ locks, pass, inspect, mutex, openSession }) {
  const one = locks(1);
  const session = await openSession(one, { lease: "30s", renew: "10ms" });
  await mutex(one, NAME, { session }).acquire();
  pass(20);
  while ((await inspect(one, NAME)).session === undefined) await sleep(20);
  await sleep(200);
  return session;
}

/** A clock that advances only on request. */
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

// The `Date` of the answers would correct a clock set by hand.
function withDates(client, clock) {
  const { requestHandler } = client.config;
  const handle = async (...request) => {
    const answer = await requestHandler.handle(...request);
    answer.response.headers.date = new Date(clock.wallMs()).toUTCString();
    return answer;
  };
  const config = Object.defineProperties({}, Object.getOwnPropertyDescriptors(client.config));
  config.requestHandler = { ...requestHandler, handle };
  const handlers = { value: undefined, writable: true };
  return Object.create(client, { config: { value: config }, handlers });
}

async function play(scene, { client, table, keys, library, seededRandom }) {
  const { Holdfast } = library;
  const { clock, pass } = handClock();
  const dated = withDates(client, clock);
  const made = [];
  const locks = (seed) => {
    const environment = { clock, random: seededRandom(seed) };
    const one = new Holdfast({ client: dated, table, keys, owner: OWNER, environment });
    made.push(one);
    return one;
  };
  const [kind, name] = (await scene({ ...library, locks, pass })) ?? ["lock", NAME];
  const { pk = "pk", sk = "sk" } = keys ?? {};
  const Key = { [pk]: { S: `${kind}#${name}` }, ...(sk === null ? {} : { [sk]: { S: "lease" } }) };
  const read = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  const { Item } = await client.send(read);
  await Promise.all(made.map((one) => one.close()));
  return Item;
}

// By the server's clock these items expired long ago, and the server would delete them during a scene.
async function keepExpired(client, table) {
  const TimeToLiveSpecification = { AttributeName: "expiresAt", Enabled: false };
  await client.send(new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification }));
}

/**
 * Plays every scene in a separate table. Returns the remaining items. Takes `createTable`, the
 * functions of the library and `seededRandom` of the code under test.
 */
export async function playNativeScenes({ client, createTable, prefix, ...code }) {
  const items = [];
  for (const [shape, keys] of Object.entries(SHAPES)) {
    // The shape of the key changes only the key, so one scene is enough.
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
  endMs: START_MS + 31_000,
  fenceSeed: BigInt(START_MS),
};
const OTHER = "00000002-0000-4001-8000-000000000002";
const SESSION = "00000003-0000-4001-8000-000000000003";
const RENEWAL = {
  mark: "00000001-0000-4002-8000-000000000003",
  version: 5n,
  leaseMs: 30_000,
  endMs: START_MS + 41_000,
  wallMs: START_MS,
};

const FORCED = {
  holder: GRANT.holder,
  by: "alice",
  reason: "the deployment hangs",
  at: "2026-01-01T00:00:00.000Z",
  now: false,
};

/** Every request of the format with fixed arguments, compiled to the exact text for DynamoDB. */
export function nativeRequests(library) {
  const { nativeFormat, REQUESTS, RUNS, SESSIONS, compileWrite, forcedRequest } = library;
  const format = nativeFormat({ pk: "pk", sk: "sk" });
  const [requests, sessions] = [REQUESTS.of(format), SESSIONS.of(format)];
  const runs = RUNS.of(format);
  const ref = format.codec.refOf("lock", NAME);
  const held = { holder: GRANT.holder, fence: 1_767_225_600_001n };
  const watched = { holder: OTHER, version: 3n };
  const data = { value: { n: 1 }, seq: 2 };
  const free = { keepData: false, lastHolder: held.holder, wallMs: START_MS };
  const writes = {
    "claim, blind": format.lease.claim(ref, GRANT, { kind: "blind" }),
    "claim without the table's time": format.lease.claim(
      ref,
      { ...GRANT, endMs: undefined },
      { kind: "blind" },
    ),
    "claim of what was seen absent": format.lease.claim(ref, GRANT, { kind: "absent" }),
    "claim of what was seen free": format.lease.claim(ref, GRANT, { kind: "free", fence: 9n }),
    "claim of what exists": format.lease.claim(ref, GRANT, { kind: "existing" }),
    "claim with data": format.lease.claim(ref, { ...GRANT, data: "new" }, { kind: "blind" }),
    "claim that keeps data": format.lease.claim(
      ref,
      { ...GRANT, data: "new", existingData: "keep" },
      { kind: "blind" },
    ),
    takeover: format.lease.takeOver(ref, GRANT, watched),
    "hand-over": format.lease.handOver(ref, GRANT, {
      known: { ...held, holder: OTHER },
      maybe: [],
    }),
    "hand-over after an unanswered one": format.lease.handOver(ref, GRANT, {
      known: held,
      maybe: [OTHER],
    }),
    "hand-over with a ticket": format.lease.handOver(
      ref,
      { ...GRANT, passage: { kind: "ticket", ticket: 6n } },
      { known: { ...held, holder: OTHER }, maybe: [] },
    ),
    "three tickets": format.queue.take(ref, 3, { wallMs: START_MS }),
    "release past unused tickets": format.lease.free(ref, { known: held }, { ...free, served: 9n }),
    renewal: format.lease.renew(ref, held, RENEWAL),
    "renewal without the table's time": format.lease.renew(ref, held, {
      ...RENEWAL,
      endMs: undefined,
    }),
    "renewal with data": format.lease.renew(ref, held, { ...RENEWAL, data }),
    "change of length": format.lease.changeLength(ref, held, { ...RENEWAL, leaseMs: 90_000 }),
    "move to a session": sessions.moveTo(ref, held, RENEWAL, SESSION),
    "takeover from an ended session": format.lease.takeOver(ref, GRANT, {
      ...watched,
      session: SESSION,
    }),
    "end of a session": format.lease.free(
      format.codec.refOf("session", SESSION),
      { known: undefined, maybe: [], watched },
      { ...free, lastHolder: "" },
    ),
    "tombstone of a session": format.lease.tombstone(format.codec.refOf("session", SESSION), {
      fence: BigInt(START_MS),
      owner: OWNER,
      wallMs: START_MS,
    }),
    "keeping from expiring": sessions.keepFromExpiring(ref, held, {
      leaseMs: 30_000,
      wallMs: START_MS,
    }),
    "update of data": format.lease.updateData(ref, held, data),
    "removal of data": format.lease.updateData(ref, held, { value: undefined, seq: 3 }),
    release: format.lease.free(ref, { known: held, maybe: [] }, free),
    "release that keeps data": format.lease.free(
      ref,
      { known: held, maybe: [] },
      { ...free, keepData: true },
    ),
    "neutraliser of a claim": format.lease.free(ref, { known: undefined, maybe: [OTHER] }, free),
    "neutraliser of a takeover": format.lease.free(
      ref,
      { known: undefined, maybe: [held.holder], watched },
      free,
    ),
    "request to end, with who and why": requests.ask(ref, {
      ...FORCED,
      kind: "release",
    }),
    "the same, told to the holder's session": requests.notify(
      format.codec.refOf("session", SESSION),
      held.holder,
    ),
    "forced release at once": format.lease.free(
      ref,
      { known: held, maybe: [] },
      { ...free, keepData: true, forced: forcedRequest({ ...FORCED, now: true }) },
    ),
    "request to resign": requests.ask(ref, { kind: "resign", holder: held.holder }),
    "request of a preferred candidate": requests.ask(ref, {
      kind: "prefer",
      holder: held.holder,
    }),
    "request of a waiter to know that it waits": requests.ask(ref, {
      ...{ kind: "want", holder: held.holder, by: OWNER },
    }),
    "request to stop, with the number of its caller": requests.ask(
      ref,
      { kind: "interrupt", holder: held.holder, by: OWNER },
      { number: 7n, by: OTHER },
    ),
    "claim of a caller with this number": format.lease.claim(
      ref,
      { ...GRANT, passage: { kind: "asker", number: 7n } },
      { kind: "blind" },
    ),
    "claim of a caller without a number": format.lease.claim(
      ref,
      { ...GRANT, passage: { kind: "asker", number: undefined } },
      { kind: "blind" },
    ),
    "claim of a coalesced run": format.lease.claim(
      ref,
      { ...GRANT, passage: { kind: "barge" }, attributes: runs.granted(START_MS) },
      { kind: "blind" },
    ),
    "grant of a further run": format.lease.handOver(
      ref,
      { ...GRANT, passage: { kind: "barge" }, attributes: runs.granted(START_MS, 7n) },
      { known: { ...held, holder: OTHER }, maybe: [] },
    ),
    "note of a coalesced call": runs.raise(ref, held, START_MS),
    "release of a coalesced run": runs.settle(ref, held, 7n, { ...free, keepData: true }),
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

/** The content of an item in a format, as JSON: whole numbers as text. */
export function readable(record) {
  return JSON.parse(
    JSON.stringify(record, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  );
}

import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { Holdfast, inspect, mutex } from "../../../holdfast/src/index.js";
import { Breaks } from "../../../holdfast/src/internal/breaks.js";
import { systemTimers } from "../../../holdfast/src/platform/timers.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { startServing } from "../../src/serve/serve.js";
import { pagesOf } from "../../src/serve/view-pages.js";
import type { TableAnswer } from "../../src/serve/view-types.js";
import { pause } from "../support.js";
import { ServeWorld, TOKEN } from "./world.js";

const worlds: ServeWorld[] = [];
const start = async (...args: Parameters<typeof ServeWorld.start>): Promise<ServeWorld> => {
  const world = await ServeWorld.start(...args);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

it("gives a browser a cookie for the token, and takes the token out of the URL", async () => {
  const world = await start({ allowRelease: true });
  await using lease = await mutex(world.cli.locks, "a").acquire();
  const own = `http://127.0.0.1:${world.server.port}`;
  const none = { authorization: "" };
  const { status, headers } = await world.send(`/?token=${TOKEN}`, { headers: none });
  expect([status, headers["location"]]).toEqual([303, "/"]);
  const [set = ""] = headers["set-cookie"] as string[];
  expect(set).toMatch(/^holdfast-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(set).not.toContain(TOKEN);
  const cookie = `other=1; ${set.split(";")[0]}`;
  for (const path of ["/", "/api/table", "/metrics"]) {
    expect((await world.send(path, { headers: { ...none, cookie } })).status).toBe(200);
    expect((await world.send(path, { headers: { ...none, cookie: `${cookie}x` } })).status).toBe(
      401,
    );
  }
  expect((await world.send(`/api/table?token=${TOKEN}`, { headers: none })).status).toBe(401);
  const body = { name: "a", reason: "x", confirm: "a" };
  const post = (more: Record<string, string>) =>
    world.send("/api/release", { method: "POST", body, headers: { ...none, cookie, ...more } });
  // Another port of this machine is the same site for a cookie, and names its own origin, or none.
  expect((await post({})).status).toBe(401);
  expect((await post({ origin: "http://127.0.0.1:1" })).status).toBe(403);
  expect((await inspect(world.cli.locks, "a")).forced).toBeUndefined();
  expect((await post({ origin: own })).status).toBe(200);
  await lease.release().catch(() => undefined);
});

it("answers 400 to a forced release with a wrong name or reason", async () => {
  const world = await start({ allowRelease: true });
  await using _ = await mutex(world.cli.locks, "a").acquire();
  const statusOf = async (change: object): Promise<number> => {
    const body = { name: "a", reason: "x", confirm: "a", ...change };
    return (await world.send("/api/release", { method: "POST", body })).status;
  };
  const long = "n".repeat(2_000);
  expect(await statusOf({ reason: "r".repeat(1_001) })).toBe(400);
  expect(await statusOf({ name: long, confirm: long })).toBe(400);
  expect(await statusOf({ reason: "half \ud83d" })).toBe(400);
  expect(await statusOf({ name: "\ud83d", confirm: "\ud83d" })).toBe(400);
  for (const field of ["name", "namespace", "holder", "reason"]) {
    expect(await statusOf({ [field]: { toString: 1 } })).toBe(400);
  }
  expect((await inspect(world.cli.locks, "a")).forced).toBeUndefined();
  expect(await statusOf({ reason: "whole \ud83d\ude00" })).toBe(200);
});

it("closes a connection without a head in time, and one above the limit at once", async () => {
  const limits = { mostConnections: 2, headersTimeout: 300, requestTimeout: 600 };
  const world = await start({}, { ...limits, connectionsCheckingInterval: 50 });
  const closed = (text = ""): Promise<number> => {
    const from = performance.now();
    const socket = connect(world.server.port, "127.0.0.1", () => socket.write(text));
    socket.on("error", () => undefined);
    socket.resume();
    return new Promise((resolve) => socket.on("close", () => resolve(performance.now() - from)));
  };
  const silent = [closed(), closed("GET / HTTP/1.1\r\nHost: x\r\n")];
  await pause(50);
  expect(await closed()).toBeLessThan(250);
  for (const ms of await Promise.all(silent)) expect(ms).toBeGreaterThan(250);
  expect((await world.send("/healthz")).status).toBe(200);
});

it("encodes a large view in pages, which together are the view", async () => {
  const rows = Array.from({ length: 25_000 }, (_, at) => ({ kind: "lock", name: `n${at}` }));
  const view = {
    rows,
    sessions: [{ id: "s" }],
    terms: [],
    members: [],
    unreadable: [{ name: "u" }],
  };
  const pages = await pagesOf(view as never, new Breaks(systemTimers, () => performance.now()));
  const parsed = pages.map((pieces) => JSON.parse(Buffer.concat(pieces).toString()));
  expect(parsed.map((page) => page.rows.length)).toEqual([10_000, 10_000, 5_000]);
  expect(parsed.flatMap((page) => page.rows)).toEqual(rows);
  expect(parsed.flatMap((page) => page.sessions)).toEqual(view.sessions);
  expect(parsed.flatMap((page) => page.unreadable)).toEqual(view.unreadable);
  const [empty] = await pagesOf(
    { rows: [], sessions: [], terms: [], members: [], unreadable: [] },
    new Breaks(systemTimers, () => 0),
  );
  expect(JSON.parse(Buffer.concat(empty ?? []).toString())).toEqual({
    ...{ rows: [], sessions: [], terms: [], members: [], unreadable: [] },
  });
});

it("answers /healthz during a scan, and sends no request for it", async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const client = new MemoryTable();
  const scan = client.scan.bind(client);
  let requests = 0;
  client.scan = async (...asked) => {
    requests += 1;
    await gate;
    return scan(...asked);
  };
  client.read = async () => {
    requests += 1;
    return { kind: "unknown", cause: undefined };
  };
  await using locks = new Holdfast({ client, table: "locks" });
  const server = await startServing(locks, { token: TOKEN });
  try {
    const own = `http://127.0.0.1:${server.port}`;
    const headers = { authorization: `Bearer ${TOKEN}` };
    const table = fetch(`${own}/api/table`, { headers });
    while (requests === 0) await pause(10);
    // The scan ends after these answers alone.
    for (let at = 0; at < 3; at += 1) {
      const health = await fetch(`${own}/healthz`);
      expect([health.status, await health.text()]).toEqual([200, "ok\n"]);
    }
    expect(requests).toBe(1);
    open();
    expect(((await (await table).json()) as TableAnswer).reading).toBe(1);
  } finally {
    await server.close();
  }
});

it("gives further pages of a reading without another scan", async () => {
  const world = await start();
  await using _ = await mutex(world.cli.locks, "a").acquire();
  const table = async (query: string): Promise<TableAnswer> =>
    JSON.parse((await world.send(`/api/table?${query}`)).body);
  expect(await table("")).toMatchObject({ pages: 1, isWhole: true, view: { rows: [{}] } });
  await pause(600);
  const before = world.cli.requests;
  expect((await table("page=0&after=1")).reading).toBe(2);
  expect(world.cli.requests).toBe(before + 1);
  await pause(600);
  expect((await table("page=1")).view).toBeUndefined();
  expect(world.cli.requests).toBe(before + 1);
});

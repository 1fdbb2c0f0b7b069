import { spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type LineServer, lineServer } from "../../../../test/support/line-server.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { coalesce } from "../../src/coalesce/index.js";
import {
  type AcquireOptions,
  Holdfast,
  type HoldfastError,
  type HoldfastOptions,
  mutex,
  sharedSession,
} from "../../src/index.js";
import { systemClock } from "../../src/platform/clock.js";
import { systemTimers } from "../../src/platform/timers.js";
import { encodeFrame, FRAME_BYTES } from "../../src/ring/frames.js";
import { ring } from "../../src/ring/index.js";
import { SocketLine } from "../../src/ring/socket-line.js";

const LOOPBACK = "127.0.0.1";
/** On a busy machine, the answer to a waiter may be later than its first poll. */
const SLOW = { min: "5s", max: "5s" } as const;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const table = () => new MemoryTable({ keyAttributes: ["pk", "sk"] });

function client(
  over: MemoryTable,
  choice: HoldfastOptions["ring"],
  reported: HoldfastError[] = [],
) {
  const locks = new Holdfast({
    client: over,
    table: "locks",
    ring: choice,
    onError: (error) => reported.push(error),
  });
  open.push(locks);
  return locks;
}

function restore(variable: string, value: string | undefined): void {
  if (value === undefined) delete process.env[variable];
  else process.env[variable] = value;
}

/** Leaves a socket behind, as a killed process does. */
function leaveSocket(path: string): void {
  const program = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", program]);
}

const settled = (lengthMs: number) => new Promise((done) => setTimeout(done, lengthMs));

async function server(onLine: (socket: Socket) => void): Promise<LineServer> {
  const made = await lineServer(onLine);
  open.push(made);
  return made;
}

/** The mark in the record of a lock, in its parts. */
function markOf(over: MemoryTable, name = "a") {
  const ring = over.item({ pk: { S: `lock#${name}` }, sk: { S: "lease" } })?.["ring"];
  const [holder = "", address = "", token = ""] =
    (ring as { S: string } | undefined)?.S.split(" ") ?? [];
  return { holder, address, token, port: Number(address.split(":").at(-1)) };
}

/** Waits for a lock whose holder is `held`, releases it, and counts the requests from the release on. */
async function handOver(
  over: MemoryTable,
  held: { release(): Promise<void> },
  waits: Holdfast,
  poll?: AcquireOptions["poll"],
) {
  const waiting = mutex(waits, "a").acquire({ poll });
  await settled(60);
  const before = over.counts;
  const fromMs = performance.now();
  await held.release();
  const lease = await waiting;
  const tookMs = performance.now() - fromMs;
  const after = over.counts;
  const reads = after.eventualReads + after.consistentReads;
  return {
    ...{ lease, tookMs },
    writes: after.writes - before.writes,
    reads: reads - before.eventualReads - before.consistentReads,
  };
}

it("rings the waiters at the end of a shared run", async () => {
  const over = table();
  const [holder, waiter] = [
    client(over, ring({ host: LOOPBACK })),
    client(over, ring({ host: LOOPBACK })),
  ];
  let end = (): void => undefined;
  const run = coalesce(holder, "a", () => new Promise<void>((resolve) => (end = resolve)));
  await settled(60);
  const waiting = mutex(waiter, "a").acquire({ poll: SLOW });
  await settled(150);
  const fromMs = performance.now();
  end();
  await run;
  await (await waiting).release();
  expect(performance.now() - fromMs).toBeLessThan(2_500);
});

const bytesOf = (token: string) => Buffer.from(encodeFrame({ kind: "wait", token }));
const FORGED = "f".repeat(32);

/** Sends bytes, and resolves with what came back when the other side has closed. Rejects if it does not in time. */
function closedAfter(port: number, bytes: Uint8Array, withinMs = 3_000): Promise<Buffer> {
  return new Promise((done, fail) => {
    const got: Buffer[] = [];
    const socket = connect({ port, host: LOOPBACK }, () => socket.write(bytes));
    socket.on("data", (chunk) => got.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => done(Buffer.concat(got)));
    socket.setTimeout(withinMs, () => {
      fail(new Error("The connection is still open."));
      socket.destroy();
    });
  });
}

describe("a ring over sockets", () => {
  it.each([
    ["TCP", { host: LOOPBACK }],
    ["IPv6", { host: "::1" }],
    ["every interface", { host: "0.0.0.0" }],
    ["a range of ports", { host: LOOPBACK, port: "47410-47490" }],
    ["a local socket", "local"],
  ] as const)("hands a lock over by two requests: %s", async (_, options) => {
    const over = table();
    const [a, b] = [client(over, ring(options)), client(over, ring(options))];
    // The first grant has a mark, too.
    const lease = await mutex(a, "a").acquire();
    const there = await handOver(over, lease, b, SLOW);
    expect(there).toMatchObject({ writes: 2, reads: 0 });
    const back = await handOver(over, there.lease, a, SLOW);
    expect(back).toMatchObject({ writes: 2, reads: 0 });
    await back.lease.release();
    expect(markOf(over).address).toBe("");
  });

  it("reaches a holder from a client that never listens, which is never rung", async () => {
    const over = table();
    const [a, b] = [client(over, ring({ host: LOOPBACK })), client(over, ring({ listen: false }))];
    await settled(20);
    const { lease, reads } = await handOver(over, await mutex(a, "a").acquire(), b, SLOW);
    expect(reads).toBe(0);
    expect(markOf(over).address).toBe("");
    await lease.release();
  });

  it("keeps a local socket from other users", async () => {
    const over = table();
    const a = client(over, ring("local"));
    await settled(20);
    await mutex(a, "a").acquire();
    const { address } = markOf(over);
    expect(address).toMatch(/^local:[a-f\d]{16}$/);
    const { XDG_RUNTIME_DIR: runtime } = process.env;
    const folders = [
      ...(runtime === undefined ? [] : [join(runtime, "holdfast")]),
      join(tmpdir(), `holdfast-${process.getuid?.()}`),
    ];
    const path = folders.map((folder) => join(folder, address.slice(6))).find(existsSync) ?? "";
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
    await a.close();
    expect(existsSync(path)).toBe(false);
  });

  it("finds a local socket in another folder than that of its own process", async () => {
    const over = table();
    const { XDG_RUNTIME_DIR: runtime } = process.env;
    const other = mkdtempSync(join(tmpdir(), "hf-"));
    try {
      process.env["XDG_RUNTIME_DIR"] = other;
      const b = client(over, ring("local"));
      delete process.env["XDG_RUNTIME_DIR"];
      const a = client(over, ring("local"));
      await settled(20);
      const lease = await mutex(a, "a").acquire();
      process.env["XDG_RUNTIME_DIR"] = other;
      const { reads, lease: next } = await handOver(over, lease, b, SLOW);
      expect(reads).toBe(0);
      await next.release();
    } finally {
      restore("XDG_RUNTIME_DIR", runtime);
      rmSync(other, { recursive: true, force: true });
    }
  });

  it("removes the local sockets of processes that were killed, and no others", async () => {
    const { XDG_RUNTIME_DIR: runtime } = process.env;
    const other = mkdtempSync(join(tmpdir(), "hf-"));
    try {
      process.env["XDG_RUNTIME_DIR"] = other;
      const alive = client(table(), ring("local"));
      await mutex(alive, "a").acquire();
      const folder = join(other, "holdfast");
      const [living = ""] = readdirSync(folder);
      const [dead, young] = ["0123456789abcdef", "fedcba9876543210"];
      for (const name of [dead, young]) leaveSocket(join(folder, name));
      const old = new Date(Date.now() - 120_000);
      for (const name of [dead, living]) utimesSync(join(folder, name), old, old);
      const next = client(table(), ring("local"));
      await mutex(next, "a").acquire();
      await settled(100);
      expect(readdirSync(folder)).toEqual(expect.arrayContaining([living, young]));
      expect(existsSync(join(folder, dead))).toBe(false);
    } finally {
      restore("XDG_RUNTIME_DIR", runtime);
      await Promise.all(open.splice(0).map((one) => one.close()));
      rmSync(other, { recursive: true, force: true });
    }
  });

  it("refuses a folder whose sockets would have too long a path, and listens nowhere", async () => {
    const { XDG_RUNTIME_DIR: runtime, TMPDIR: temporary } = process.env;
    const base = mkdtempSync(join(tmpdir(), "hf-"));
    const long = join(base, "x".repeat(90));
    mkdirSync(long, { mode: 0o700 });
    try {
      process.env["XDG_RUNTIME_DIR"] = long;
      process.env["TMPDIR"] = long;
      const reported: HoldfastError[] = [];
      client(table(), ring("local"), reported);
      await settled(20);
      if (existsSync(`/run/user/${process.getuid?.()}`)) expect(reported).toEqual([]);
      else expect(reported[0]?.message).toContain("is too long");
      expect(readdirSync(base)).toEqual(["x".repeat(90)]);
      expect(readdirSync(long)).toEqual([]);
    } finally {
      restore("XDG_RUNTIME_DIR", runtime);
      restore("TMPDIR", temporary);
      rmSync(base, { recursive: true, force: true });
    }
  });

  it("keeps no process alive by a connection to a name with several addresses", () => {
    let unreferenced = 0;
    const socket = Object.assign(new EventEmitter(), {
      unref: () => {
        unreferenced += 1;
      },
      ...{ setNoDelay: () => undefined, setKeepAlive: () => undefined },
    });
    new SocketLine(socket as unknown as Socket, systemTimers).begin(
      { received: () => undefined, closed: () => undefined },
      "connect",
    );
    socket.emit("connect");
    // Once more for the handle by which it has connected.
    expect(unreferenced).toBe(2);
  });

  it("is not begun by a constructor that throws", async () => {
    const { port, server: taken } = await server(() => undefined);
    taken.close();
    await once(taken, "close");
    const wrong = sharedSession({ thread: true, mayBlock: "1s" });
    const options = { client: table(), table: "locks", ring: ring({ host: LOOPBACK, port }) };
    expect(() => new Holdfast({ ...options, sharedSession: wrong })).toThrow("mayBlock");
    await settled(20);
    const next = createServer().listen(port, LOOPBACK);
    await once(next, "listening");
    next.close();
  });

  it("tells a client that cannot listen, which works on", async () => {
    const { port } = await server(() => undefined);
    const reported: HoldfastError[] = [];
    const a = client(table(), ring({ host: LOOPBACK, port }), reported);
    await settled(20);
    expect(reported).toMatchObject([{ code: "misconfigured" }]);
    expect(reported[0]?.message).toContain("Nobody can ring this client");
    await (await mutex(a, "a").acquire()).release();
  });
});

// rule: protocol 130
describe("without a ring, the waiter polls as ever", () => {
  async function byPolls(advertise: string) {
    const over = table();
    const a = client(over, ring({ host: LOOPBACK, advertise }));
    const b = client(over, ring({ listen: false }));
    await settled(20);
    const { lease, tookMs, reads } = await handOver(over, await mutex(a, "a").acquire(), b);
    // The first poll comes 75 to 125 ms after the refusal.
    expect(tookMs).toBeLessThan(500);
    expect(reads).toBeGreaterThan(0);
    await lease.release();
  }

  it("if the port is shut", async () => {
    const { port, server: shut } = await server(() => undefined);
    await new Promise((done) => shut.close(done));
    await byPolls(`${LOOPBACK}:${port}`);
  });

  it("if a peer accepts and hangs", async () => {
    const { port } = await server(() => undefined);
    await byPolls(`${LOOPBACK}:${port}`);
  });

  it("if the address drops packets", () => byPolls("192.0.2.1:9"));

  it("if another client listens at the address now", async () => {
    const over = table();
    const first = client(over, ring({ host: LOOPBACK }));
    await settled(20);
    const lease = await mutex(first, "a").acquire();
    const { port } = markOf(over);
    // The holder's process goes on, and its port is another's.
    const { context } = first.parts;
    context.rings?.close();
    await settled(20);
    client(over, ring({ host: LOOPBACK, port }));
    await settled(20);
    const b = client(over, ring({ listen: false }));
    const { tookMs, reads } = await handOver(over, lease, b);
    expect(tookMs).toBeLessThan(500);
    expect(reads).toBeGreaterThan(0);
  });
});

describe("a client that listens", () => {
  async function held() {
    const over = table();
    const a = client(over, ring({ host: LOOPBACK }));
    await settled(20);
    const lease = await mutex(a, "a").acquire();
    return { over, a, lease, ...markOf(over) };
  }

  it("closes a connection with a wrong token, also with a right beginning, and says nothing", async () => {
    const { port, token, over, a, lease } = await held();
    expect(await closedAfter(port, bytesOf(FORGED))).toHaveLength(0);
    const nearly = Buffer.from(bytesOf(token));
    nearly[FRAME_BYTES - 1] = (nearly[FRAME_BYTES - 1] ?? 0) ^ 1;
    expect(await closedAfter(port, nearly, 1_000)).toHaveLength(0);
    expect(a).toBeDefined();
    const b = client(over, ring({ listen: false }));
    expect(await handOver(over, lease, b, SLOW)).toMatchObject({ reads: 0 });
  });

  it("closes a connection that sends no frame", async () => {
    const { port } = await held();
    expect(await closedAfter(port, Buffer.alloc(1 << 20, 0x47))).toHaveLength(0);
  });

  it("closes a connection that floods it with right tokens", async () => {
    const { port, token } = await held();
    const flood = Buffer.concat(Array.from({ length: 5_000 }, () => bytesOf(token)));
    const got = await closedAfter(port, flood);
    expect(got.length).toBeLessThanOrEqual(1_000 * FRAME_BYTES);
  });

  it("closes a connection that says nothing", async () => {
    const { port } = await held();
    expect(await closedAfter(port, Buffer.alloc(0))).toHaveLength(0);
  });

  it("reads its record a few times a second at most, however many say that it has a request", async () => {
    const { port, token, over } = await held();
    const asked = Buffer.from(encodeFrame({ kind: "asked", token }));
    const before = over.counts.consistentReads;
    const fromMs = performance.now();
    const socket = connect({ port, host: LOOPBACK });
    for (let sent = 0; sent < 100; sent += 1) {
      socket.write(asked);
      await settled(10);
    }
    socket.destroy();
    const reads = over.counts.consistentReads - before;
    const seconds = (performance.now() - fromMs) / 1_000;
    expect(reads).toBeGreaterThan(0);
    // At most four a second: a busy machine takes longer than a second for this.
    expect(reads).toBeLessThanOrEqual(4 * seconds + 1);
  });

  it("leaves no port open if its constructor refuses another option", async () => {
    const { port } = await held();
    await Promise.all(open.splice(0).map((one) => one.close()));
    const locks = { client: table(), table: "locks", ring: ring({ host: LOOPBACK, port }) };
    expect(() => new Holdfast({ ...locks, lease: "nonsense" })).toThrow("nonsense");
    await settled(20);
    const over = table();
    const reported: HoldfastError[] = [];
    await mutex(client(over, ring({ host: LOOPBACK, port }), reported), "a").acquire();
    expect([markOf(over).port, reported]).toEqual([port, []]);
  });

  it("looks at few of its leases for each new one", async () => {
    let reads = 0;
    const clock = {
      ...systemClock,
      monotonicMs: () => {
        reads += 1;
        return systemClock.monotonicMs();
      },
    };
    const locks = new Holdfast({
      ...{ client: table(), table: "locks", ring: ring({ host: LOOPBACK }) },
      ...{ environment: { clock }, lease: "1h" },
    });
    open.push(locks);
    const take = (name: string) => mutex(locks, name).acquire();
    const grants = async (count: number): Promise<number> => {
      const before = reads;
      for (let at = 0; at < count; at += 1) await (await take(`${count} ${at}`)).release();
      return (reads - before) / count;
    };
    const few = await grants(100);
    await Promise.all(Array.from({ length: 1_500 }, (_, at) => take(`held ${at}`)));
    await grants(1_600);
    expect(await grants(101)).toBeLessThan(few + 10);
  });

  it("closes its port and its connections with the client", async () => {
    const { port, over, a, token } = await held();
    const b = client(over, ring({ host: LOOPBACK }));
    const waiting = mutex(b, "a").acquire();
    await settled(50);
    const peer = connect({ port, host: LOOPBACK }, () => peer.write(bytesOf(token)));
    const ended = new Promise((done) => peer.resume().on("close", done));
    await settled(50);
    await a.close();
    await (await waiting).release();
    await ended;
    const refused = await new Promise((done) => {
      const late = connect({ port, host: LOOPBACK });
      late.on("error", (error) => done((error as NodeJS.ErrnoException).code));
    });
    expect(refused).toBe("ECONNREFUSED");
  });
});

// rule: protocol 132
describe("forged rings", () => {
  it("cost a waiter a bounded number of requests a grant, however many come", async () => {
    let rings = 0;
    const { port } = await server((socket) => {
      socket.on("data", (frame) => {
        const token = frame.subarray(2, FRAME_BYTES).toString("base64url");
        const free = Buffer.from(encodeFrame({ kind: "free", token }));
        const many = Buffer.concat(Array.from({ length: 100 }, () => free));
        const timer = setInterval(() => {
          rings += 100;
          socket.write(many);
        }, 10);
        socket.on("close", () => clearInterval(timer));
      });
    });
    const over = table();
    const a = client(over, ring({ host: LOOPBACK, advertise: `${LOOPBACK}:${port}` }));
    const b = client(over, ring({ listen: false }));
    await settled(20);
    const lease = await mutex(a, "a").acquire();
    const before = over.counts;
    const waiting = mutex(b, "a").acquire();
    await settled(1_000);
    const after = over.counts;
    expect(rings).toBeGreaterThan(1_000);
    // The claim, and at most three more by rings; the polls are as ever: 100 ms, then half as long again each time.
    expect(after.writes - before.writes).toBeLessThanOrEqual(4);
    expect(after.eventualReads - before.eventualReads).toBeLessThanOrEqual(6);
    await lease.release();
    await (await waiting).release();
  });
});

describe("ring()", () => {
  it.each([
    [{ host: "somewhere" }, "host"],
    [{ host: LOOPBACK, port: "9-1" }, "port"],
    [{ host: LOOPBACK, port: 70_000 }, "port"],
    [{ host: LOOPBACK, advertise: "no host" }, "advertise"],
    [{ listen: true }, "listen"],
    ["remote", "local"],
    [{ hosts: LOOPBACK }, "hosts"],
  ])("refuses %j", (options, named) => {
    expect(() => ring(options as never)).toThrow(named);
  });

  it("advertises another address than the bound one", async () => {
    for (const [advertise, expected] of [
      ["203.0.113.7:17400", "203.0.113.7:17400"],
      ["[2001:db8::7]:17400", "[2001:db8::7]:17400"],
      ["lock.example", /^lock\.example:\d+$/],
    ] as const) {
      const over = table();
      const a = client(over, ring({ host: LOOPBACK, advertise }));
      await settled(20);
      await mutex(a, "a").acquire();
      expect(markOf(over).address).toMatch(expected);
    }
  });
});

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { CLI_FILE } from "../../packages/cli/test/support.js";
import { grantHistory, history } from "../../packages/holdfast/src/admin/index.js";
import { election } from "../../packages/holdfast/src/election/index.js";
import { Holdfast, mutex, once, semaphore, writeLock } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { typeErrorsOf } from "../docs/type-check.js";
import { memoryServer } from "../support/memory-server.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { environmentFor, runFile, runTypeScript } from "./run.js";

const FOLDER = fileURLToPath(new URL("../../examples/", import.meta.url));
const files = readdirSync(FOLDER).filter((file) => file.endsWith(".ts"));

/** The expected output of each example: its lines, or a check of its lines. */
const PRINTS: Readonly<Record<string, readonly string[] | ((lines: readonly string[]) => void)>> = {
  "basic-run.ts": [
    "customer/42 is held by the first process",
    "another process gets null",
    "the work resolved to 42",
    "released, it is held by another process",
  ],
  "durable-execution.ts": [
    "fails after taking the lock",
    "fails while billing",
    "bills order 42: null for others",
    "SUCCEEDED billed",
    "it was replayed: true",
    "the lock is free",
  ],
  "conversation-turns.ts": [
    "replica 1 begins a turn",
    "a newer message stopped the turn for hello",
    "replica 2 begins a turn",
    "hello | wait | This answers hello and wait.",
    "a function begins a turn",
    "This answers thanks.",
  ],
  "guarded-transaction.ts": [
    "the first holder, before: written",
    "the first holder, after a takeover: refused",
    "the second holder: written",
    "the second fence is higher: true",
  ],
  "guarded-transaction-document.ts": ["while it is held: written", "after its release: refused"],
  "http-fastify.ts": ["200", "503 2"],
  "long-job-with-signal.ts": [
    "three steps are done; an operator frees the lock",
    "stopped: released-elsewhere",
    "all 50 steps were done: false",
  ],
  "raise-fences.ts": ["the next fence is higher: true"],
  "queue-consumer.ts": (lines) => {
    // Either worker may come first, depending on the network.
    expect(lines[0]).toMatch(/^worker [12]: (begins m[12] of|customer 42 is busy)/);
    expect(lines.join("\n")).toMatch(/^worker [12]: customer 42 is busy, puts m[12] back$/m);
    expect(lines.at(-1)).toBe("the queue is empty");
    const busy = new Map<string, string>();
    const done: string[] = [];
    for (const line of lines) {
      const [, verb, message = "", customer = ""] =
        /: (begins|ends) (\w+) of customer (\d+)$/.exec(line) ?? [];
      if (verb === "begins") {
        expect(busy.has(customer), line).toBe(false);
        busy.set(customer, message);
      } else if (verb === "ends") {
        expect(busy.get(customer)).toBe(message);
        busy.delete(customer);
        done.push(message);
      }
    }
    expect(done.sort()).toEqual(["m1", "m2", "m3"]);
  },
  "pollers-per-tenant.ts": (lines) => {
    const polls = new Map<string, string>();
    for (const line of lines) {
      const [, replica = "", verb, tenant = ""] =
        /^(replica \w) (polls|leaves) (\S+)$/.exec(line) ?? [];
      if (verb === "polls") {
        expect(polls.has(tenant), line).toBe(false);
        polls.set(tenant, replica);
      } else if (verb === "leaves") {
        expect(polls.get(tenant)).toBe(replica);
        polls.delete(tenant);
      }
    }
    expect(lines.filter((line) => !/polls|leaves/.test(line))).toEqual([
      "one replica: 6 tenants",
      "two replicas: 3 and 3 tenants",
      "replica a has stopped: 0 and 6 tenants",
    ]);
  },
  "sqs-batch.ts": (lines) => {
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe("m1: billed");
    expect(lines[1]).toBe("m2: customer 42 is busy");
    expect(lines[2]).toMatch(/^m3: .*JSON/);
    expect(lines[3]).toBe("m4: billed");
    expect(lines[4]).toBe("m5: too little time is left");
    const failed = ["m2", "m3", "m5"].map((itemIdentifier) => ({ itemIdentifier }));
    expect(JSON.parse(lines[5] ?? "")).toEqual({ batchItemFailures: failed });
  },
  "sync-once-more.ts": [
    "replica a copies revision 1",
    "webhook 2 of replica b: a copy by replica a follows",
    "webhook 3 of replica a: a copy by replica a follows",
    "webhook 4 of replica b: a copy by replica a follows",
    "webhook 1 of replica a: done",
    "replica a copies revision 4",
    "the copy has revision 4 after 2 copies",
  ],
};

describe("the examples", () => {
  const server = memoryServer();

  it("all have an expected output", () => {
    expect(files.sort()).toEqual(Object.keys(PRINTS).sort());
  });

  it.concurrent("pool-and-webhooks loses three leaders and passes its own checks", {
    timeout: 90_000,
  }, async () => {
    const program = `${FOLDER}pool-and-webhooks/main.mjs`;
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.startsWith("ok    ")).length).toBe(4);
    expect(lines.filter((line) => line.endsWith(" elected")).length).toBe(4);
  });

  it.concurrent("newest-deployment.sh stops the one in progress twice", {
    timeout: 60_000,
  }, async () => {
    const env = { ...process.env, ...environmentFor(server.endpoint, freshTable()) };
    const script = `holdfast() { "${process.execPath}" "${CLI_FILE}" "$@"; }; . "${FOLDER}newest-deployment.sh"`;
    const { stdout } = await promisify(execFile)("sh", ["-c", script], { env });
    const linesOf = (commit: string): string[] =>
      stdout.split("\n").filter((line) => line.startsWith(commit));
    for (const commit of ["commit 1", "commit 2"]) {
      expect(linesOf(commit)).toEqual([
        `${commit}: begins`,
        `${commit}: rolled back`,
        `${commit}: exit status 79`,
      ]);
    }
    expect(stdout.indexOf("commit 2: begins")).toBeGreaterThan(stdout.indexOf("rolled back"));
    expect(stdout).toContain("its holder, commit 2, was asked to stop.");
  });

  it.concurrent("raise-fences raises the fences of every kind, and no notes", async () => {
    const table = freshTable();
    const client = sdkClient(server.endpoint);
    await createTable({ client, table });
    const locks = new Holdfast({ client, table, history: grantHistory() });
    let occurrence = 0;
    const grants: Readonly<Record<string, () => Promise<bigint>>> = {
      lock: () => mutex(locks, "a").run(({ fence }) => fence),
      async leader() {
        const term = await election(locks, "a").campaign();
        await term.release();
        return term.fence;
      },
      async once() {
        occurrence += 1;
        let fence = 0n;
        await once(locks, "a", { occurrence: `${occurrence}` }, (lease) => {
          ({ fence } = lease);
        });
        return fence;
      },
      semaphore: () => semaphore(locks, "a", { permits: 2 }).run(({ fence }) => fence),
      "read-write lock": () => writeLock(locks, "a").run(({ fence }) => fence),
    };
    for (const grant of Object.values(grants)) await grant();
    const notes = (await history(locks, "a")).grants;
    const source = readFileSync(`${FOLDER}raise-fences.ts`, "utf8");
    const { errors } = await runTypeScript(source, environmentFor(server.endpoint, table));
    expect(errors).toBe("");
    expect((await history(locks, "a")).grants).toEqual(notes);
    const soon = BigInt(Date.now() + 23 * 3_600_000);
    const low: string[] = [];
    for (const [kind, grant] of Object.entries(grants)) if ((await grant()) < soon) low.push(kind);
    expect(low).toEqual([]);
    await locks.close();
    client.destroy();
  });

  // Between the two groups: the order of what the next ones print hangs on short times.
  it("have no type errors", { timeout: 120_000 }, () => {
    const sources = files.map((file) => {
      return { path: `examples/${file}`, text: readFileSync(`${FOLDER}${file}`, "utf8") };
    });
    expect(typeErrorsOf(sources)).toEqual([]);
  });

  it.concurrent.each(files)("%s prints the expected lines and exits", async (file) => {
    const source = readFileSync(`${FOLDER}${file}`, "utf8");
    const environment = environmentFor(server.endpoint, freshTable());
    const run = source.includes("LocalDurableTestRunner") ? runFile : runTypeScript;
    const { lines, errors, code } = await run(source, environment);
    expect({ errors, code }).toEqual({ errors: "", code: 0 });
    const expected = PRINTS[file];
    if (typeof expected === "function") expected(lines);
    else expect(lines).toEqual(expected);
  });
});

import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readWriteLock } from "../../../../test/support/read-write-lock.js";
import { grantHistory } from "../../../holdfast/src/admin/grant-history.js";
import { assign } from "../../../holdfast/src/assign/index.js";
import { election } from "../../../holdfast/src/election/index.js";
import {
  fairLock,
  Holdfast,
  type Lease,
  mutex,
  readLock,
  semaphore,
  sharedSession,
} from "../../../holdfast/src/index.js";
import { schedule } from "../../../holdfast/src/schedule/index.js";
import { pause, until } from "../support.js";
import { PageWorld } from "./world.js";

let world: PageWorld;
beforeEach(async () => {
  world = await PageWorld.start();
});
afterEach(() => world.close());

describe("the page", () => {
  it("lists, filters and sorts locks, by keyboard, also at 360 pixels", async () => {
    await using _ = await mutex(world.cli.locks, "deploy/eu").acquire();
    await using __ = await mutex(world.cli.locks, "billing").acquire();
    await world.open();
    await world.row("deploy/eu").waitFor();
    expect(await world.page.locator(".body .row").count()).toBe(2);
    await world.page.locator("input[type=search]").fill("bill");
    expect(await world.page.locator(".body .row").count()).toBe(1);
    await world.page.locator("input[type=search]").fill("");
    await world.page.locator("thead button").first().press("Enter");
    expect(await world.page.locator(".body .row").first().innerText()).toContain("deploy/eu");
    await world.page.setViewportSize({ width: 360, height: 640 });
    const isWide = "document.documentElement.scrollWidth > innerWidth";
    expect(await world.page.evaluate<boolean>(isWide)).toBe(false);
    await world.page.locator(".body .row a").first().press("Enter");
    await world.page.locator("h2", { hasText: "deploy/eu" }).waitFor();
    expect(await world.page.evaluate<boolean>(isWide)).toBe(false);
  });

  it("turns the bar red when the holder is killed, then shows the next holder", async () => {
    const first = await world.holder("job", "3s", "--owner", "first");
    await first.printed("runs");
    await world.open();
    await world.row("job").waitFor();
    await world.page.locator(".life.green, .life.amber").first().waitFor();
    process.kill(first.pid, "SIGKILL");
    await world.page.locator(".body .life.red").waitFor({ timeout: 30_000 });
    expect(await world.row("job").innerText()).toContain("first");
    const next = await world.holder("job", "3s", "--owner", "next");
    await world.page.locator(".body .row", { hasText: "next" }).waitFor({ timeout: 30_000 });
    await world.page.locator(".life.green, .life.amber").first().waitFor();
    await next.printed("runs");
  });

  it("shows a queue that moves", async () => {
    const lease = await fairLock(world.cli.locks, "q", { owner: "one" }).acquire();
    const fair = ["lock", "q", "--fair", "--wait", "60s", "--owner", "two", "--"];
    const two = world.cli.start([...fair, "sleep", "3"]);
    await world.open("#/record?kind=lock&name=q");
    await world.page.locator(".queue li", { hasText: "two" }).waitFor();
    await world.page.locator(".words", { hasText: "Held by one" }).waitFor();
    await lease.release();
    await world.page.locator(".words", { hasText: "Held by two" }).waitFor();
    await world.page.locator(".queue p", { hasText: "No waiters" }).waitFor();
    expect((await two.result).status).toBe(0);
  });

  it("releases by force after a reason and a typed name", async () => {
    const lease = await mutex(world.cli.locks, "stuck", { lease: "3s" }).acquire();
    await world.open("#/record?kind=lock&name=stuck");
    await world.page.locator("input[name=reason]").fill("it hangs");
    await world.page.locator("input[name=confirm]").fill("stuc");
    expect(await world.page.locator("button[type=submit]").isDisabled()).toBe(true);
    await world.page.locator("input[name=confirm]").fill("stuck");
    await world.page.locator("button[type=submit]").click();
    await world.page.locator("[role=status]", { hasText: "asked to release" }).waitFor();
    await until(() => lease.signal.aborted, "the holder is asked");
    expect(String(lease.signal.reason)).toContain("it hangs");
    await lease.release().catch(() => undefined);
  });

  it("releases a lock by force whose name cannot be typed, by the name as shown", async () => {
    const lease = await mutex(world.cli.locks, "a\nb", { lease: "3s" }).acquire();
    await world.open(`#/record?${new URLSearchParams({ kind: "lock", name: "a\nb" })}`);
    await world.page.locator("input[name=reason]").fill("it hangs");
    await world.page.locator("input[name=confirm]").fill("a\\u000ab");
    await world.page.locator("button[type=submit]").click();
    await until(() => lease.signal.aborted, "the holder is asked");
    await lease.release().catch(() => undefined);
  });

  it("says that the table does not answer, and keeps the last reading", async () => {
    await using _ = await mutex(world.cli.locks, "kept").acquire();
    await world.open();
    await world.row("kept").waitFor();
    const { dynamodb } = world.cli.server;
    const handle = dynamodb.handle.bind(dynamodb);
    dynamodb.handle = () => ({ status: 500, body: { __type: "InternalServerError" } });
    await world.page.locator("[role=alert]", { hasText: "Below is the last reading" }).waitFor();
    expect(await world.row("kept").count()).toBe(1);
    dynamodb.handle = handle;
  });

  it("shows markup, emoji and right-to-left text as text", async () => {
    const names = ["<img src=x onerror=alert(1)>", "🔒 lock 👩‍👩‍👧", "قفل/عربي", "a\u202egpj.exe"];
    const leases = await Promise.all(
      names.map((name) => mutex(world.cli.locks, name, { owner: `<b>${name}` }).acquire()),
    );
    await world.open();
    for (const text of [names[0], names[1], names[2], "a\\u202egpj.exe"]) {
      await world.row(text ?? "").waitFor();
    }
    expect(await world.page.locator("main img, .body b").count()).toBe(0);
    await world.page.locator("a", { hasText: "<img" }).click();
    await world.page.locator("h2", { hasText: "<img src=x onerror=alert(1)>" }).waitFor();
    await Promise.all(leases.map((lease) => lease.release()));
  });
});

/** The edges of the spans on the screen, in the order of time. */
const edges = () =>
  world.page.evaluate<{ left: number; right: number; isOn: boolean; text: string }[]>(
    `[...document.querySelectorAll(".span")].map((one) => {
      const { left, right } = one.getBoundingClientRect();
      return { left, right, isOn: one.classList.contains("on"), text: one.innerText };
    }).sort((a, b) => a.left - b.left)`,
  );

describe("the view of leaders", () => {
  it("shows terms as spans, with a gap for the time without a leader", async () => {
    const candidate = (owner: string) => election(world.cli.locks, "cron", { owner });
    const first = await candidate("one").campaign();
    await world.open("#/leaders");
    await world.page.locator(".span.on", { hasText: "one" }).waitFor();
    await first.release();
    await world.page.locator(".span:not(.on)", { hasText: "one" }).waitFor();
    await pause(2_500);
    const second = await candidate("two").campaign();
    await world.page.locator(".span.on", { hasText: "two" }).waitFor();
    const [before, after, ...others] = await edges();
    expect(others).toEqual([]);
    expect([before?.isOn, after?.isOn]).toEqual([false, true]);
    expect(before?.text).toContain("one");
    // A minute is at least 800 pixels wide here.
    expect((after?.left ?? 0) - (before?.right ?? 0)).toBeGreaterThan(20);
    await world.page.locator(".leader a", { hasText: "cron" }).click();
    await world.page.locator("h2", { hasText: /cron\s*leader/ }).waitFor();
    await world.page.locator(".words", { hasText: "Led by two" }).waitFor();
    await second.release();
  });

  it("shows noted terms from before the server's first reading, with open ends", async () => {
    await using client = new Holdfast({
      ...{ client: world.cli.client, table: "locks", history: grantHistory() },
    });
    const campaign = (owner: string) => election(client, "cron", { owner }).campaign();
    for (const owner of ["ann", "bob"]) {
      const term = await campaign(owner);
      await pause(600);
      await term.release();
    }
    await using _ = await campaign("cy");
    await client.drain();
    await world.open("#/leaders");
    await world.page.locator(".span", { hasText: "cy" }).waitFor();
    const found = await edges();
    expect(found.map(({ text }) => text.split(" ")[0])).toEqual(["ann", "bob", "cy"]);
    await world.page.locator("select").selectOption({ label: "Last 6 hours" });
    expect(await world.page.locator(".span.noted").count()).toBe(2);
    expect(await world.page.locator(".span.on").count()).toBe(1);
  });
});

describe("the view of schedules", () => {
  it("shows what failed first, and leads to the record", async () => {
    const { client } = world.cli;
    await using locks = new Holdfast({ client, table: "locks", onError: () => undefined });
    const work = { "a-good": () => undefined, failing: () => Promise.reject(new Error("no host")) };
    for (const [name, run] of Object.entries(work)) {
      await using job = schedule(locks, name, { every: "1s" }, run);
      job.start();
      const ended = () => job.health().lastSuccess ?? job.health().lastFailure;
      await until(() => ended() !== undefined, `${name} has run`);
    }
    await world.open("#/schedules");
    const row = (name: string) => world.page.locator(".schedules tbody tr", { hasText: name });
    await row("a-good").waitFor();
    expect(await row("a-good").innerText()).toMatch(/every 1s[\s\S]*completed/);
    const first = world.page.locator(".schedules tbody tr").first();
    expect(await first.innerText()).toMatch(
      /^failing[\s\S]*every 1s[\s\S]*failed[\s\S]*Error: no host/,
    );
    await world.page.setViewportSize({ width: 360, height: 640 });
    const isWide = "document.documentElement.scrollWidth > innerWidth";
    expect(await world.page.evaluate<boolean>(isWide)).toBe(false);
    await row("failing").locator("a").press("Enter");
    await world.page.locator("h2", { hasText: "failing" }).waitFor();
  });
});

describe("the view of assignments", () => {
  it("shows the members of a group, who has what, and who should", async () => {
    const run = (_: string, { signal }: Lease): Promise<void> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    await using one = assign(world.cli.locks, "work", { names: ["a", "b"], owner: "one", run });
    await one.start();
    await world.open("#/assignments");
    const group = world.page.locator(".part", { hasText: "2 names held" });
    await group.locator("p", { hasText: /^one\s*$/ }).waitFor();
    await group.locator("summary", { hasText: "has 2" }).waitFor();
    await group.locator("summary", { hasText: "should have 2" }).press("Enter");
    await group.locator("li a:visible", { hasText: "work/b" }).press("Enter");
    await world.page.locator("h2", { hasText: "work/b" }).waitFor();
  });
});

describe("the view of sessions", () => {
  it("leads to the records of each kind and namespace, and back", async () => {
    const { client } = world.cli;
    await using locks = new Holdfast({
      ...{ client, table: "locks", owner: "worker-7", sharedSession: sharedSession(), lease: "3s" },
    });
    const held = [
      await mutex(locks, "same").acquire(),
      await fairLock(locks, "same", { namespace: "eu" }).acquire(),
      await semaphore(locks, "same", { permits: 2 }).acquire(),
      await readLock(locks, "same").acquire(),
    ];
    await world.open("#/sessions");
    const session = world.page.locator(".session", { hasText: "worker-7" });
    await world.page.locator(".session summary", { hasText: "holds 4" }).waitFor();
    for (const [link, title] of [
      [/^same lock$/, /^same\s*lock$/],
      [/^same in eu lock$/, /^same\s*lock\s*eu$/],
      [/^same semaphore$/, /^same\s*semaphore$/],
      [/^same read-write$/, /^same\s*read-write$/],
    ] as const) {
      await world.open("#/sessions");
      await session.locator("summary").click();
      await session.locator("li", { hasText: link }).locator("a").click();
      await world.page.locator("h2", { hasText: title }).waitFor();
      await world.page.locator(".words", { hasText: "worker-7" }).waitFor();
    }
    await world.page.locator(".permits a", { hasText: "session" }).click();
    await world.page.locator(".session[open]", { hasText: "worker-7" }).waitFor();
    await session
      .locator("li", { hasText: /^same in eu lock$/ })
      .locator("a")
      .click();
    await world.page.locator(".besides", { hasText: "and 3 more" }).waitFor();
    await world.page.locator(".besides li a").first().click();
    await world.page.locator("h2", { hasText: /^same\s*lock$/ }).waitFor();
    for (const one of held) await one.release();
  });

  it("says that a session has ended", async () => {
    await using _ = await semaphore(world.cli.locks, "s", { permits: 1 }).acquire();
    await world.open("#/sessions?id=none");
    await world.page.locator(".hint", { hasText: "It may have ended" }).waitFor();
    expect(await world.page.locator(".session").count()).toBe(1);
    expect(await world.page.locator(".session[open]").count()).toBe(0);
  });
});

describe("the view of a semaphore", () => {
  it("shows permits and the queue, and a forced release lets the waiter in", async () => {
    const { client } = world.cli;
    const made = (owner: string) =>
      semaphore(new Holdfast({ client, table: "locks", owner, lease: "3s" }), "stripe", {
        permits: 2,
      });
    const ann = await made("ann").acquire();
    const bob = await made("bob").acquire();
    const cy = made("cy").acquire({ wait: "60s" });
    await world.open();
    await world.row("stripe").waitFor();
    const cells = async () => (await world.row("stripe").innerText()).split(/\s*[\t\n]\s*/);
    await world.page.locator(".body .c-waiters", { hasText: "1" }).waitFor();
    expect(await cells()).toEqual(
      expect.arrayContaining(["stripe", "semaphore", "ann, bob", "2 of 2"]),
    );
    await world.page.locator("a", { hasText: "stripe" }).click();
    await world.page
      .locator(".words", { hasText: "2 of 2 in use, by 2 permits: ann, bob" })
      .waitFor();
    await world.page.locator(".queue li", { hasText: "cy" }).waitFor();
    expect(await world.page.locator(".permits > ul > li").count()).toBe(2);
    await world.page.locator("input[name=reason]").fill("it hangs");
    await world.page.locator("input[name=confirm]").fill("stripe");
    // Which of the permits is for the operator to say.
    expect(await world.page.locator("button[type=submit]").isDisabled()).toBe(true);
    await world.page
      .locator("select[name=holder]")
      .selectOption({ label: `bob, fence ${bob.fence}` });
    await world.page.locator("button[type=submit]").click();
    await world.page.locator("[role=status]", { hasText: "bob was asked to release" }).waitFor();
    await until(() => bob.signal.aborted, "the holder is asked");
    expect(ann.isHeld).toBe(true);
    await bob.release().catch(() => undefined);
    await world.page.locator(".permits li", { hasText: "cy" }).waitFor();
    await world.page.locator(".queue p", { hasText: "No waiters." }).waitFor();
    await world.page
      .locator(".words", { hasText: "2 of 2 in use, by 2 permits: ann, cy" })
      .waitFor();
    await world.page.locator(".timeline .forced", { hasText: "it hangs" }).waitFor();
    await (await cy).release();
    await world.page.locator(".words", { hasText: "1 of 2 in use, by 1 permit: ann" }).waitFor();
    await ann.release();
  });

  it("turns the permit of a killed holder red, and keeps the other", async () => {
    const words = ["semaphore", "s", "--permits", "2", "--lease", "3s", "--owner", "dead", "--"];
    const dead = world.cli.spawn([...words, "sh", "-c", "echo runs; exec sleep 300"]);
    await dead.printed("runs");
    await using _ = await semaphore(world.cli.locks, "s", { permits: 2, owner: "alive" }).acquire();
    await world.open("#/record?kind=semaphore&name=s");
    await world.page.locator(".permits li.held", { hasText: "dead" }).waitFor();
    process.kill(dead.pid, "SIGKILL");
    await world.page.locator(".permits li.late, .permits li.silent", { hasText: "dead" }).waitFor();
    await world.page.locator(".permits li.held", { hasText: "alive" }).waitFor();
  });

  it("tells a reader from a writer", async () => {
    const lock = readWriteLock(world.cli.locks, "config", { owner: "ann" });
    const reader = await lock.read().acquire();
    await world.open("#/record?kind=read-write&name=config");
    await world.page.locator(".permits li", { hasText: "reader" }).waitFor();
    await reader.release();
    await using _ = await lock.write().acquire();
    await world.page.locator(".permits li", { hasText: "writer" }).waitFor();
    await world.page.locator(".words", { hasText: "Held by a writer: ann" }).waitFor();
  });
});

describe("the page of 10,000 locks", () => {
  it("renders only the rows in view, and reports its times", async () => {
    const lease = await mutex(world.cli.locks, "bulk/0", { lease: "10m" }).acquire();
    const { Items: [found] = [] } = await world.cli.client.send(
      new ScanCommand({ TableName: "locks" }),
    );
    const text = JSON.stringify(found);
    for (let at = 1; at < 10_000; at += 1) {
      const Item = JSON.parse(text.replaceAll("bulk/0", `bulk/${at}`));
      world.cli.server.dynamodb.handle("PutItem", { TableName: "locks", Item });
    }
    world.url = await world.served("5s");
    const token = new URL(world.url).searchParams.get("token");
    await fetch(new URL("/api/table", world.url), {
      headers: { authorization: `Bearer ${token}` },
    });
    await world.open();
    await world.page.locator(".body .row").first().waitFor();
    const paintMs = await world.page.evaluate<number>(
      `performance.now() - performance.getEntriesByType("resource")
        .find(({ name }) => name.includes("/api/table")).responseEnd`,
    );
    expect(await world.page.locator(".count").innerText()).toContain("10000 of 10000");
    expect(await world.page.locator(".body .row").count()).toBeLessThan(80);
    const tasks = await world.page.evaluate<number[]>(`new Promise((resolve) => {
      const found = [];
      new PerformanceObserver((list) => found.push(...list.getEntries().map((one) => one.duration)))
        .observe({ entryTypes: ["longtask"] });
      const box = document.querySelector(".body");
      let step = 0;
      const scroll = () => {
        box.scrollTop = (step += 1) * 3000;
        if (step < 130) requestAnimationFrame(scroll);
        else setTimeout(() => resolve(found), 500);
      };
      scroll();
    })`);
    const most = Math.round(Math.max(0, ...tasks));
    console.log(
      `10,000 locks: first rows ${Math.round(paintMs)} ms after the reading arrived; ` +
        `${tasks.length} long tasks while scrolling, the longest ${most} ms.`,
    );
    expect(await world.page.locator(".body .row").count()).toBeLessThan(80);
    await lease.release();
  });
});

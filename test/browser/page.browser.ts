import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/index.js";
import { CliWorld, pause, until } from "../cli/support.js";
import { type Browser, type Page, startBrowser } from "./browser.js";

let cli: CliWorld;
let url: string;
let browser: Browser;
let page: Page;
let problems: string[];

beforeEach(async () => {
  cli = await CliWorld.start();
  url = await served();
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1200, height: 720 } });
  problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL("/", url).href))
      problems.push(`The page asked ${request.url()}`);
  });
});
afterEach(async () => {
  await browser.close();
  await cli.close();
  expect(problems).toEqual([]);
});

/** Starts the built command. Returns the URL that it prints. */
async function served(refresh = "500ms"): Promise<string> {
  const words = ["serve", "--refresh", refresh, "--allow-release"];
  const { child, printed } = cli.start(words);
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  await printed("\n");
  return text.trim();
}

const open = (hash = "") => page.goto(`${url}${hash}`);
const row = (name: string) => page.locator(".body .row", { hasText: name });

/** Holds a lock in a process of its own. */
async function holder(name: string, lease: string, ...more: string[]) {
  const words = ["lock", name, "--lease", lease, "--wait", "60s", ...more];
  const running = cli.start([...words, "--", "sh", "-c", "echo runs; exec sleep 300"]);
  return running;
}

describe("the page", () => {
  it("lists, filters and sorts locks, by keyboard, also at 360 pixels", async () => {
    await using _ = await cli.locks.mutex("deploy/eu").acquire();
    await using __ = await cli.locks.mutex("billing").acquire();
    await open();
    await row("deploy/eu").waitFor();
    expect(await page.locator(".body .row").count()).toBe(2);
    await page.locator("input[type=search]").fill("bill");
    expect(await page.locator(".body .row").count()).toBe(1);
    await page.locator("input[type=search]").fill("");
    await page.locator(".head button").first().press("Enter");
    expect(await page.locator(".body .row").first().innerText()).toContain("deploy/eu");
    await page.setViewportSize({ width: 360, height: 640 });
    const isWide = "document.documentElement.scrollWidth > innerWidth";
    expect(await page.evaluate<boolean>(isWide)).toBe(false);
    await page.locator(".body .row a").first().press("Enter");
    await page.locator("h2", { hasText: "deploy/eu" }).waitFor();
    expect(await page.evaluate<boolean>(isWide)).toBe(false);
  });

  it("turns the bar red when the holder is killed, then shows the next holder", async () => {
    const first = await holder("job", "3s", "--owner", "first");
    await first.printed("runs");
    await open();
    await row("job").waitFor();
    await page.locator(".life.green, .life.amber").first().waitFor();
    process.kill(first.pid, "SIGKILL");
    await page.locator(".body .life.red").waitFor({ timeout: 30_000 });
    expect(await row("job").innerText()).toContain("first");
    const next = await holder("job", "3s", "--owner", "next");
    await page.locator(".body .row", { hasText: "next" }).waitFor({ timeout: 30_000 });
    await page.locator(".life.green, .life.amber").first().waitFor();
    await next.printed("runs");
  });

  it("shows a queue that moves", async () => {
    const lease = await cli.locks.fairLock("q", { owner: "one" }).acquire();
    const fair = ["lock", "q", "--fair", "--wait", "60s", "--owner", "two", "--"];
    const two = cli.start([...fair, "sleep", "3"]);
    await open("#/record?kind=lock&name=q");
    await page.locator(".queue li", { hasText: "two" }).waitFor();
    await page.locator(".words", { hasText: "Held by one" }).waitFor();
    await lease.release();
    await page.locator(".words", { hasText: "Held by two" }).waitFor();
    await page.locator(".queue p", { hasText: "No waiters" }).waitFor();
    expect((await two.result).status).toBe(0);
  });

  it("releases by force after a reason and a typed name", async () => {
    const lease = await cli.locks.mutex("stuck", { lease: "3s" }).acquire();
    await open("#/record?kind=lock&name=stuck");
    await page.locator("input[name=reason]").fill("it hangs");
    await page.locator("input[name=confirm]").fill("stuc");
    expect(await page.locator("button[type=submit]").isDisabled()).toBe(true);
    await page.locator("input[name=confirm]").fill("stuck");
    await page.locator("button[type=submit]").click();
    await page.locator("[role=status]", { hasText: "asked to release" }).waitFor();
    await until(() => lease.signal.aborted, "the holder is asked");
    expect(String(lease.signal.reason)).toContain("it hangs");
    await lease.release().catch(() => undefined);
  });

  it("says that the table does not answer, and keeps the last reading", async () => {
    await using _ = await cli.locks.mutex("kept").acquire();
    await open();
    await row("kept").waitFor();
    const { dynamodb } = cli.server;
    const handle = dynamodb.handle.bind(dynamodb);
    dynamodb.handle = () => ({ status: 500, body: { __type: "InternalServerError" } });
    await page.locator("[role=alert]", { hasText: "Below is the last reading" }).waitFor();
    expect(await row("kept").count()).toBe(1);
    dynamodb.handle = handle;
  });

  it("shows markup, emoji and right-to-left text as text", async () => {
    const names = ["<img src=x onerror=alert(1)>", "🔒 lock 👩‍👩‍👧", "قفل/عربي", "a\u202egpj.exe"];
    const leases = await Promise.all(
      names.map((name) => cli.locks.mutex(name, { owner: `<b>${name}` }).acquire()),
    );
    await open();
    for (const text of [names[0], names[1], names[2], "a\\u202egpj.exe"]) {
      await row(text ?? "").waitFor();
    }
    expect(await page.locator("main img, .body b").count()).toBe(0);
    await page.locator("a", { hasText: "<img" }).click();
    await page.locator("h2", { hasText: "<img src=x onerror=alert(1)>" }).waitFor();
    await Promise.all(leases.map((lease) => lease.release()));
  });
});

/** The edges of the spans on the screen, in the order of time. */
const edges = () =>
  page.evaluate<{ left: number; right: number; isOn: boolean; text: string }[]>(
    `[...document.querySelectorAll(".span")].map((one) => {
      const { left, right } = one.getBoundingClientRect();
      return { left, right, isOn: one.classList.contains("on"), text: one.innerText };
    }).sort((a, b) => a.left - b.left)`,
  );

describe("the view of leaders", () => {
  it("shows terms as spans, with a gap for the time without a leader", async () => {
    const election = (owner: string) => cli.locks.election("cron", { owner });
    const first = await election("one").campaign();
    await open("#/leaders");
    await page.locator(".span.on", { hasText: "one" }).waitFor();
    await first.resign();
    await page.locator(".span:not(.on)", { hasText: "one" }).waitFor();
    await pause(2_500);
    const second = await election("two").campaign();
    await page.locator(".span.on", { hasText: "two" }).waitFor();
    const [before, after, ...others] = await edges();
    expect(others).toEqual([]);
    expect([before?.isOn, after?.isOn]).toEqual([false, true]);
    expect(before?.text).toContain("one");
    // A minute is at least 800 pixels wide here.
    expect((after?.left ?? 0) - (before?.right ?? 0)).toBeGreaterThan(20);
    await page.locator(".leader a", { hasText: "cron" }).click();
    await page.locator("h2", { hasText: /cron\s*leader/ }).waitFor();
    await page.locator(".words", { hasText: "Led by two" }).waitFor();
    await second.resign();
  });
});

describe("the view of sessions", () => {
  it("leads to the records of each kind and namespace, and back", async () => {
    const { client } = cli;
    await using locks = new Holdfast({
      ...{ client, table: "locks", owner: "worker-7", sharedSession: true, lease: "3s" },
    });
    const held = [
      await locks.mutex("same").acquire(),
      await locks.fairLock("same", { namespace: "eu" }).acquire(),
      await locks.semaphore("same", { permits: 2 }).acquire(),
      await locks.readWriteLock("same").read().acquire(),
    ];
    await open("#/sessions");
    const session = page.locator(".session", { hasText: "worker-7" });
    await page.locator(".session summary", { hasText: "holds 4" }).waitFor();
    for (const [link, title] of [
      [/^same lock$/, /^same\s*lock$/],
      [/^same in eu lock$/, /^same\s*lock\s*eu$/],
      [/^same semaphore$/, /^same\s*semaphore$/],
      [/^same read-write$/, /^same\s*read-write$/],
    ] as const) {
      await open("#/sessions");
      await session.locator("summary").click();
      await session.locator("li", { hasText: link }).locator("a").click();
      await page.locator("h2", { hasText: title }).waitFor();
      await page.locator(".words", { hasText: "worker-7" }).waitFor();
    }
    await page.locator(".permits a", { hasText: "session" }).click();
    await page.locator(".session[open]", { hasText: "worker-7" }).waitFor();
    await session
      .locator("li", { hasText: /^same in eu lock$/ })
      .locator("a")
      .click();
    await page.locator(".besides", { hasText: "and 3 more" }).waitFor();
    await page.locator(".besides li a").first().click();
    await page.locator("h2", { hasText: /^same\s*lock$/ }).waitFor();
    for (const one of held) await one.release();
  });

  it("says that a session has ended", async () => {
    await using _ = await cli.locks.semaphore("s", { permits: 1 }).acquire();
    await open("#/sessions?id=none");
    await page.locator(".hint", { hasText: "It may have ended" }).waitFor();
    expect(await page.locator(".session").count()).toBe(1);
    expect(await page.locator(".session[open]").count()).toBe(0);
  });
});

describe("the view of a semaphore", () => {
  it("shows permits and the queue, and a forced release lets the waiter in", async () => {
    const { client } = cli;
    const made = (owner: string) =>
      new Holdfast({ client, table: "locks", owner, lease: "3s" }).semaphore("stripe", {
        permits: 2,
      });
    const ann = await made("ann").acquire();
    const bob = await made("bob").acquire();
    const cy = made("cy").acquire({ wait: "60s" });
    await open();
    await row("stripe").waitFor();
    const cells = async () => (await row("stripe").innerText()).split(/\s*\n\s*/);
    await page.locator(".body .c-waiters", { hasText: "1" }).waitFor();
    expect(await cells()).toEqual(
      expect.arrayContaining(["stripe", "semaphore", "ann, bob", "2 of 2"]),
    );
    await page.locator("a", { hasText: "stripe" }).click();
    await page.locator(".words", { hasText: "2 of 2 in use, by 2 permits: ann, bob" }).waitFor();
    await page.locator(".queue li", { hasText: "cy" }).waitFor();
    expect(await page.locator(".permits > ul > li").count()).toBe(2);
    await page.locator("input[name=reason]").fill("it hangs");
    await page.locator("input[name=confirm]").fill("stripe");
    // Which of the permits is for the operator to say.
    expect(await page.locator("button[type=submit]").isDisabled()).toBe(true);
    await page.locator("select[name=holder]").selectOption({ label: `bob, fence ${bob.fence}` });
    await page.locator("button[type=submit]").click();
    await page.locator("[role=status]", { hasText: "bob was asked to release" }).waitFor();
    await until(() => bob.signal.aborted, "the holder is asked");
    expect(ann.isHeld).toBe(true);
    await bob.release().catch(() => undefined);
    await page.locator(".permits li", { hasText: "cy" }).waitFor();
    await page.locator(".queue p", { hasText: "No waiters." }).waitFor();
    await page.locator(".words", { hasText: "2 of 2 in use, by 2 permits: ann, cy" }).waitFor();
    await page.locator(".timeline .forced", { hasText: "it hangs" }).waitFor();
    await (await cy).release();
    await page.locator(".words", { hasText: "1 of 2 in use, by 1 permit: ann" }).waitFor();
    await ann.release();
  });

  it("turns the permit of a killed holder red, and keeps the other", async () => {
    const words = ["semaphore", "s", "--permits", "2", "--lease", "3s", "--owner", "dead", "--"];
    const dead = cli.start([...words, "sh", "-c", "echo runs; exec sleep 300"]);
    await dead.printed("runs");
    await using _ = await cli.locks.semaphore("s", { permits: 2, owner: "alive" }).acquire();
    await open("#/record?kind=semaphore&name=s");
    await page.locator(".permits li.held", { hasText: "dead" }).waitFor();
    process.kill(dead.pid, "SIGKILL");
    await page.locator(".permits li.late, .permits li.silent", { hasText: "dead" }).waitFor();
    await page.locator(".permits li.held", { hasText: "alive" }).waitFor();
  });

  it("tells a reader from a writer", async () => {
    const lock = cli.locks.readWriteLock("config", { owner: "ann" });
    const reader = await lock.read().acquire();
    await open("#/record?kind=read-write&name=config");
    await page.locator(".permits li", { hasText: "reader" }).waitFor();
    await reader.release();
    await using _ = await lock.write().acquire();
    await page.locator(".permits li", { hasText: "writer" }).waitFor();
    await page.locator(".words", { hasText: "Held by a writer: ann" }).waitFor();
  });
});

describe("the page of 10,000 locks", () => {
  it("renders only the rows in view, and reports its times", async () => {
    const lease = await cli.locks.mutex("bulk/0", { lease: "10m" }).acquire();
    const { Items: [found] = [] } = await cli.client.send(new ScanCommand({ TableName: "locks" }));
    const text = JSON.stringify(found);
    for (let at = 1; at < 10_000; at += 1) {
      const Item = JSON.parse(text.replaceAll("bulk/0", `bulk/${at}`));
      cli.server.dynamodb.handle("PutItem", { TableName: "locks", Item });
    }
    url = await served("5s");
    const token = new URL(url).searchParams.get("token");
    await fetch(new URL("/api/table", url), { headers: { authorization: `Bearer ${token}` } });
    await open();
    await page.locator(".body .row").first().waitFor();
    const paintMs = await page.evaluate<number>(
      `performance.now() - performance.getEntriesByType("resource")
        .find(({ name }) => name.includes("/api/table")).responseEnd`,
    );
    expect(await page.locator(".count").innerText()).toContain("10000 of 10000");
    expect(await page.locator(".body .row").count()).toBeLessThan(80);
    const tasks = await page.evaluate<number[]>(`new Promise((resolve) => {
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
    expect(await page.locator(".body .row").count()).toBeLessThan(80);
    await lease.release();
  });
});

const folder = process.env["SCREENSHOTS"];
describe.runIf(folder !== undefined)("the pictures of the documents", () => {
  it("are taken in light and dark", async () => {
    mkdirSync(folder ?? "", { recursive: true });
    const { locks } = cli;
    const owners = ["worker-7", "worker-2", "ci-runner-3", "api-1"];
    const held = await Promise.all(
      ["billing/invoices", "deploy/eu", "deploy/us", "import/products", "nightly-report"].map(
        (name, at) => locks.mutex(name, { owner: owners[at % 4] ?? "" }).acquire(),
      ),
    );
    const dead = await holder("export/orders", "3s", "--owner", "worker-9");
    await dead.printed("runs");
    const lease = await locks.fairLock("queue/jobs", { owner: "worker-7" }).acquire();
    const waiting = ["worker-2", "worker-4", "api-1"].map((owner) =>
      cli.start(["lock", "queue/jobs", "--fair", "--wait", "60s", "--owner", owner, "--", "true"]),
    );
    process.kill(dead.pid, "SIGKILL");
    await open();
    await page.locator(".body .life.red").waitFor({ timeout: 30_000 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.screenshot({ path: join(folder ?? "", "serve-light.png") });
    await page.locator("a", { hasText: "queue/jobs" }).click();
    await page.locator(".queue li").first().waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.screenshot({ path: join(folder ?? "", "serve-dark.png") });
    await Promise.all([...held, lease].map((one) => one.release()));
    await Promise.all(waiting.map(({ result }) => result));
  });
});

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "vitest";
import { grantHistory } from "../../../holdfast/src/admin/grant-history.js";
import { listQueue } from "../../../holdfast/src/admin/index.js";
import { election } from "../../../holdfast/src/election/index.js";
import {
  fairLock,
  Holdfast,
  mutex,
  readLock,
  semaphore,
  sharedSession,
} from "../../../holdfast/src/index.js";
import { until } from "../support.js";
import { PageWorld } from "./world.js";

let world: PageWorld;
beforeEach(async () => {
  world = await PageWorld.start();
});
afterEach(() => world.close());

const folder = process.env["SCREENSHOTS"];

describe.runIf(folder !== undefined)("the pictures of the documents", () => {
  const shoot = async (name: string, colorScheme: "light" | "dark"): Promise<void> => {
    await world.page.emulateMedia({ colorScheme });
    await world.page.screenshot({ path: join(folder ?? "", name) });
  };

  it("are taken in light and dark", async () => {
    mkdirSync(folder ?? "", { recursive: true });
    const clients = await scene();
    await world.open();
    await world.page.locator(".body .life.red").waitFor({ timeout: 30_000 });
    await world.page.locator(".body .c-waiters", { hasText: "3" }).waitFor();
    await shoot("serve-light.png", "light");
    await world.page.locator("a", { hasText: "queue/jobs" }).click();
    await world.page.locator(".timeline li").first().waitFor();
    await world.page.setViewportSize({ width: 1200, height: 840 });
    await shoot("serve-dark.png", "dark");
    await Promise.all(clients.map((one) => one.close()));
  });
});

/** Holders and waiters of all kinds. Returns their clients. */
async function scene(): Promise<Holdfast[]> {
  const made = (owner: string) =>
    new Holdfast({
      ...{
        client: world.cli.client,
        table: "locks",
        owner,
        history: grantHistory(),
        sharedSession: sharedSession(),
      },
    });
  const clients = ["worker-7", "worker-2", "worker-4", "api-1", "ci-runner-3"].map(made);
  const [seven, two, four, api, ci] = clients as [Holdfast, Holdfast, Holdfast, Holdfast, Holdfast];
  await (await fairLock(two, "queue/jobs").acquire()).release();
  await (await fairLock(four, "queue/jobs").acquire()).release();
  await Promise.all([
    mutex(seven, "billing/invoices").acquire(),
    mutex(ci, "deploy/eu").acquire(),
    election(seven, "scheduler").campaign(),
    readLock(api, "config/prices").acquire(),
    readLock(two, "config/prices").acquire(),
    semaphore(api, "pay/stripe", { permits: 5 }).acquire({ weight: 2 }),
    semaphore(two, "pay/stripe", { permits: 5 }).acquire(),
    fairLock(seven, "queue/jobs").acquire(),
  ]);
  const dead = world.holder("export/orders", "3s", "--owner", "worker-9");
  await dead.printed("runs");
  process.kill(dead.pid, "SIGKILL");
  for (const [at, client] of [two, four, api].entries()) {
    fairLock(client, "queue/jobs")
      .acquire({ wait: "60s" })
      .catch(() => undefined);
    let count = 0;
    const counted = async () => {
      count = (await listQueue(ci, "queue/jobs")).waiters.length;
    };
    await until(() => {
      void counted();
      return count > at;
    }, "the waiter has a place");
  }
  return clients;
}

import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mutex } from "../../../holdfast/src/index.js";
import { shell, until } from "../support.js";
import { PageWorld } from "./world.js";

let world: PageWorld;
beforeEach(async () => {
  world = await PageWorld.start();
});
afterEach(() => world.close());

const MOST_STEPS = 60;

/** Presses a key until the element with this label has the focus, and checks that the focus can be seen. */
async function moveTo(label: string, key = "Tab"): Promise<void> {
  const passed: string[] = [];
  while (passed.length < MOST_STEPS) {
    await world.page.keyboard.press(key);
    const { found, outline } = await world.page.evaluate<{ found: string; outline: string }>(
      `(({ ariaLabel, name, innerText }, { outlineStyle }) =>
        ({ found: ariaLabel || innerText || name || "", outline: outlineStyle }))(
        document.activeElement, getComputedStyle(document.activeElement))`,
    );
    passed.push(found);
    if (!found.startsWith(label)) continue;
    expect(outline).not.toBe("none");
    return;
  }
  throw new Error(`The focus never came to "${label}": ${passed.join(" | ")}`);
}

const press = (key: string) => world.page.keyboard.press(key);
const type = (text: string) => world.page.keyboard.type(text);

describe("the keyboard alone", () => {
  it("reaches the views, the filter, the sorting, a lock, its commands and its release", async () => {
    const { cli, page } = world;
    const lease = await mutex(cli.locks, "jobs/1", { lease: "3s" }).acquire();
    await using _ = await mutex(cli.locks, "other").acquire();
    await world.open();
    await world.row("jobs/1").waitFor();
    await moveTo("Leaders");
    await press("Enter");
    await page.locator(".empty", { hasText: "No leader" }).waitFor();
    expect(await page.evaluate<string>("document.activeElement.tagName")).toBe("MAIN");
    await moveTo("Locks", "Shift+Tab");
    await press("Enter");
    await moveTo("Filter");
    await type("jobs");
    await page.locator(".count", { hasText: "1 of 2" }).waitFor();
    await moveTo("Which locks");
    await press("ArrowDown");
    await page.locator(".empty", { hasText: "No lock fits" }).waitFor();
    await press("ArrowUp");
    await moveTo("Owner");
    await press("Enter");
    await page.locator("th[aria-sort=ascending]", { hasText: "Owner" }).waitFor();
    await press("Space");
    await page.locator("th[aria-sort=descending]", { hasText: "Owner" }).waitFor();
    await moveTo("jobs/1");
    await press("Enter");
    await page.locator("h2", { hasText: "jobs/1" }).waitFor();
    await moveTo("Copy");
    await press("Enter");
    await page.locator(".copy", { hasText: "Copied" }).waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    const inspected = await shell(cli, copied);
    expect(inspected).toMatchObject({ status: 0, stdout: expect.stringContaining(lease.holder) });
    await moveTo("reason");
    await type("it hangs");
    await moveTo("confirm");
    await type("jobs/1");
    await moveTo("Ask the holder");
    await press("Enter");
    await until(() => lease.signal.aborted, "the holder is asked");
    await lease.release().catch(() => undefined);
    await moveTo("← All locks", "Shift+Tab");
    await press("Enter");
    await page.locator(".count", { hasText: "0 of 2" }).waitFor();
  });

  it("moves on through rows that were not in the document", async () => {
    await using _ = await mutex(world.cli.locks, "bulk/000", { lease: "10m" }).acquire();
    const { Items: [found] = [] } = await world.cli.client.send(
      new ScanCommand({ TableName: "locks" }),
    );
    const text = JSON.stringify(found);
    for (let at = 1; at < 200; at += 1) {
      const Item = JSON.parse(text.replaceAll("bulk/000", `bulk/${String(at).padStart(3, "0")}`));
      world.cli.server.dynamodb.handle("PutItem", { TableName: "locks", Item });
    }
    await world.open();
    await world.page.locator(".count", { hasText: "200 of 200" }).waitFor();
    expect(await world.page.locator("a", { hasText: "bulk/059" }).count()).toBe(0);
    await moveTo("Waiters");
    for (let at = 0; at < 60; at += 1) {
      await press("Tab");
      const link = await world.page.evaluate<string>("document.activeElement.innerText");
      expect(link).toBe(`bulk/${String(at).padStart(3, "0")}`);
    }
    const isInView = `(({ top, bottom }) => top > 0 && bottom < innerHeight)(
      document.activeElement.getBoundingClientRect())`;
    expect(await world.page.evaluate<boolean>(isInView)).toBe(true);
  });
});

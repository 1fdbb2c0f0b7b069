import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { CliWorld, type Spawned } from "../support.js";

/** A table in memory, the built command `holdfast serve` over it, and its page in a browser. */
export class PageWorld {
  readonly cli: CliWorld;
  readonly page: Page;
  url: string;
  readonly #browser: Browser;
  readonly #problems: string[] = [];

  private constructor(cli: CliWorld, browser: Browser, page: Page) {
    this.cli = cli;
    this.#browser = browser;
    this.page = page;
    this.url = "";
    page.on("pageerror", (error) => this.#problems.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(new URL("/", this.url).href))
        this.#problems.push(`The page asked ${request.url()}`);
    });
  }

  static async start(): Promise<PageWorld> {
    const cli = await CliWorld.start({ spawning: true });
    const browser = await chromium.launch({
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      // node scripts/browser/run.mjs finds the browser of this machine.
      ...(process.env["CHROMIUM"] && { executablePath: process.env["CHROMIUM"] }),
    });
    const page = await browser.newPage({
      viewport: { width: 1200, height: 720 },
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const world = new PageWorld(cli, browser, page);
    world.url = await world.served();
    return world;
  }

  /** Starts the built command. Returns the URL that it prints. */
  async served(refresh = "500ms"): Promise<string> {
    const words = ["serve", "--refresh", refresh, "--allow-release"];
    const { printed, text } = this.cli.start(words);
    await printed("\n");
    return text.stdout.trim();
  }

  open(hash = ""): Promise<unknown> {
    return this.page.goto(`${this.url}${hash}`);
  }

  row(name: string) {
    return this.page.locator(".body .row", { hasText: name });
  }

  /** Holds a lock in a process of its own. */
  holder(name: string, lease: string, ...more: string[]): Spawned {
    const words = ["lock", name, "--lease", lease, "--wait", "60s", ...more];
    return this.cli.spawn([...words, "--", "sh", "-c", "echo runs; exec sleep 300"]);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.cli.close();
    expect(this.#problems).toEqual([]);
  }
}

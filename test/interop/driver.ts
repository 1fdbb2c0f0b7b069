import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  type AnyDriverName,
  type DriverName,
  driverCommand,
} from "../../scripts/lib/interop-drivers.mjs";

/** This library, or the client of a format. */
export type ClientName = AnyDriverName | "holdfast";

/** How a driver opens its client; what is left out is the client's own default. README.md explains each. */
export interface Opening {
  /** Which format this library is to speak; other clients have one. */
  readonly format?: DriverName;
  readonly endpoint: string;
  readonly table: string;
  readonly partitionKey?: string;
  readonly sortKey?: string;
  readonly owner?: string;
  readonly leaseMs?: number;
  readonly beatMs?: number;
  readonly beats?: boolean;
  readonly pollMs?: number;
  readonly trustLocalTime?: boolean;
  readonly bucket?: string;
  readonly accessKey?: string;
  readonly timeoutMs?: number;
}

/** What to acquire, and how. */
export interface Acquiring {
  readonly name: string;
  readonly sort?: string;
  /** Not at all; this many milliseconds, by the client's own idea of it; or as long as it takes. */
  readonly wait?: false | number | "forever";
  readonly pollMs?: number;
  readonly retries?: number;
  readonly data?: string;
  readonly replaceData?: boolean;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly deleteOnRelease?: boolean;
  readonly onlyIfExists?: boolean;
  readonly update?: boolean;
  readonly consistent?: boolean;
  readonly reentrant?: boolean;
  readonly safeMs?: number;
}

/** How to release; a client that lacks what is asked for says so. */
export interface Releasing {
  readonly delete?: boolean;
  readonly data?: string;
  readonly bestEffort?: boolean;
  readonly drop?: boolean;
}

/** What to change with a heartbeat. */
export interface Beating {
  readonly data?: string;
  readonly deleteData?: boolean;
  readonly ensureMs?: number;
  readonly retries?: number;
  readonly ownerOnly?: boolean;
}

/** What a client tells of a lock; each tells something else. */
export type SeenLock = Readonly<Record<string, unknown>>;

/** The answer to an acquisition. */
export interface Acquired {
  readonly granted: boolean;
  /** Names the hold in later steps; there if it was granted. */
  readonly hold?: string;
  /** The client's fencing token, where it has one. */
  readonly fence?: number;
  readonly lock?: SeenLock;
  readonly because?: string;
}

type LocalQueue = Readonly<Record<string, unknown>>;

/** A step that the client has no counterpart for. It is never imitated. */
export class UnsupportedStep extends Error {}

/** A step that failed; `kind` is what the client calls the failure. */
export class FailedStep extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(`${kind}: ${message}`);
    this.kind = kind;
  }
}

const LIMIT_MS = 30_000;

const OURS = {
  program: process.execPath,
  args: [fileURLToPath(new URL("holdfast/driver.mjs", import.meta.url))],
};

/**
 * A process around another lock client, which takes steps and answers them. Steps may overlap: one that
 * waits does not keep the next from being carried out. Give it an end, by `quit` or `kill`.
 */
export class Driver {
  /** The client and its version, as the process itself found them. */
  readonly client: string;
  readonly version: string;
  /** Everything that it said unasked, such as that a lock is in danger. */
  readonly events: readonly LocalQueue[];
  readonly #process: DriverProcess;

  private constructor(driver: DriverProcess, ready: LocalQueue) {
    this.#process = driver;
    this.client = String(ready["client"]);
    this.version = String(ready["version"]);
    this.events = driver.events;
  }

  /** Starts the driver of a format. Rejects if it has not been built, or ends before it is ready. */
  static async start(name: ClientName): Promise<Driver> {
    const driver = new DriverProcess(name);
    return new Driver(driver, await driver.ready());
  }

  /** Starts a driver, and opens its client. */
  static async open(name: ClientName, opening: Opening): Promise<Driver> {
    const driver = await Driver.start(name);
    await driver.step("open", opening).catch(async (error) => {
      await driver.kill();
      throw error;
    });
    return driver;
  }

  /** Has any step carried out. Rejects with `UnsupportedStep`, `FailedStep`, or when `limitMs` have passed. */
  async step(step: string, fields: object = {}, limitMs = LIMIT_MS): Promise<LocalQueue> {
    const { ok, unsupported, why, error, ...answer } = await this.#process.ask(
      { step, ...fields },
      limitMs,
    );
    if (ok === true) return answer;
    if (unsupported === true) throw new UnsupportedStep(`${this.client}, ${step}: ${why}`);
    const { kind, message } = error as { readonly kind: string; readonly message: string };
    throw new FailedStep(kind, message);
  }

  async acquire(what: Acquiring, limitMs?: number): Promise<Acquired> {
    const { granted, ...rest } = await this.step("acquire", what, limitMs);
    return { granted: granted === true, ...rest };
  }

  /** A heartbeat by hand: whether the lock was renewed. */
  async beat(hold: string, how: Beating = {}): Promise<boolean> {
    return (await this.step("beat", { hold, ...how }))["renewed"] === true;
  }

  /** Whether the client believes that it holds the lock. */
  async held(hold: string): Promise<boolean> {
    return (await this.step("held", { hold }))["held"] === true;
  }

  /** Whether the client says that it released the lock; undefined if it does not tell. */
  async release(hold: string, how: Releasing = {}): Promise<boolean | undefined> {
    const { released } = await this.step("release", { hold, ...how });
    return typeof released === "boolean" ? released : undefined;
  }

  async read(
    name: string,
    how: { sort?: string; fromTable?: boolean } = {},
  ): Promise<SeenLock | null> {
    return ((await this.step("read", { name, ...how }))["lock"] ?? null) as SeenLock | null;
  }

  /** All locks of the table, or of one partition key. */
  async list(name?: string): Promise<readonly SeenLock[]> {
    const { locks } = await this.step("list", name === undefined ? {} : { name });
    return locks as readonly SeenLock[];
  }

  /** Stops the whole process where it stands, or lets it go on. */
  pause(): void {
    this.#process.signal("SIGSTOP");
  }

  resume(): void {
    this.#process.signal("SIGCONT");
  }

  /** Ends it as a crash does: nothing is released. Resolves when it has ended. */
  kill(): Promise<void> {
    this.#process.signal("SIGKILL");
    return this.#process.ended;
  }

  /** Ends the process without releasing anything, unless the client does so by itself. */
  async quit(): Promise<void> {
    await this.step("quit");
    await this.#process.ended;
  }
}

/** The process and its lines. */
class DriverProcess {
  readonly events: LocalQueue[] = [];
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (line: LocalQueue | Error) => void>();
  readonly #name: ClientName;
  #errors = "";
  #lastId = 0;

  constructor(name: ClientName) {
    this.#name = name;
    const { program, args } = name === "holdfast" ? OURS : driverCommand(name);
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        ...process.env,
        NODE_OPTIONS: "",
        AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE: "1",
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
      },
    });
    const { stdout, stderr, stdin } = this.#child;
    if (stdout !== null) createInterface({ input: stdout }).on("line", (line) => this.#take(line));
    stderr?.on("data", (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-4_000);
    });
    // A process that has died does not read: those who wait are told so by its end.
    stdin?.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#errors += error.message;
        resolve();
      });
      this.#child.once("close", () => resolve());
    });
    void this.ended.then(() => this.#abandon());
  }

  /** Resolves with its first line, in which it says who it is. */
  ready(): Promise<LocalQueue> {
    return this.#answer(0, LIMIT_MS);
  }

  ask(step: object, limitMs: number): Promise<LocalQueue> {
    this.#lastId += 1;
    const answer = this.#answer(this.#lastId, limitMs);
    this.#child.stdin?.write(`${JSON.stringify({ id: this.#lastId, ...step })}\n`);
    return answer;
  }

  signal(name: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    this.#child.kill(name);
  }

  async #answer(id: number, limitMs: number): Promise<LocalQueue> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw this.#gone();
    let timer: NodeJS.Timeout | undefined;
    const line = await new Promise<LocalQueue | Error>((resolve) => {
      this.#waiting.set(id, resolve);
      const late = () => resolve(new Error(`${this.#name}: no answer within ${limitMs} ms`));
      timer = setTimeout(late, limitMs);
    });
    clearTimeout(timer);
    this.#waiting.delete(id);
    if (line instanceof Error) throw line;
    return line;
  }

  #take(text: string): void {
    const { id, ...line } = JSON.parse(text) as LocalQueue;
    if (line["event"] === "ready") this.#waiting.get(0)?.(line);
    else if (line["event"] !== undefined) this.events.push(line);
    else this.#waiting.get(Number(id))?.(line);
  }

  #abandon(): void {
    for (const tell of this.#waiting.values()) tell(this.#gone());
  }

  #gone(): Error {
    return new Error(`${this.#name}: the driver has ended. ${this.#errors}`.trim());
  }
}

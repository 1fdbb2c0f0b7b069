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

/**
 * How a driver opens its client; absent options are the client's own defaults. README.md explains each option.
 */
export interface Opening {
  /** The format for this library; every other client has a single format. */
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
  /** No wait; a wait of this many milliseconds, as the client counts; or an unlimited wait. */
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

/** How to release; a client without the option reports this. */
export interface Releasing {
  readonly delete?: boolean;
  readonly data?: string;
  readonly bestEffort?: boolean;
  readonly drop?: boolean;
}

/** The changes with a heartbeat. */
export interface Beating {
  readonly data?: string;
  readonly deleteData?: boolean;
  readonly ensureMs?: number;
  readonly retries?: number;
  readonly ownerOnly?: boolean;
}

/** A client's view of a lock; the attributes depend on the client. */
export type SeenLock = Readonly<Record<string, unknown>>;

/** The answer to an acquisition. */
export interface Acquired {
  readonly granted: boolean;
  /** The hold's id in later steps; present if granted. */
  readonly hold?: string;
  /** The client's fencing token, if the format has fences. */
  readonly fence?: number;
  readonly lock?: SeenLock;
  readonly because?: string;
}

type LocalQueue = Readonly<Record<string, unknown>>;

/** A step without a counterpart in the client. Drivers never imitate steps. */
export class UnsupportedStep extends Error {}

/** A failed step; `kind` is the client's name for the failure. */
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
 * A process around a lock client, which takes steps and answers them. Steps may overlap: a waiting step does not
 * block the next. End the process with `quit` or `kill`.
 */
export class Driver {
  /** The client and the version, as reported by the process. */
  readonly client: string;
  readonly version: string;
  /** Unrequested messages of the process, such as a lock in danger. */
  readonly events: readonly LocalQueue[];
  readonly #process: DriverProcess;

  private constructor(driver: DriverProcess, ready: LocalQueue) {
    this.#process = driver;
    this.client = String(ready["client"]);
    this.version = String(ready["version"]);
    this.events = driver.events;
  }

  /** Starts the driver of a format. Rejects if the driver is not built, or ends before it is ready. */
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

  /** Runs any step. Rejects with `UnsupportedStep`, `FailedStep`, or after `limitMs`. */
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

  /** Sends a manual heartbeat; resolves to whether the lock was renewed. */
  async beat(hold: string, how: Beating = {}): Promise<boolean> {
    return (await this.step("beat", { hold, ...how }))["renewed"] === true;
  }

  /** Resolves to whether the client believes in the lock. */
  async held(hold: string): Promise<boolean> {
    return (await this.step("held", { hold }))["held"] === true;
  }

  /** Resolves to whether the client reports a release; undefined if the client does not report this. */
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

  /** Lists all locks of the table, or of one partition key. */
  async list(name?: string): Promise<readonly SeenLock[]> {
    const { locks } = await this.step("list", name === undefined ? {} : { name });
    return locks as readonly SeenLock[];
  }

  /** Pauses the whole process, or lets it continue. */
  pause(): void {
    this.#process.signal("SIGSTOP");
  }

  resume(): void {
    this.#process.signal("SIGCONT");
  }

  /** Kills the process without any release. Resolves when the process has ended. */
  kill(): Promise<void> {
    this.#process.signal("SIGKILL");
    return this.#process.ended;
  }

  /** Ends the process without a release, except by the client itself. */
  async quit(): Promise<void> {
    await this.step("quit");
    await this.#process.ended;
  }
}

/** A process, and its lines of input and output. */
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
    // A dead process does not read: its end rejects the waiting steps.
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

  /** Resolves with the first line, which names the client. */
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

import { DAY_MS, type Duration, durationMs } from "../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";

/** Options of `sharedSession()`, as its signature describes them. */
export interface SharedSessionOptions {
  readonly thread: true | ThreadOptions;
  readonly mayBlock: Duration;
}

interface ThreadOptions {
  readonly module?: URL | string | undefined;
  readonly worker?: URL | string | undefined;
}

/** The resolved options of the thread of a client's session. */
interface ThreadChoice {
  readonly mayBlockMs: number;
  readonly module: string | undefined;
  readonly worker: string | undefined;
}

const SHARED_SESSION_NAMES: OptionNames<SharedSessionOptions> = { thread: true, mayBlock: true };
const THREAD_NAMES: OptionNames<ThreadOptions> = { module: true, worker: true };

/** Checks the options of `sharedSession()`. Throws `invalid-argument`. */
export function checkSharedSession(asked: SharedSessionOptions | undefined): void {
  if (asked === undefined) return;
  if (typeof asked !== "object" || asked === null) {
    throw refuse(
      `The options of sharedSession() must be an object with \`thread\`; it is ${valueText(asked)}.`,
    );
  }
  checkNames("sharedSession()", asked, SHARED_SESSION_NAMES);
}

/**
 * Resolves the thread of a client whose leases have this length; undefined if no thread renews the session. Throws
 * `invalid-argument`.
 */
export function resolveThread(
  asked: SharedSessionOptions | undefined,
  leaseMs: number,
): ThreadChoice | undefined {
  checkSharedSession(asked);
  if (asked === undefined) return undefined;
  const { thread, mayBlock } = asked;
  if (thread !== true && (typeof thread !== "object" || thread === null)) {
    throw refuse(
      `The option \`sharedSession.thread\` must be true or an object; it is ${valueText(thread)}.`,
    );
  }
  const { module, worker }: ThreadOptions =
    thread === true ? {} : checkNames("`sharedSession.thread`", thread, THREAD_NAMES);
  const mayBlockMs = durationMs("sharedSession.mayBlock", mayBlock, {
    leastMs: leaseMs,
    mostMs: DAY_MS,
  });
  return { mayBlockMs, module: urlOf("module", module), worker: urlOf("worker", worker) };
}

function urlOf(name: string, value: URL | string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (URL.canParse(String(value))) return String(value);
  throw refuse(
    `The option \`sharedSession.thread.${name}\` must be a URL, such as import.meta.resolve("./client.js"); it ` +
      `is ${valueText(value)}.`,
  );
}

import type { Call, Misconfigured, NotNow, Unknown } from "../../platform/table.js";
import type { Timers } from "../../platform/timers.js";

/** Where requests are sent from. A `VirtualProcess` is one. */
export interface RequestHost {
  /** What a call's timeout runs on. */
  readonly timers: Timers;
  /** What requests and answers travel by; default `timers`. */
  readonly network?: Timers;
  /** Hands an answer over, once the host can take notice of it; default: at once. */
  deliver?(callback: () => void): void;
}

/** The answers that every kind of request can get. */
export type Failure = Unknown | NotNow | Misconfigured;

/** Something went wrong between the client and the table, as a real client would say it. */
export function unknown(message: string): Unknown {
  return { kind: "unknown", cause: new Error(message) };
}

/**
 * One request and its one answer: whatever comes first of an answer that reached the host, the call's
 * timeout on the host's own timers, and the call's signal. What comes later is dropped, as a real
 * client drops it: the request itself goes on.
 */
export function exchange<A>(
  host: RequestHost,
  call: Call,
  send: (reply: (answer: A | Failure) => void, fail: (reason: unknown) => void) => void,
): Promise<A | Failure> {
  const { signal, timeoutMs } = call;
  if (signal?.aborted) return Promise.resolve({ kind: "unknown", cause: signal.reason });
  return new Promise((resolve, reject) => {
    const timer = host.timers.set(timeoutMs, true, () =>
      finish(unknown(`no answer within ${timeoutMs} ms`)),
    );
    const onAbort = (): void => finish({ kind: "unknown", cause: signal?.reason });
    const settle = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    const finish = (answer: A | Failure): void => {
      settle();
      resolve(answer);
    };
    const fail = (reason: unknown): void => {
      settle();
      reject(reason);
    };
    signal?.addEventListener("abort", onAbort);
    const deliver = (callback: () => void): void =>
      host.deliver === undefined ? callback() : host.deliver(callback);
    send((answer) => deliver(() => finish(answer)), fail);
  });
}

/** Calls back after a delay on the way; at once, within this very call, if there is none. */
export function travel(host: RequestHost, delayMs: number, callback: () => void): void {
  if (delayMs > 0) (host.network ?? host.timers).set(delayMs, true, callback);
  else callback();
}

/** The answer to a request that a client has sent again by itself, and says so. */
export function repeated<A>(answer: A): A {
  const isRefused =
    typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "refused";
  return isRefused ? { ...answer, isRepeated: true } : answer;
}

import type { Call, Misconfigured, NotNow, Timers, Unknown } from "holdfast/internal";

/** The sender of requests, such as a `VirtualProcess`. */
export interface RequestHost {
  /** The timers for a call's timeout. */
  readonly timers: Timers;
  /** The timers for travelling requests and answers; default `timers`. */
  readonly network?: Timers;
  /** Delivers an answer as soon as the host runs; default immediately. */
  deliver?(callback: () => void): void;
}

/** The failures that every kind of request may answer with. */
export type Failure = Unknown | NotNow | Misconfigured;

/** A failure between client and table, as a real client reports the failure. */
export function unknown(message: string): Unknown {
  return { kind: "unknown", cause: new Error(message) };
}

/**
 * Runs one request to its one answer: the first of the reply, the call's timeout on the host's timers, and the
 * call's signal. Later replies are dropped, as in a real client; the request itself continues.
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

/** Calls back after a network delay, or synchronously without a delay. */
export function travel(host: RequestHost, delayMs: number, callback: () => void): void {
  if (delayMs > 0) (host.network ?? host.timers).set(delayMs, true, callback);
  else callback();
}

/** The answer to a request that the client sent more than once: what an earlier send did is not certain. */
export function repeated<A>(answer: A): A | Unknown {
  if (typeof answer !== "object" || answer === null || !("kind" in answer)) return answer;
  // An earlier send may have deleted the object, or used up the stream.
  if (answer.kind === "absent" || answer.kind === "misconfigured") {
    return unknown(`${answer.kind} after a second send`);
  }
  return answer.kind === "refused" ? { ...answer, isRepeated: true } : answer;
}

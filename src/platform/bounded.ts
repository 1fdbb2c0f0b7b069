import { Abort, type SignalLike } from "./abort.js";
import type { Call, Unknown } from "./table.js";
import type { Timers } from "./timers.js";

/**
 * One request within the bounds of its call, as an answer and never as a rejection. The deadline is our
 * own: the SDK's `requestTimeout` only warns unless it is told to throw, and an abort that the SDK is
 * slow to honour must not hold up the answer.
 */
export function bounded<Output, Failure>(
  timers: Timers,
  call: Call,
  send: (signal: SignalLike) => Promise<unknown>,
  answerOf: (error: unknown) => Failure,
): Promise<{ readonly kind: "output"; readonly output: Output } | Unknown | Failure> {
  const abort = new Abort();
  return new Promise((resolve) => {
    const end = (cause: unknown): void => {
      resolve({ kind: "unknown", cause });
      abort.abort();
    };
    const onAbort = (): void => end(call.signal?.reason);
    // Keeps nothing alive: whoever waits for the answer has a timer of its own.
    const timer = timers.set(call.timeoutMs, false, () =>
      end(new Error(`No answer within ${Math.round(call.timeoutMs)} ms.`)),
    );
    call.signal?.addEventListener("abort", onAbort);
    if (call.signal?.aborted === true) onAbort();
    const settle = async (): Promise<void> => {
      try {
        resolve({ kind: "output", output: (await send(abort)) as Output });
      } catch (error) {
        // Also of a client that throws at once.
        resolve(answerOf(error));
      } finally {
        timer.cancel();
        call.signal?.removeEventListener("abort", onAbort);
      }
    };
    void settle();
  });
}

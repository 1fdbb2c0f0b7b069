/** A worker thread that was started. */
export interface StartedWorker {
  post(message: unknown): void;
  /** Ends the thread, whatever it does. */
  end(): void;
}

/** The listeners to a worker thread. */
interface WorkerEvents {
  onMessage(message: unknown): void;
  /** The thread has thrown, or has ended by itself. */
  onEnd(cause: unknown): void;
}

/** Starts a worker thread, which does not keep the process alive. Loads the threads of Node.js at the first call. */
export async function startWorker(
  file: URL,
  data: unknown,
  { onMessage, onEnd }: WorkerEvents,
): Promise<StartedWorker> {
  const { Worker } = await import("node:worker_threads");
  // The flags of the process may be for its main file alone, such as `--input-type`.
  const worker = new Worker(file, { workerData: data, execArgv: [], name: "holdfast" });
  worker.unref();
  worker.on("message", onMessage);
  worker.on("messageerror", onEnd);
  worker.on("error", onEnd);
  worker.on("exit", (code) => onEnd(new Error(`The thread has ended with code ${code}.`)));
  return {
    post: (message) => worker.postMessage(message),
    end: () => {
      // Messages that the thread has sent before still arrive: they may say why it could not renew.
      for (const event of ["messageerror", "error", "exit"]) worker.removeAllListeners(event);
      // An error of a thread that ends has no listener, and would end the process.
      worker.on("error", () => undefined);
      void worker.terminate();
    },
  };
}

/** The end of the main thread's messages, in a thread that `startWorker` has started; undefined in the main thread. */
export async function insideWorker(): Promise<
  | {
      readonly data: unknown;
      post(message: unknown): void;
      onMessage(listener: (message: unknown) => void): void;
    }
  | undefined
> {
  const { parentPort, workerData } = await import("node:worker_threads");
  if (parentPort === null) return undefined;
  return {
    data: workerData,
    post: (message) => parentPort.postMessage(message),
    onMessage: (listener) => {
      parentPort.on("message", listener);
    },
  };
}

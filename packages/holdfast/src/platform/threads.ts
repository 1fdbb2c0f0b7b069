/** A worker thread that was started. */
interface StartedWorker {
  post(message: unknown): void;
  /** Ends the thread at once, even if its code is running. */
  end(): void;
}

/** The listeners to the events of a worker thread. */
interface WorkerEvents {
  onMessage(message: unknown): void;
  /** The thread has thrown, or has ended by itself. */
  onEnd(cause: unknown): void;
}

/** Starts a worker thread, which does not keep the process alive. The first call imports `node:worker_threads`. */
export async function startWorker(
  file: URL,
  data: unknown,
  { onMessage, onEnd }: WorkerEvents,
): Promise<StartedWorker> {
  const { Worker } = await import("node:worker_threads");
  // The thread inherits no flags of the process: some flags, such as `--input-type`, fit only the main file.
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
      // Without a listener, an error of the ending thread would end the process.
      worker.on("error", () => undefined);
      void worker.terminate();
    },
  };
}

/**
 * Returns the connection to the main thread, in a thread that `startWorker` has started; undefined in the main thread.
 */
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

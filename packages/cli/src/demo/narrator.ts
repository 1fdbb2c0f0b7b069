import { monotonicMs } from "../commands/clocks.js";
import { jsonLine, type Output, printable } from "../output/output.js";
import type { LedgerReport } from "./ledger.js";
import type { WorkerEvent } from "./messages.js";

/** Reports the demo in progress: in words, or in JSON, an event a line. */
export class Narrator {
  readonly #output: Output;
  readonly #startMs = monotonicMs();

  constructor(output: Output) {
    this.#output = output;
  }

  page(url: string): void {
    this.#tell({ event: "page", url }, [`The page of the demo's table: ${url}`]);
  }

  opening(event: { readonly workers: number; readonly lease: string } & Stage): void {
    const { workers, lease, lock, table, where, ledger } = event;
    this.#tell({ event: "opening", ...event }, [
      `${workers} processes, one lock "${lock}", lease ${lease}, table "${table}" ${where}`,
      `Each process writes to the ledger ${ledger} only while it holds the lock.`,
      "",
    ]);
  }

  /**
   * Reports a worker's event. In words, single ledger lines are left out, and some events are reported
   * elsewhere.
   */
  worker(event: WorkerEvent): void {
    const { kind, ...rest } = event;
    const text = describedWorker(event);
    if (text !== undefined) this.#line({ event: kind, ...rest }, event.worker, text);
    else if (this.#output.isJson) this.#tell({ event: kind, ...rest }, []);
  }

  killed(worker: string, fence: string): void {
    const text = `KILLED (SIGKILL) while holding fence ${fence}: the lock stays held until the lease expires`;
    this.#line({ event: "killed", worker, fence }, worker, text);
  }

  paused(worker: string, fence: string): void {
    const text = `STOPPED (SIGSTOP) while holding fence ${fence}: the process cannot renew`;
    this.#line({ event: "paused", worker, fence }, worker, text);
  }

  takenOver(worker: string, fence: string, tookMs: number): void {
    const text = `TOOK OVER ${seconds(tookMs)} later, with fence ${fence}`;
    this.#line({ event: "taken over", worker, fence, tookMs }, worker, text);
  }

  continued(worker: string, fence: string, pausedMs: number): void {
    const text = `CONTINUES (SIGCONT) after ${seconds(pausedMs)}, in the middle of its hold of fence ${fence}`;
    this.#line({ event: "continued", worker, fence, pausedMs }, worker, text);
  }

  heldBack(worker: string, fence: string, reason: string): void {
    const text = `HELD BACK before a write: the lease of fence ${fence} is lost (${reason})`;
    // The worker's own event is already in the JSON output.
    if (!this.#output.isJson) this.#line({}, worker, text);
  }

  wroteLate(worker: string, fence: string): void {
    const text = `WROTE with fence ${fence}, which is no longer current`;
    this.#line({ event: "wrote late", worker, fence }, worker, text);
  }

  check(report: LedgerReport, ledger: string): void {
    const isInOrder = report.problems.length === 0;
    const { entries, grants, workers, problems } = report;
    this.#tell({ event: "check", ok: isInOrder, ...report, ledger }, [
      "",
      `The ledger, checked from the file alone: ${entries} entries, ${grants} grants, ${workers} processes.`,
      ...(isInOrder
        ? ["In order: fences only grow, and no two holds overlap."]
        : ["NOT in order:", ...problems.map((problem) => `  ${problem}`)]),
    ]);
  }

  #line(event: object, worker: string, text: string): void {
    const at = seconds(monotonicMs() - this.#startMs).padStart(8);
    this.#tell(event, [`${at}  ${worker}  ${text}`]);
  }

  #tell(event: object, lines: readonly string[]): void {
    const atMs = Math.round(monotonicMs() - this.#startMs);
    if (this.#output.isJson) this.#output.out(jsonLine({ ...event, atMs }));
    else for (const line of lines) this.#output.out(printable(line));
  }
}

/** Where the demo plays. */
export interface Stage {
  readonly lock: string;
  readonly table: string;
  readonly where: string;
  readonly ledger: string;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function describedWorker(event: WorkerEvent): string | undefined {
  switch (event.kind) {
    case "ready":
      return `is ready (pid ${event.pid})`;
    case "acquired":
      return `holds the lock, fence ${event.fence}`;
    case "released":
      return `released the lock after ${event.count} lines`;
    case "failed":
      return `failed: ${event.message}`;
    default:
      return undefined;
  }
}

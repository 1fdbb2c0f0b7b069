import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A line of a ledger. */
export interface Line {
  readonly kind: string;
  readonly name: string;
  readonly by: string;
  readonly atMs: number;
  readonly fence?: bigint;
  readonly dueMs: number;
  readonly attempt: number;
}

/** A file that all processes of a test append to: `test/process/workers/ledger.mjs`. */
export class Ledger {
  readonly #folder = mkdtempSync(join(tmpdir(), "holdfast-"));
  readonly path = join(this.#folder, "ledger");

  /** All lines in order, but those of acts that came too late because their process was stopped. */
  lines(): readonly Line[] {
    const lines = readFileSync(this.path, { encoding: "utf8", flag: "a+" })
      .split("\n")
      .slice(0, -1)
      .map((line) => {
        const { fence, ...rest } = JSON.parse(line) as Omit<Line, "fence"> & { fence?: string };
        return fence === undefined ? rest : { ...rest, fence: BigInt(fence) };
      });
    const kept: Line[] = [];
    for (const line of lines) {
      if (line.kind !== "late") kept.push(line);
      else kept.splice(lastAct(kept, line), 1);
    }
    return kept;
  }

  /** Notes that a process has died. */
  gone(by: string): void {
    appendFileSync(this.path, `${JSON.stringify({ kind: "gone", by, atMs: Date.now() })}\n`);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function lastAct(lines: readonly Line[], of: Line): number {
  return lines.findLastIndex(
    ({ kind, name, fence }) => kind === "acted" && name === of.name && fence === of.fence,
  );
}

import { HoldfastError } from "../errors.js";
import type { Item, Scan, ScanAnswer } from "../platform/table.js";
import { type Inspection, inspectionOf } from "./inspect.js";
import type { Kernel } from "./kernel.js";
import { isReadable } from "./record.js";
import type { LeaseShape, NativeLeases } from "./shape.js";

/** What can be looked at by name: locks, or the leaderships of elections. */
export type RecordKind = "lock" | "leader";

/** Options of `Holdfast.inspect`. */
export interface InspectOptions {
  /** `leader` for the leadership of an election. Default `lock`. */
  readonly kind?: RecordKind | undefined;
}

/** Which locks to list. */
export interface ListOptions {
  /** `leader` for the leaderships of elections. Default `lock`. One listing is of one kind. */
  readonly kind?: RecordKind | undefined;
  /** Only names that begin with this. It does not make the scan cheaper. */
  readonly prefix?: string | undefined;
  /** Also locks that nobody holds. Default false. */
  readonly free?: boolean | undefined;
}

/** One page of a listing. */
export interface ListPage<S extends LeaseShape = NativeLeases> {
  readonly locks: readonly Inspection<S>[];
  /** Names of records that this version cannot read, with what was found; never stolen from. */
  readonly unreadable: readonly { readonly name: string; readonly found: string }[];
  /** What DynamoDB charged for this page, in read units, where it said so. */
  readonly readUnits: number | undefined;
}

type Page = Extract<ScanAnswer, { readonly kind: "page" }>;

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/** Lists the locks of the table by scanning it. */
export async function* list(kernel: Kernel, options: ListOptions): AsyncGenerator<ListPage> {
  const kind = kindOf(options);
  const prefix = kernel.format.prefixOf(kind, options.prefix ?? "");
  let after: Item | undefined;
  do {
    const page = await scanPage(kernel, prefix, after);
    yield pageOf(kernel, kind, page, options.free ?? false);
    after = page.next;
  } while (after !== undefined);
}

/** One page of a scan, sent again where it was not answered. Throws coded errors. */
export async function scanPage(
  kernel: Kernel,
  prefix: Scan["prefix"],
  after: Item | undefined,
): Promise<Page> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await kernel.table.scan(
      { prefix, after },
      { timeoutMs: kernel.settings.requestTimeoutMs },
    );
    if (answer.kind === "page") return answer;
    if (answer.kind === "misconfigured") throw answer.error;
    if (attempt === ATTEMPTS) {
      throw new HoldfastError(
        answer.kind === "unknown" ? "unreachable" : "throttled",
        `The locks could not be listed: ${answer.kind === "unknown" ? "the table does not answer" : "DynamoDB refused every request for now"}. ` +
          "Check the endpoint, the region and the table's capacity.",
        { cause: answer.cause },
      );
    }
    await kernel.sleep(kernel.jittered(PAUSE_MS * attempt));
  }
}

/** Which kind is asked for. Throws `invalid-argument`. */
export function kindOf({ kind = "lock" }: InspectOptions): RecordKind {
  if (kind === "lock" || kind === "leader") return kind;
  throw new HoldfastError(
    "invalid-argument",
    `The option \`kind\` must be "lock" or "leader"; it is "${kind}".`,
  );
}

function pageOf(
  kernel: Kernel,
  kind: RecordKind,
  { items, readUnits }: Page,
  withFree: boolean,
): ListPage {
  const locks: Inspection[] = [];
  const unreadable: { name: string; found: string }[] = [];
  for (const item of items) {
    const name = kernel.format.nameOf(kind, item);
    if (name === undefined) continue;
    const ref = kernel.format.refOf(kind, name, kernel.format.queue?.namespaceIn(item));
    const found = kernel.see(ref, item, "eventual");
    if (!isReadable(found)) unreadable.push({ name: ref.name, found: found.found });
    else if (found.state === "held" || withFree) locks.push(inspectionOf(kernel, ref, found));
  }
  return { locks, unreadable, readUnits };
}

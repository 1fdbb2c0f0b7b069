import type { Breaks } from "holdfast/internal";
import type { TableView } from "./view-types.js";

/** A view as JSON, encoded once for all viewers. */

/** A page of a view: the JSON of a {@link TableView} with a part of its entries, as pieces to be sent one by one. */
export type ViewPage = readonly Buffer[];

const MOST_ENTRIES = 10_000;
const MOST_BYTES = 4_000_000;
const PIECE_ENTRIES = 250;

const SECTIONS = ["rows", "sessions", "terms", "members", "unreadable"] as const;
type Section = (typeof SECTIONS)[number];

const COMMA = Buffer.from(",");

/** Encodes a view, at least one page. Takes breaks. */
export async function pagesOf(view: TableView, breaks: Breaks): Promise<ViewPage[]> {
  const pages: ViewPage[] = [];
  let page = emptyPage();
  for (const section of SECTIONS) {
    const entries: readonly unknown[] = view[section];
    for (let at = 0; at < entries.length; at += PIECE_ENTRIES) {
      const piece = entries.slice(at, at + PIECE_ENTRIES);
      if (page.entries + piece.length > MOST_ENTRIES || page.bytes > MOST_BYTES) {
        pages.push(piecesOf(page));
        page = emptyPage();
      }
      const json = Buffer.from(JSON.stringify(piece).slice(1, -1));
      const before = page.of[section];
      before.push(...(before.length === 0 ? [json] : [COMMA, json]));
      page.entries += piece.length;
      page.bytes += json.length;
      if (breaks.isDue) await breaks.take();
    }
  }
  return [...pages, piecesOf(page)];
}

interface UnfinishedPage {
  readonly of: Record<Section, Buffer[]>;
  entries: number;
  bytes: number;
}

function emptyPage(): UnfinishedPage {
  return {
    of: { rows: [], sessions: [], terms: [], members: [], unreadable: [] },
    entries: 0,
    bytes: 0,
  };
}

function piecesOf({ of }: UnfinishedPage): ViewPage {
  const [first, ...others] = SECTIONS.map((section, at) => [
    Buffer.from(`${at === 0 ? "{" : ","}"${section}":[`),
    ...of[section],
    Buffer.from("]"),
  ]);
  return [...(first ?? []), ...others.flat(), Buffer.from("}")];
}

import type { Seen } from "./seen.js";

/** One test in the table, and its result. */
export interface Played extends Seen {
  readonly outcome: "passed" | "failed" | "not asked";
  readonly why?: string | undefined;
}

const [BEGIN, END] = ["<!-- interop: begin -->", "<!-- interop: end -->"];

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const distinct = (all: readonly string[]): string[] => [...new Set(all)];

/** Letters for the notes below the table, each note once. */
class Notes {
  readonly #said: string[] = [];

  of(all: readonly string[]): string {
    if (all.length === 0) return "";
    for (const one of all) if (!this.#said.includes(one)) this.#said.push(one);
    const letters = distinct(all).map((one) => this.#letter(this.#said.indexOf(one)));
    return ` (${letters.join(", ")})`;
  }

  lines(): string[] {
    return this.#said.map((one, index) => `- ${this.#letter(index)}: ${one}`);
  }

  #letter(index: number): string {
    return String.fromCharCode("a".charCodeAt(0) + index);
  }
}

/** Why a row has no entry for a client which has further rows. */
function whyMissing(name: string): string {
  if (name.startsWith("with a sort key")) return "its names have one part";
  if (name.startsWith("besides: ")) return "played beside fewer clients";
  return "played with `--full` alone";
}

function cell(name: string, found: Played | undefined, notes: Notes): string {
  if (found === undefined) return `not asked${notes.of([whyMissing(name)])}`;
  const { outcome, why, leftOut, figure } = found;
  const said = outcome === "not asked" ? [why ?? "no reason was given"] : leftOut;
  const measured = figure === undefined ? "" : `, ${figure}`;
  return `${outcome === "failed" ? "**failed**" : outcome}${measured}${notes.of(said)}`;
}

/** Formats scenes by clients: the played scenes, and their results. */
export function tableOf(played: readonly Played[]): string {
  const drivers = distinct(played.map(({ driver }) => driver)).sort();
  const columns = drivers.map((driver) => played.filter((one) => one.driver === driver));
  const heads = columns.map((column) => {
    const client = column.find((one) => one.client !== undefined)?.client ?? "nothing was run";
    return `\`${column[0]?.format}\`: ${client}`;
  });
  const notes = new Notes();
  const rows = distinct(played.map((one) => one.row)).map((name) => {
    const cells = columns.map((column) =>
      cell(
        name,
        column.find((one) => one.row === name),
        notes,
      ),
    );
    return row([name, ...cells]);
  });
  const head = ["scene", ...heads];
  return [row(head), row(head.map(() => "---")), ...rows, "", ...notes.lines()].join("\n");
}

/** Returns the page with this table instead of its earlier table. */
export function withTable(page: string, text: string): string {
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  if (from < BEGIN.length || to < from) throw new Error(`The page has no place for ${BEGIN}.`);
  return `${page.slice(0, from)}\n\n${text}\n\n${page.slice(to)}`;
}

/** Reads the page: the clients in column order, and the cells of each row. */
export function tableIn(page: string): {
  readonly clients: readonly string[];
  readonly rows: ReadonlyMap<string, readonly string[]>;
} {
  const lines = page.slice(page.indexOf(BEGIN), page.indexOf(END)).split("\n");
  const [head = [], , ...rows] = lines
    .filter((line) => line.startsWith("| "))
    .map((line) => line.slice(2, -2).split(" | "));
  return {
    clients: head.slice(1),
    rows: new Map(rows.map(([name = "", ...cells]) => [name, cells])),
  };
}

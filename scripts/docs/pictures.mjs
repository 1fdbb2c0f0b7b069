// Draws the pictures of the documents: `node scripts/docs/pictures.mjs` writes them to docs/images. They take light or dark
// colours from the reader's system.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../lib/entries.mjs";

const WIDTH = 760;

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 12px; fill: #59636e; }
.on { fill: #ffffff; }
.back { fill: #ffffff; }
.box { fill: #f6f8fa; stroke: #d1d9e0; }
.held { fill: #0969da; }
.waits { fill: #ddf4ff; stroke: #54aeff; }
.gone { fill: none; stroke: #0969da; stroke-dasharray: 4 3; }
.line { stroke: #59636e; fill: none; }
.faint { stroke: #d1d9e0; fill: none; }
.tip { fill: #59636e; }
.bad { stroke: #cf222e; fill: none; stroke-width: 2; }
.badtip, .badtext { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #9198a1; }
  .on { fill: #ffffff; }
  .back { fill: #0d1117; }
  .box { fill: #151b23; stroke: #3d444d; }
  .held { fill: #1f6feb; }
  .waits { fill: #0c2d6b; stroke: #388bfd; }
  .gone { stroke: #388bfd; }
  .line { stroke: #9198a1; }
  .faint { stroke: #3d444d; }
  .tip { fill: #9198a1; }
  .bad { stroke: #f85149; }
  .badtip, .badtext { fill: #f85149; }
}
`;

const escaped = (words) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const text = (x, y, words, { className = "", anchor = "start" } = {}) =>
  `<text x="${x}" y="${y}" class="${className}" text-anchor="${anchor}">${escaped(words)}</text>`;

const line = (x1, y1, x2, y2, className = "line") =>
  `<path class="${className}" d="M${x1} ${y1}L${x2} ${y2}"/>`;

/** A bar from `x1` to `x2` around the height `y`, with words in its middle. */
function bar(x1, x2, y, className, words = "") {
  const rect = `<rect class="${className}" x="${x1}" y="${y - 13}" width="${x2 - x1}" height="26" rx="4"/>`;
  const inside = { className: className === "held" ? "on" : "", anchor: "middle" };
  return words === "" ? rect : rect + text((x1 + x2) / 2, y + 4.5, words, inside);
}

function arrow(x1, y1, x2, y2, { className = "line", tip = "tip" } = {}) {
  const angle = Math.round((Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI);
  const place = `translate(${x2} ${y2}) rotate(${angle})`;
  const head = `<path class="${tip}" transform="${place}" d="M0 0L-9 -4.5L-9 4.5z"/>`;
  return line(x1, y1, x2, y2, className) + head;
}

const cross = (x, y) =>
  line(x - 7, y - 7, x + 7, y + 7, "bad") + line(x - 7, y + 7, x + 7, y - 7, "bad");

function picture(height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="back" width="${WIDTH}" height="${height}"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** The times of a lease of 30 s, in seconds after the last renewal. `test/docs/pictures.test.ts` computes them anew. */
export const TAKEOVER_S = { deadline: 29.39, watched: 30.6, firstSight: 42 };

function takeover() {
  const { deadline, watched, firstSight } = TAKEOVER_S;
  const at = (seconds) => Math.round((150 + seconds * 11.6) * 10) / 10;
  const [holder, waiter, later, axis] = [52, 112, 172, 212];
  const ticks = [0, 10, 20, 30, 40, 50].flatMap((s) => [
    line(at(s), 30, at(s), axis, "faint"),
    text(at(s), axis + 18, `${s} s`, { className: "small", anchor: "middle" }),
  ]);
  return picture(266, "A dead holder's lock is taken over", [
    ...ticks,
    text(12, holder + 4, "the holder"),
    bar(at(0), at(9), holder, "held", "holds"),
    bar(at(9), at(deadline), holder, "gone"),
    cross(at(9), holder),
    text(at(10), holder + 4.5, "is killed; its lease runs on", { className: "small" }),
    line(at(deadline), holder - 18, at(deadline), holder + 18, "bad"),
    text(at(deadline) + 6, holder - 4, `deadline: ${deadline} s. A live`, { className: "small" }),
    text(at(deadline) + 6, holder + 11, "holder stops here", { className: "small" }),
    text(12, waiter + 4, "a waiter"),
    bar(at(0.3), at(watched), waiter, "waits", "watches the record: no renewal"),
    bar(at(watched), at(50), waiter, "held", `holds, from ${watched} s`),
    text(12, later - 4, "or a process"),
    text(12, later + 12, "that starts later"),
    bar(at(22), at(firstSight), later, "waits", "waits for the table's time"),
    bar(at(firstSight), at(50), later, "held", "holds"),
    text(at(firstSight), later + 30, `first sight: about ${firstSight} s`, {
      className: "small",
      anchor: "middle",
    }),
    text(at(25), axis + 42, "after the holder's last renewal, with a lease of 30 s", {
      className: "small",
      anchor: "middle",
    }),
  ]);
}

function lateWrite() {
  const [a, store, b] = [46, 128, 210];
  return picture(250, "A store refuses a late write by its fence", [
    text(12, a + 4, "process A"),
    bar(110, 250, a, "held", "holds, fence 7"),
    bar(250, 520, a, "gone", "pauses: its lease ends"),
    text(12, store + 4, "your store"),
    `<rect class="box" x="110" y="${store - 18}" width="638" height="36" rx="4"/>`,
    text(122, store + 4.5, "highest fence: 7"),
    text(410, store + 4.5, "highest fence: 8"),
    text(560, store + 4.5, "refused: 7 is less than 8", { className: "badtext" }),
    text(12, b + 4, "process B"),
    bar(110, 330, b, "waits", "waits"),
    bar(330, 748, b, "held", "takes over, fence 8"),
    arrow(180, a + 13, 180, store - 18),
    text(188, a + 40, "writes with 7", { className: "small" }),
    arrow(400, b - 13, 400, store + 18),
    text(408, b - 30, "writes with 8", { className: "small" }),
    arrow(545, a + 13, 545, store - 18, { className: "bad", tip: "badtip" }),
    bar(520, 748, a, "box", "continues, and writes with 7"),
  ]);
}

function handOver() {
  const [a, b, c] = [52, 112, 172];
  return picture(236, "The queue hands a fair lock over in the order of the tickets", [
    text(12, a + 4, "process A"),
    bar(110, 330, a, "held", "holds"),
    text(12, b + 4, "process B"),
    bar(170, 360, b, "waits", "ticket 1: polls the record"),
    bar(360, 540, b, "held", "holds"),
    text(12, c + 4, "process C"),
    bar(230, 590, c, "waits", "ticket 2: looks less often, and renews its place"),
    bar(590, 748, c, "held", "holds"),
    arrow(330, a + 13, 358, b - 13),
    text(378, a + 26, "releases: 1 write. The first waiter sees it,", { className: "small" }),
    text(378, a + 41, "and takes the lock with 1 write", { className: "small" }),
    arrow(540, b + 13, 588, c - 13),
    arrow(110, 206, 748, 206),
    text(430, 226, "time", { className: "small", anchor: "middle" }),
    text(170, b - 20, "joins", { className: "small" }),
    text(230, c - 20, "joins", { className: "small" }),
  ]);
}

function requests() {
  const box = (x, y, width, height, title, className = "box") =>
    `<rect class="${className}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>` +
    text(x + 12, y + 22, title);
  const small = { className: "small" };
  const middle = { ...small, anchor: "middle" };
  return picture(316, "Where the requests of a lock go", [
    box(12, 12, 250, 90, "a process that waits"),
    box(28, 44, 218, 44, "Holdfast", "waits"),
    box(12, 122, 250, 182, "the process that holds the lock"),
    box(28, 158, 218, 52, "Holdfast", "waits"),
    text(40, 200, "a DynamoDBClient of its own", small),
    box(28, 236, 218, 52, "your code, under the lock", "waits"),
    text(40, 278, "your own client", small),
    box(520, 12, 228, 178, "DynamoDB: table of the locks"),
    `<rect class="held" x="536" y="84" width="196" height="56" rx="6"/>`,
    text(548, 107, "the lock's record", { className: "on" }),
    text(548, 127, "holder, fence, version, end", { className: "on" }),
    box(520, 214, 228, 90, "your data"),
    text(532, 260, "DynamoDB: condition(lease)", small),
    text(532, 280, "another store: lease.fence", small),
    arrow(246, 66, 536, 96),
    text(391, 46, "reads, with pauses of up to 2 s;", middle),
    text(391, 62, "then 1 write takes over", middle),
    arrow(246, 184, 536, 128),
    text(391, 192, "acquire, renew, release:", middle),
    text(391, 208, "1 write each", middle),
    arrow(246, 262, 520, 262),
    text(391, 252, "your writes", middle),
  ]);
}

/** The files in docs/images, and their content. */
export function pictures() {
  return new Map([
    ["takeover.svg", takeover()],
    ["late-write.svg", lateWrite()],
    ["hand-over.svg", handOver()],
    ["requests.svg", requests()],
  ]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const [file, content] of pictures())
    writeFileSync(join(ROOT, "docs", "images", file), content);
}

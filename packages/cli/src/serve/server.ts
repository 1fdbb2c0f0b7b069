import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { systemClock } from "holdfast/internal";
import { failureOf } from "../output/exit-codes.js";
import { isPermitKind } from "../output/permits.js";
import { portError } from "../port.js";
import { cookieHeader, HEADERS, hasTokenInUrl, type Policy, refusalOf } from "./access.js";
import type { DetailReader } from "./detail-reader.js";
import { metricsText } from "./metrics.js";
import { type Releaser, releaseBody } from "./release.js";
import { nowMs, type TableReader } from "./table-reader.js";
import type { DetailAnswer, Kind, Named, Status, TableAnswer } from "./view-types.js";

/** What the server needs. */
interface ServerParts {
  readonly reader: TableReader;
  readonly details: DetailReader;
  readonly release: Releaser;
  readonly table: string;
  readonly prefix: string;
  readonly refreshMs: number;
  readonly token: string;
  readonly allowRelease: boolean;
}

/** A running server. */
export interface PageServer {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

/** The bounds on connections. Times in milliseconds. */
export interface ServerLimits {
  readonly mostConnections: number;
  /** From the connection, or the answer before, until the whole head of the request. */
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  /** Pieces are sent one after another. */
  readonly body: string | Buffer | readonly Buffer[];
  readonly more?: Readonly<Record<string, string>>;
}

const LONGEST_BODY = 16_384;
// For a few people and scrapers; each tab has at most six. Further connections are closed at once.
const MOST_CONNECTIONS = 200;
const LIMITS: ServerLimits = {
  mostConnections: MOST_CONNECTIONS,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
};
const ASSETS: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
};

/** Starts the server, on the loopback interface only. Port 0: any free port. */
export async function startPageServer(
  parts: ServerParts,
  port: number,
  limits = LIMITS,
): Promise<PageServer> {
  let policy: Policy = { token: parts.token, port, allowRelease: parts.allowRelease };
  const server = createServer(limits, (request, response) => {
    void answerTo(request, parts, policy)
      .catch((error: unknown) => json(500, { error: failureOf(error).message }))
      .then((answer) => send(response, answer, request.method === "HEAD"));
  });
  server.maxConnections = limits.mostConnections;
  const bound = await listen(server, port);
  policy = { ...policy, port: bound };
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}/?token=${encodeURIComponent(parts.token)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(portError(port, error)));
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function send(response: ServerResponse, answer: Answer, isHead: boolean): void {
  const { status, type, body, more = {} } = answer;
  response.writeHead(status, { ...HEADERS, ...more, "content-type": type });
  if (isHead) response.end();
  else if (typeof body === "string" || Buffer.isBuffer(body)) response.end(body);
  else Readable.from(body).pipe(response);
}

function json(status: number, value: unknown): Answer {
  return { status, type: "application/json; charset=utf-8", body: JSON.stringify(value) };
}

async function answerTo(
  request: IncomingMessage,
  parts: ServerParts,
  policy: Policy,
): Promise<Answer> {
  const method = request.method ?? "GET";
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://127.0.0.1")) return json(400, { error: "Not a path." });
  const url = new URL(target, "http://127.0.0.1");
  const refusal = refusalOf({ method, url, headers: request.headers }, policy);
  if (refusal !== undefined) return json(refusal.status, { error: refusal.reason });
  if (hasTokenInUrl(method, url, policy)) {
    // The token leaves the address bar, and the browser's history.
    const more = { location: "/", "set-cookie": cookieHeader(policy) };
    return { status: 303, type: "text/plain", body: "", more };
  }
  const asset = ASSETS[url.pathname];
  if (asset !== undefined) return { status: 200, type: asset[1], body: assetText(asset[0]) };
  switch (url.pathname) {
    case "/healthz":
      return { status: 200, type: "text/plain", body: "ok\n" };
    case "/metrics":
      return metrics(parts);
    case "/api/table":
      return tableAnswer(parts, url.searchParams);
    case "/api/record":
      return record(parts, url.searchParams);
    case "/api/release":
      return method === "POST" ? release(parts, await bodyOf(request)) : json(405, {});
    default:
      return json(404, { error: "There is no such page." });
  }
}

function assetText(file: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`page/${file}`, import.meta.url)));
}

function statusOf(parts: ServerParts): Status {
  const { reader, table, prefix, refreshMs, allowRelease } = parts;
  const { last, error, totalUnits } = reader;
  return {
    ...{ table, prefix, refreshMs, allowRelease, totalUnits, error },
    reading: last?.number ?? 0,
    ageMs: last === undefined ? undefined : nowMs() - last.atMs,
    units: last?.units,
    isWhole: last?.isWhole ?? true,
    nowMs: systemClock.wallMs(),
  };
}

/** The answer of one page. All viewers get the same bytes of the view. */
async function tableAnswer(parts: ServerParts, query: URLSearchParams): Promise<Answer> {
  const number = Number(query.get("page"));
  // Further pages belong to the reading of the first.
  if (number === 0) await parts.reader.refresh();
  const { last } = parts.reader;
  const status: Omit<TableAnswer, "view"> = { ...statusOf(parts), pages: last?.pages.length ?? 0 };
  const page = last?.number === Number(query.get("after")) ? undefined : last?.pages[number];
  if (page === undefined) return json(200, status);
  const before = Buffer.from(`${JSON.stringify(status).slice(0, -1)},"view":`);
  return { ...json(200, status), body: [before, ...page, Buffer.from("}")] };
}

async function record(parts: ServerParts, query: URLSearchParams): Promise<Answer> {
  const kind = query.get("kind") ?? "lock";
  const name = query.get("name");
  if (!isKind(kind) || !name) return json(400, { error: "A kind and a name are needed." });
  const named: Named = { kind, name, namespace: query.get("namespace") ?? undefined };
  const { detail, error, atMs, units, number } = await parts.details.refresh(named);
  const ageMs = atMs === undefined ? undefined : nowMs() - atMs;
  const answer: DetailAnswer = {
    ...statusOf(parts),
    ...{ detail, error, ageMs, units, reading: number },
  };
  return json(200, answer);
}

function isKind(text: string): text is Kind {
  return text === "lock" || text === "leader" || text === "once" || isPermitKind(text);
}

async function release(parts: ServerParts, text: string | undefined): Promise<Answer> {
  const body = text === undefined ? undefined : releaseBody(text);
  if (body === undefined) {
    return json(400, { error: "A reason is needed, and the name typed again as confirmation." });
  }
  try {
    const result = await parts.release(body);
    parts.details.expire(body);
    return json(200, result);
  } catch (error) {
    const { code, message } = failureOf(error);
    if (code === "invalid-argument") return json(400, { error: message });
    throw error;
  }
}

/** The body, unless it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length > LONGEST_BODY) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function metrics({ reader }: ServerParts): Promise<Answer> {
  await reader.refresh();
  const { last, error, totalUnits } = reader;
  const ageS = last === undefined ? undefined : (nowMs() - last.atMs) / 1_000;
  const facts = { isUp: error === undefined && last !== undefined, ageS, totalUnits };
  const { text, type } = await metricsText(last?.figures, facts);
  return { status: 200, type, body: text };
}

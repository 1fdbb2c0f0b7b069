import { randomBytes } from "node:crypto";
import type { Holdfast } from "holdfast";
import { durationMs } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { aborted, Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { EXIT, usageError } from "../output/exit-codes.js";
import { assertNative } from "../output/format.js";
import { jsonLine, type Output } from "../output/output.js";
import { portOf } from "../port.js";
import { placeOf } from "./actions.js";
import { DetailReader } from "./detail-reader.js";
import { releaserOf } from "./release.js";
import { type PageServer, type ServerLimits, startPageServer } from "./server.js";
import { TableReader } from "./table-reader.js";

/** The options of `holdfast serve`, as parsed by commander. */
export interface ServeOptions extends CommonOptions {
  readonly port?: string;
  readonly prefix?: string;
  readonly refresh?: string;
  readonly allowRelease?: boolean;
  readonly token?: string;
}

const REFRESH_RANGE = { leastMs: 500, mostMs: 3_600_000 };
// What a header can carry: the bearer of a token with a blank, or a line break at its end, would never be let in.
const TOKEN = /^[\x21-\x7e]{16,}$/;

/** Serves the page until a signal ends the command. Returns the exit status. */
export async function serve(options: ServeOptions, output: Output, host: Host): Promise<number> {
  const interruptions = new Interruptions(host);
  try {
    await using locks = await locksOf(options, output);
    const server = await startServing(locks as unknown as Holdfast, options);
    const { port, url } = server;
    output.out(output.isJson ? jsonLine({ url, port }) : url);
    output.note("Open this URL in a browser on this machine. Ctrl-C ends the server.");
    await aborted(interruptions.ending);
    await server.close();
    return interruptions.exitCode ?? EXIT.ok;
  } finally {
    interruptions.dispose();
  }
}

/** Starts the server of a table over a client. Throws usage errors. */
export function startServing(
  locks: Holdfast,
  options: ServeOptions,
  limits?: ServerLimits,
): Promise<PageServer> {
  assertNative(options, "`holdfast serve`");
  const { table = "", prefix = "", refresh = "5s", allowRelease = false } = options;
  const refreshMs = durationMs("refresh", refresh, REFRESH_RANGE);
  const token = options.token || randomBytes(24).toString("base64url");
  if (!TOKEN.test(token)) {
    throw usageError(
      "The token must have at least 16 characters of ASCII, without blanks or line breaks: HOLDFAST_SERVE_TOKEN, or --token.",
    );
  }
  const port = portOf(options.port);
  const reader = new TableReader(locks, prefix, refreshMs);
  const details = new DetailReader(locks, reader, placeOf(options), Math.min(refreshMs, 2_000));
  const release = releaserOf(locks);
  const parts = { reader, details, release, table, prefix, refreshMs, token, allowRelease };
  return startPageServer(parts, port, limits);
}

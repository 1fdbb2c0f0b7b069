import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Which requests the server answers. Pure. */

/** The parts of a request that decide. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
}

export interface Policy {
  readonly token: string;
  readonly port: number;
  readonly allowRelease: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

const ASSETS = new Set(["/page.js", "/page.css"]);
/** Says only that the process answers; the assets are those of the published package. */
const WITHOUT_TOKEN = new Set(["/healthz", ...ASSETS]);

const ANOTHER_ORIGIN = "The request comes from another origin.";

/** Refuses a request; undefined if the server answers the request. */
export function refusalOf({ method, url, headers }: Asked, policy: Policy): Refusal | undefined {
  // Browsers leave out the port of HTTP.
  const port = policy.port === 80 ? "" : `:${policy.port}`;
  const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}${port}`);
  const { host, origin } = headers;
  // A name that an attacker lets resolve to the loopback must not make the page a page of the attacker's site.
  if (host === undefined || !hosts.includes(host))
    return refuse(403, "The request's Host header does not name this server.");
  if (origin !== undefined && origin !== `http://${host}`) return refuse(403, ANOTHER_ORIGIN);
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    return refuse(403, ANOTHER_ORIGIN);
  if (!WITHOUT_TOKEN.has(url.pathname) && !isPermitted(method, url, headers, policy))
    return refuse(
      401,
      "The token is missing or wrong. Open the URL that `holdfast serve` printed.",
    );
  if (method === "GET" || method === "HEAD") return undefined;
  if (method !== "POST" || url.pathname !== "/api/release")
    return refuse(405, "This server accepts POST only for /api/release.");
  if (!policy.allowRelease) return refuse(403, "Start `holdfast serve` with --allow-release.");
  return undefined;
}

function refuse(status: number, reason: string): Refusal {
  return { status, reason };
}

/**
 * A program sends the token in a header. A browser sends the cookie that the server gave it for the token in the URL; a
 * write with the cookie must name the page's own origin, because other ports of this machine count as the same site.
 */
function isPermitted(
  method: string,
  url: URL,
  { authorization = "", cookie = "", origin }: IncomingHttpHeaders,
  policy: Policy,
): boolean {
  const bearer = /^Bearer (.+)$/.exec(authorization)?.[1];
  if (bearer !== undefined) return isSame(bearer, policy.token);
  if (hasTokenInUrl(method, url, policy)) return true;
  const isRead = method === "GET" || method === "HEAD";
  const { name, value } = cookieOf(policy);
  const given = cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return given !== undefined && isSame(given.slice(name.length + 1), value) && (isRead || !!origin);
}

/** Whether a browser opens the URL that the server printed. */
export function hasTokenInUrl(method: string, url: URL, { token }: Policy): boolean {
  const given = url.searchParams.get("token");
  return method === "GET" && url.pathname === "/" && given !== null && isSame(given, token);
}

/** The header that gives a browser its cookie, which no script can read and no other site can send. */
export function cookieHeader(policy: Policy): string {
  const { name, value } = cookieOf(policy);
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`;
}

// The ports of one machine share their cookies. The value permits no more than the token, and does not show it.
function cookieOf({ token, port }: Policy): { name: string; value: string } {
  const value = createHmac("sha256", token).update("cookie of holdfast serve").digest("base64url");
  return { name: `holdfast-${port}`, value };
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The headers of every answer. */
export const HEADERS = Object.freeze({
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
});

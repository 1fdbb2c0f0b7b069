import { HoldfastError } from "../errors.js";
import { shown } from "../internal/shown.js";

// Errors of the SDK's credential providers.
const NAMES = new Set(["CredentialsProviderError", "TokenProviderError"]);

/** Whether the SDK found no credentials, by the name of its error. The SDK then sent no request. Pure. */
export function isWithoutCredentials(name: unknown): boolean {
  return NAMES.has(String(name));
}

// Refusals of the permission. All other refusals with the code `access-denied` are about the credentials.
const NOT_ALLOWED = new Set(["AccessDeniedException", "AccessDenied"]);

/** Whether the service refused the credentials, and not the permission. Pure. */
export function isRefusedCredentials({ code, cause }: HoldfastError): boolean {
  const { name } = (cause ?? {}) as { readonly name?: unknown };
  return code === "access-denied" && typeof name === "string" && !NOT_ALLOWED.has(name);
}

/** The error of a client without credentials. `client` says which client. */
export function noCredentials(client: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `No AWS credentials were found (environment, profile, SSO, role) for ${client}: ${said((cause as Partial<Error> | undefined)?.message)}. ` +
      "Nothing was sent. Set AWS_PROFILE, or set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws sso login`, or " +
      "give the machine a role.",
    { cause },
  );
}

// What the SDK says before it sends, in errors without a name of their own. The last: the client and its commands come from
// two versions of the SDK.
const UNUSABLE =
  /^Region (?:is missing|not accepted)|^Resolved credential object is not valid|Middleware is not found when adding/;

/** Whether the SDK cannot send any request with the settings of its client. It then sent none. Pure. */
export function isUnusable(error: unknown): boolean {
  const { name, message, code, $metadata } = Object(error) as Record<string, unknown>;
  if (Object($metadata).httpStatusCode !== undefined) return false;
  return name === "EndpointError" || code === "ERR_INVALID_URL" || UNUSABLE.test(String(message));
}

/** The error of a client with settings that the SDK cannot use. `client` says which client. */
export function unusable(client: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "misconfigured",
    `The SDK cannot send a request with ${client}: ${said((cause as Partial<Error> | undefined)?.message)}. Nothing was ` +
      "sent. Correct its `region` (or AWS_REGION), `endpoint` and `credentials`, and use one version of the SDK.",
    { cause },
  );
}

/** What an error of the SDK says: its first line, below which the SDK adds advice for its developers. */
export function said(message: unknown): string {
  const [line = ""] = String(message).split("\n", 1);
  return shown(line).replace(/\.$/, "");
}

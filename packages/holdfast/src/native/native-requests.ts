import type { Capability } from "../core/record/capability.js";
import type { RecordRef, RequestWrites } from "../core/record/format.js";
import type { Asked, HolderRequest } from "../core/record/record.js";
import type { Condition, Write } from "../platform/table.js";
import { REQUEST_ON_SESSION } from "./native.js";
import { all, any, equals, isAbsent, isPresent, keysOf, n, s } from "./native-conditions.js";
import { requestValue } from "./native-values.js";

/** Requests to a holder: to release, to resign, or to prefer another candidate. */
export const REQUESTS: Capability<RequestWrites> = {
  feature: "requests to a holder",
  why: "its records cannot store a request",
  of: (format) => (keysOf(format) === undefined ? undefined : nativeRequests),
};

// A request to a holder is no grant and no renewal, so its write changes neither the holder nor the version. Otherwise
// waiters would see a live holder, and watch for another lease.
const nativeRequests: RequestWrites = {
  ask: (ref, request, asked) => ref.shared?.ask(ref, request) ?? holderRequest(ref, request, asked),
  notify: (session, holder) => ({
    key: session.key,
    condition: all(equals("v", n(1n)), isPresent("holder")),
    change: { set: { [`${REQUEST_ON_SESSION}${holder}`]: { BOOL: true } }, remove: [] },
  }),
  settle: (session, holder) => ({
    key: session.key,
    condition: all(equals("v", n(1n)), isPresent("holder")),
    change: { set: {}, remove: [`${REQUEST_ON_SESSION}${holder}`] },
  }),
};

function holderRequest(ref: RecordRef, request: HolderRequest, asked: Asked | undefined): Write {
  return {
    key: ref.key,
    condition: all(
      equals("v", n(1n)),
      equals("holder", s(request.holder)),
      ...noStronger(request),
      ...(asked === undefined ? [] : [noLaterAsker(asked)]),
    ),
    change: {
      set: {
        request: requestValue(request),
        ...(asked?.by === undefined ? {} : { asked: n(asked.number), asker: s(asked.by) }),
      },
      remove: [],
    },
  };
}

// The same asker asks each holder that it meets with the same number, and its own repeated write is no rival. It has had a
// lower number if another asker came first: a late copy of that request must not set the lower number again.
function noLaterAsker({ number, by = "" }: Asked): Condition {
  const below = { kind: "below", attribute: "asked", value: n(number) } as const;
  const own = all(equals("asker", s(by)), equals("asked", n(number)));
  return any(isAbsent("asked"), below, own);
}

// The kinds that a request of each kind may replace, if both are to the same holder. Every request may replace
// a request to an earlier holder, since that holder has ended.
const REPLACED_BY = /* @__PURE__ */ Object.freeze({
  prefer: ["prefer"],
  resign: ["prefer", "resign"],
  want: ["prefer", "resign", "want"],
  interrupt: ["prefer", "resign", "want", "interrupt"],
});

function noStronger({ kind, holder }: HolderRequest): Condition[] {
  if (kind === "release") return [];
  const member = (name: string, text: string) =>
    ({ attribute: "request", member: name, value: s(text) }) as const;
  return [
    any(
      isAbsent("request"),
      { kind: "differs", ...member("holder", holder) },
      ...REPLACED_BY[kind].map((one) => ({ kind: "equals" as const, ...member("kind", one) })),
    ),
  ];
}

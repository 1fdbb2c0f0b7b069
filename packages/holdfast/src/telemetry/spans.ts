import { type Attributes, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import {
  type AcquireFailedEvent,
  type GrantEvent,
  LEASE_CHANNELS,
  type LeaseRenewalEvent,
  type LeaseSubject,
  type LossEvent,
  type ReleaseEvent,
} from "../core/events.js";
import { systemClock } from "../platform/clock.js";

/**
 * Creates a span `holdfast.acquire` for each acquisition and a span `holdfast.hold` for each lease of a lock or
 * occurrence. Both are children of the span that was active at the acquisition. Leaderships and sessions have
 * no spans: they last as long as their process, and such a span would arrive too late to be useful. Permits have
 * none either.
 */
export function traced(tracer: Tracer) {
  const held = new Map<string, Span>();
  const end = (holder: string, finish: (span: Span) => void): void => {
    const span = held.get(holder);
    if (span === undefined) return;
    held.delete(holder);
    finish(span);
    span.end();
  };
  return {
    told: {
      [LEASE_CHANNELS.grant](event: GrantEvent) {
        if (!isBrief(event)) return;
        const granted = { ...aboutLease(event), "holdfast.grant": event.how };
        acquireSpan(tracer, event.waitedMs, granted).end();
        held.set(
          event.holder,
          tracer.startSpan("holdfast.hold", { attributes: aboutLease(event) }),
        );
      },
      [LEASE_CHANNELS.refusal](event: AcquireFailedEvent) {
        if (!isBrief(event)) return;
        const refused = { ...about(event), "error.type": event.code };
        const span = acquireSpan(tracer, event.waitedMs, refused);
        // A lock held by another client is an answer, not an error.
        if (event.code !== "not-acquired" && event.code !== "aborted") {
          span.setStatus({ code: SpanStatusCode.ERROR, message: event.code });
        }
        span.end();
      },
      [LEASE_CHANNELS.renewal]({ holder, isAnswered, remainingMs }: LeaseRenewalEvent) {
        if (isAnswered) return;
        held
          .get(holder)
          ?.addEvent("renewal unanswered", { "holdfast.remaining": remainingMs / 1_000 });
      },
      [LEASE_CHANNELS.loss]({ holder, reason }: LossEvent) {
        end(holder, (span) => {
          span.setAttribute("holdfast.reason", reason);
          span.setStatus({ code: SpanStatusCode.ERROR, message: `lost: ${reason}` });
        });
      },
      [LEASE_CHANNELS.release]: ({ holder }: ReleaseEvent) => end(holder, () => undefined),
    },
    end() {
      for (const holder of [...held.keys()]) end(holder, () => undefined);
    },
  };
}

const isBrief = ({ kind }: LeaseSubject): boolean => kind === "lock" || kind === "once";

function about({ kind, name, owner }: LeaseSubject): Attributes {
  return { "holdfast.kind": kind, "holdfast.name": name, "holdfast.owner": owner };
}

function aboutLease(event: GrantEvent): Attributes {
  // A seeded fence may be above 2^53; text keeps the exact value.
  return {
    ...about(event),
    "holdfast.holder": event.holder,
    "holdfast.fence": String(event.fence),
  };
}

function acquireSpan(tracer: Tracer, waitedMs: number, attributes: Attributes): Span {
  const startTime = systemClock.wallMs() - waitedMs;
  return tracer.startSpan("holdfast.acquire", { startTime, attributes });
}

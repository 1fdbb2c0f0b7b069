import type { Attributes, Meter } from "@opentelemetry/api";
import { ASSIGNMENT_CHANNEL, type AssignmentChange } from "../assign/events.js";
import {
  type AcquireFailedEvent,
  type GrantEvent,
  LEASE_CHANNELS,
  type LeaseEvent,
  type LeaseRenewalEvent,
  type LossEvent,
  type PlaceExpiredEvent,
  type PositionEvent,
  type ReleaseEvent,
  type RequestEvent,
  type WaitEvent,
} from "../core/events.js";
import {
  ELECTION_CHANNELS,
  type LeadershipChange,
  type NoLeaderEvent,
  type TaskRunEvent,
} from "../election/events.js";
import { systemClock } from "../platform/clock.js";
import { SCHEDULE_CHANNEL, type ScheduleRunEvent } from "../schedule/events.js";
import { instruments } from "./instruments.js";
import type { NamedSubject, TelemetryOptions } from "./options.js";

type NameOf = NonNullable<TelemetryOptions["nameOf"]>;
type Instruments = ReturnType<typeof instruments>;

/** Maps each channel to the metrics of its messages. */
export function measured(meter: Meter, nameOf: NameOf) {
  const to = instruments(meter);
  const about = (subject: NamedSubject, more: Attributes = {}): Attributes => {
    const name = nameIn(nameOf, subject);
    const named = name === undefined ? {} : { "holdfast.name": name };
    return { "holdfast.kind": subject.kind, ...named, ...more };
  };
  return {
    told: {
      ...requestsTold(to),
      ...leasesTold(to, about),
      ...electionsTold(to, about),
      ...schedulesTold(to, about),
      ...assignmentsTold(to, about),
    },
  };
}

/** An error of the user's function must not end the process: the publisher of an event knows nothing of its subscribers. */
function nameIn(nameOf: NameOf, subject: NamedSubject): string | undefined {
  try {
    return nameOf(subject);
  } catch {
    return undefined;
  }
}

type About = (subject: NamedSubject, more?: Attributes) => Attributes;

function requestsTold(to: Instruments) {
  return {
    [LEASE_CHANNELS.request]({ operation, outcome, durationMs, units }: RequestEvent) {
      const attributes = { "holdfast.operation": operation, "holdfast.outcome": outcome };
      to["holdfast.request.duration"].record(durationMs / 1_000, attributes);
      // A refused write reports no units, but costs as much as an applied write.
      const charged = units ?? (outcome === "refused" ? 1 : 0);
      if (charged > 0)
        to["holdfast.request.units"].add(charged, { "holdfast.operation": operation });
    },
  };
}

function leasesTold(to: Instruments, about: About) {
  // Without this check the end of a lease from before `startTelemetry` would make the gauge too low.
  const known = new Set<string>();
  const ended = (lease: LeaseEvent, heldMs: number, end: string): void => {
    const attributes = about(lease, { "holdfast.end": end });
    to["holdfast.lease.hold.duration"].record(heldMs / 1_000, attributes);
    if (known.delete(lease.holder)) to["holdfast.lease.active"].add(-1, about(lease));
  };
  return {
    [LEASE_CHANNELS.wait]: (event: WaitEvent) => to["holdfast.lease.waits"].add(1, about(event)),
    [LEASE_CHANNELS.position](event: PositionEvent) {
      if (event.before === undefined)
        to["holdfast.queue.position"].record(event.position, about(event));
    },
    [LEASE_CHANNELS.overslept]: (event: PlaceExpiredEvent) =>
      to["holdfast.queue.overslept"].add(1, about(event)),
    [LEASE_CHANNELS.refusal](event: AcquireFailedEvent) {
      const attributes = about(event, { "error.type": event.code });
      to["holdfast.lease.refusals"].add(1, attributes);
      to["holdfast.lease.wait.duration"].record(event.waitedMs / 1_000, attributes);
    },
    [LEASE_CHANNELS.grant](event: GrantEvent) {
      known.add(event.holder);
      to["holdfast.lease.active"].add(1, about(event));
      const attributes = about(event, { "holdfast.grant": event.how });
      to["holdfast.lease.grants"].add(1, attributes);
      to["holdfast.lease.wait.duration"].record(event.waitedMs / 1_000, attributes);
    },
    [LEASE_CHANNELS.renewal](event: LeaseRenewalEvent) {
      const outcome = event.isAnswered ? "answered" : "unanswered";
      const attributes = about(event, { "holdfast.outcome": outcome });
      to["holdfast.lease.renewal.duration"].record(event.durationMs / 1_000, attributes);
      to["holdfast.lease.renewal.delay"].record(event.lateMs / 1_000, about(event));
      const { stampAgeMs } = event;
      if (stampAgeMs !== undefined)
        to["holdfast.session.stamp.age"].record(stampAgeMs / 1_000, about(event));
    },
    [LEASE_CHANNELS.loss](event: LossEvent) {
      const attributes = about(event, { "holdfast.reason": event.reason });
      to["holdfast.lease.losses"].add(1, attributes);
      to["holdfast.lease.loss.delay"].record(event.lateMs / 1_000, attributes);
      ended(event, event.heldMs, "lost");
    },
    [LEASE_CHANNELS.release]: (event: ReleaseEvent) => ended(event, event.heldMs, "released"),
  };
}

function schedulesTold(to: Instruments, about: About) {
  return {
    [SCHEDULE_CHANNEL]({ name, owner, phase, attempt, lateMs, ranMs }: ScheduleRunEvent) {
      const subject = { kind: "once", name, owner } as const;
      if (phase !== "start") {
        const attributes = about(subject, { "holdfast.outcome": phase });
        to["holdfast.schedule.run.duration"].record(ranMs / 1_000, attributes);
      } else if (attempt === 1)
        to["holdfast.schedule.run.delay"].record(lateMs / 1_000, about(subject));
    },
  };
}

/** Ids, each as often as it was added: clients of two tables can have the same name with the same fence, or without one. */
class Counted {
  readonly #counts = new Map<string, number>();

  add(id: string): void {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
  }

  /** Takes the id away once. Returns whether it was there. */
  delete(id: string): boolean {
    const count = this.#counts.get(id) ?? 0;
    if (count > 1) this.#counts.set(id, count - 1);
    else this.#counts.delete(id);
    return count > 0;
  }
}

function assignmentsTold(to: Instruments, about: About) {
  // Also of the fence: a name that is lost here can be taken again before its loss is told.
  const assigned = new Counted();
  return {
    [ASSIGNMENT_CHANNEL]({ kind, group, name, fence }: AssignmentChange) {
      const subject = { kind: "lock", name: group } as const;
      to["holdfast.assignment.changes"].add(1, about(subject, { "holdfast.change": kind }));
      const id = JSON.stringify([String(fence), group, name]);
      if (kind === "assigned") {
        assigned.add(id);
        to["holdfast.assignment.names"].add(1, about(subject));
      } else if (kind !== "idle" && assigned.delete(id))
        to["holdfast.assignment.names"].add(-1, about(subject));
    },
  };
}

function electionsTold(to: Instruments, about: About) {
  const leading = new Counted();
  const subject = (name: string): NamedSubject => ({ kind: "leader", name });
  return {
    [ELECTION_CHANNELS.transition]({ kind, name, term, gapMs, reason }: LeadershipChange) {
      const why = reason === undefined ? {} : { "holdfast.reason": reason };
      to["holdfast.election.transitions"].add(
        1,
        about(subject(name), { "holdfast.transition": kind, ...why }),
      );
      const id = JSON.stringify([String(term), name]);
      if (kind === "elected") {
        leading.add(id);
        to["holdfast.election.leading"].add(1, about(subject(name)));
        if (gapMs !== undefined)
          to["holdfast.election.gap.duration"].record(gapMs / 1_000, about(subject(name)));
      } else if (leading.delete(id)) to["holdfast.election.leading"].add(-1, about(subject(name)));
    },
    [ELECTION_CHANNELS.gap]({ name, cause, isOver }: NoLeaderEvent) {
      if (!isOver)
        to["holdfast.election.gap.looks"].add(1, about(subject(name), { "holdfast.cause": cause }));
    },
    [ELECTION_CHANNELS.tick]({ name, worker, phase, lateMs, ranMs }: TaskRunEvent) {
      const attributes = about(subject(name), { "holdfast.worker": worker });
      if (phase === "start") {
        to["holdfast.worker.run.delay"].record(lateMs / 1_000, attributes);
        to["holdfast.worker.start.time"].record(systemClock.wallMs() / 1_000, attributes);
      } else if (phase === "overdue" || phase === "wedged") {
        to["holdfast.worker.troubles"].add(1, { ...attributes, "holdfast.trouble": phase });
      } else {
        to["holdfast.worker.run.duration"].record(ranMs / 1_000, {
          ...attributes,
          "holdfast.outcome": phase === "error" ? "failed" : "ended",
        });
      }
    },
  };
}

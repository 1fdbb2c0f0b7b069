import type { Meter, MetricOptions } from "@opentelemetry/api";

// A request within a region takes milliseconds; after some seconds the core gives up the request.
const REQUEST_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
// The bounds reach from the wait for a free lock to more than the default wait of a minute.
const WAIT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
// The bounds reach from the length of a guarded write to a leadership of a day.
const HOLD_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 14_400, 86_400];
// docs/operations.md sets the alarm at one second. A renewal can be late by almost two thirds of a lease.
const LATE_S = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 60];

const seconds = (description: string, explicitBucketBoundaries: number[]): MetricOptions => ({
  description,
  unit: "s",
  advice: { explicitBucketBoundaries },
});

const counted = (description: string, unit: string): MetricOptions => ({ description, unit });

/** Creates every metric. Times are in seconds, and counts have a UCUM unit. */
export function instruments(meter: Meter) {
  return {
    ...{ ...ofRequests(meter), ...ofLeases(meter), ...ofElections(meter) },
    ...{ ...ofSchedules(meter), ...ofAssignments(meter) },
  };
}

function ofRequests(meter: Meter) {
  return {
    requestDuration: meter.createHistogram(
      "holdfast.request.duration",
      seconds("Time from the sending of a request to its answer.", REQUEST_S),
    ),
    requestUnits: meter.createCounter(
      "holdfast.request.units",
      counted("Capacity units that DynamoDB charged for requests.", "{unit}"),
    ),
  };
}

function ofLeases(meter: Meter) {
  return {
    waits: meter.createCounter(
      "holdfast.lease.waits",
      counted("Acquisitions that found the lease held.", "{acquisition}"),
    ),
    waitDuration: meter.createHistogram(
      "holdfast.lease.wait.duration",
      seconds("Time from the call to the grant or the refusal.", WAIT_S),
    ),
    queuePosition: meter.createHistogram("holdfast.queue.position", {
      description: "Number of predecessors of a waiter that joined a queue.",
      unit: "{waiter}",
      advice: { explicitBucketBoundaries: [0, 1, 2, 3, 5, 8, 16, 32, 64, 128, 256, 1_024] },
    }),
    overslept: meter.createCounter(
      "holdfast.queue.overslept",
      counted("Expired places in queues.", "{waiter}"),
    ),
    grants: meter.createCounter("holdfast.lease.grants", counted("Leases granted.", "{grant}")),
    refusals: meter.createCounter(
      "holdfast.lease.refusals",
      counted("Acquisitions that ended without a lease.", "{acquisition}"),
    ),
    active: meter.createUpDownCounter(
      "holdfast.lease.active",
      counted("Leases held now.", "{lease}"),
    ),
    holdDuration: meter.createHistogram(
      "holdfast.lease.hold.duration",
      seconds("From the grant to the end of the lease.", HOLD_S),
    ),
    losses: meter.createCounter(
      "holdfast.lease.losses",
      counted("Leases lost before their release.", "{lease}"),
    ),
    lossDelay: meter.createHistogram(
      "holdfast.lease.loss.delay",
      seconds(
        "Time from a deadline to the detection of the loss: how long the process did not run.",
        LATE_S,
      ),
    ),
    renewalDuration: meter.createHistogram(
      "holdfast.lease.renewal.duration",
      seconds("Time from the sending of a renewal to its answer or timeout.", REQUEST_S),
    ),
    renewalDelay: meter.createHistogram(
      "holdfast.lease.renewal.delay",
      seconds("Lateness of a renewal's send: how busy the event loop was.", LATE_S),
    ),
    stampAge: meter.createHistogram(
      "holdfast.session.stamp.age",
      seconds("Age of the event loop's last stamp when the thread sent a renewal.", LATE_S),
    ),
  };
}

function ofSchedules(meter: Meter) {
  return {
    scheduleRunDuration: meter.createHistogram(
      "holdfast.schedule.run.duration",
      seconds("Duration of a schedule's run.", HOLD_S),
    ),
    scheduleRunDelay: meter.createHistogram(
      "holdfast.schedule.run.delay",
      seconds("Delay of the first run for an instant after that instant.", WAIT_S),
    ),
  };
}

function ofAssignments(meter: Meter) {
  return {
    assignmentChanges: meter.createCounter(
      "holdfast.assignment.changes",
      counted("Names taken, given up, lost, or kept from running.", "{change}"),
    ),
    assigned: meter.createUpDownCounter(
      "holdfast.assignment.names",
      counted("Names that this process has.", "{name}"),
    ),
  };
}

function ofElections(meter: Meter) {
  return {
    transitions: meter.createCounter(
      "holdfast.election.transitions",
      counted("Terms begun, resigned and lost.", "{transition}"),
    ),
    leading: meter.createUpDownCounter(
      "holdfast.election.leading",
      counted("Leaderships of this process.", "{term}"),
    ),
    gapDuration: meter.createHistogram(
      "holdfast.election.gap.duration",
      seconds("Time since the elected candidate last knew of a live leader.", WAIT_S),
    ),
    gapLooks: meter.createCounter(
      "holdfast.election.gap.looks",
      counted("Polls by standbys that found no live leader.", "{look}"),
    ),
    runDuration: meter.createHistogram(
      "holdfast.worker.run.duration",
      seconds("Duration of a task's run.", HOLD_S),
    ),
    runDelay: meter.createHistogram(
      "holdfast.worker.run.delay",
      seconds("Delay of a task's run after its due time.", LATE_S),
    ),
    startTime: meter.createGauge("holdfast.worker.start.time", {
      description: "When a task's run last began in this process, since 1970.",
      unit: "s",
    }),
    troubles: meter.createCounter(
      "holdfast.worker.troubles",
      counted("Runs that did not start, or did not end when asked to stop.", "{run}"),
    ),
  };
}

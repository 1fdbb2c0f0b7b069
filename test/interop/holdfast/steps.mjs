import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import * as formats from "../../../packages/formats/dist/index.js";
import { listLocks } from "../../../packages/holdfast/dist/admin/index.js";
import { Holdfast, inspect, mutex } from "../../../packages/holdfast/dist/index.js";

/** A step without a counterpart in the library or its format. */
export class Unsupported extends Error {}

const keyNames = ({ partitionKey, sortKey }) => ({
  partitionKeyName: partitionKey,
  sortKeyName: sortKey,
});

const FORMATS = {
  "aws-lock-client": (keys) => formats.awsLockClient(keyNames(keys)),
  dynamolock: (keys) => formats.dynamolock(keyNames(keys)),
  // One longest lease for the whole table: the records do not store it.
  "dynamodb-lease": (_keys, longestLease) => formats.dynamodbLease({ longestLease }),
  "lock-client-fail-open": (keys) => formats.lockClientFailOpen(keyNames(keys)),
};

/** Fails if the step has fields which this driver would ignore. */
function allow({ id, step, ...fields }, ...known) {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Unsupported(`no option for ${unknown}`);
}

const bytesOf = (text) => (text === undefined ? undefined : Buffer.from(text));
const textOf = (bytes) => (bytes === undefined ? undefined : Buffer.from(bytes).toString());
// A number without a unit may be too short to be accepted.
const lengthOf = (ms) => (ms === undefined ? undefined : `${ms}ms`);

/** The steps of the line protocol, each by the library's own call. */
export class Steps {
  #say;
  #locks;
  #sorted = false;
  #holds = new Map();

  constructor(say) {
    this.#say = say;
  }

  run(request) {
    const step = this[request.step];
    if (typeof step !== "function") throw new Unsupported(`no step ${request.step}`);
    return step.call(this, request);
  }

  open(request) {
    const { endpoint, table, format, owner, leaseMs, beatMs, beats, pollMs, ...keys } = request;
    allow(keys, "partitionKey", "sortKey");
    this.#sorted = keys.sortKey !== undefined;
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    this.#locks = new Holdfast({
      client: new DynamoDBClient({ endpoint, region: "local", credentials }),
      table,
      format: format && FORMATS[format](keys, leaseMs),
      owner,
      lease: lengthOf(leaseMs),
      renew: beats === false ? "manual" : lengthOf(beatMs),
      poll: pollMs === undefined ? undefined : { min: lengthOf(pollMs), max: lengthOf(pollMs) },
      onError: () => undefined,
    });
    return {};
  }

  async acquire(request) {
    allow(
      request,
      "name",
      "sort",
      "wait",
      "pollMs",
      "data",
      "replaceData",
      "attributes",
      "update",
      "deleteOnRelease",
      "onlyIfExists",
    );
    const { wait, pollMs, attributes } = request;
    const options = {
      wait: wait === false ? 0 : wait === "forever" ? Number.POSITIVE_INFINITY : lengthOf(wait),
      poll: pollMs === undefined ? undefined : { min: lengthOf(pollMs), max: lengthOf(pollMs) },
      data: bytesOf(request.data),
      existingData: request.replaceData === false ? "keep" : undefined,
      existingAttributes: request.update === true ? "keep" : undefined,
      attributes,
      keepData: request.deleteOnRelease === false ? true : undefined,
      onlyIfExists: request.onlyIfExists,
    };
    try {
      const lease = await this.#mutex(request).acquire(options);
      const hold = String(this.#holds.size + 1);
      this.#holds.set(hold, lease);
      lease.signal.addEventListener("abort", () => {
        this.#say({ event: "lost", hold, reason: lease.signal.reason.reason });
      });
      const { holder, leaseMs } = lease;
      const lock = { holder, leaseMs, data: textOf(lease.data), attributes: lease.attributes };
      return { granted: true, hold, lock, fence: lease.fence && Number(lease.fence) };
    } catch (error) {
      if (error.code !== "not-acquired") throw error;
      return { granted: false, because: error.code };
    }
  }

  async beat(request) {
    allow(request, "hold", "data", "deleteData", "ensureMs");
    const lease = this.#hold(request);
    try {
      if (request.deleteData === true) await lease.update(undefined);
      else await lease.renew({ data: bytesOf(request.data), lease: lengthOf(request.ensureMs) });
      return { renewed: true };
    } catch (error) {
      if (error.code !== "lost") throw error;
      return { renewed: false, because: error.reason };
    }
  }

  held(request) {
    allow(request, "hold");
    return { held: this.#hold(request).isHeld };
  }

  async release(request) {
    allow(request, "hold", "delete");
    const lease = this.#hold(request);
    const wasHeld = lease.isHeld;
    await lease.release({ keepData: request.delete === undefined ? undefined : !request.delete });
    return { released: wasHeld && !lease.signal.aborted };
  }

  async read(request) {
    allow(request, "name", "sort", "fromTable");
    const found = await inspect(this.#locks, this.#name(request));
    return { lock: found.state === "absent" ? null : seen(found) };
  }

  async list(request) {
    allow(request, "name");
    const locks = [];
    for await (const page of listLocks(this.#locks, { free: true, prefix: request.name })) {
      locks.push(...page.locks.map(seen));
    }
    return { locks };
  }

  async close(request) {
    allow(request);
    await this.#locks.close();
    return {};
  }

  quit() {
    return {};
  }

  #mutex(request) {
    return mutex(this.#locks, this.#name(request));
  }

  #name({ name, sort }) {
    return this.#sorted ? [name, sort] : name;
  }

  #hold({ hold }) {
    const lease = this.#holds.get(hold);
    if (lease === undefined) throw new Error("There is no such hold.");
    return lease;
  }
}

function seen({ name, state, owner, leaseMs, data, attributes }) {
  const [first, sort] = typeof name === "string" ? [name] : name;
  return { name: first, sort, state, owner, leaseMs, data: textOf(data), attributes };
}

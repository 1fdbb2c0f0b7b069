// The steps of the line protocol, each by the package's own call.
import { promisify } from "node:util";
import AWS from "aws-sdk";
import { FailClosed, FailOpen } from "dynamodb-lock-client";

/** A step without a counterpart in the package. */
export class Unsupported extends Error {}

const KINDS = {
  "fail-open": {
    make: (config) => new FailOpen(config),
    // The package requires these options, without defaults.
    opens: ["partitionKey", "sortKey", "owner", "leaseMs", "beatMs", "beats", "trustLocalTime"],
    acquires: ["name", "sort", "retries"],
    config({ leaseMs, beatMs, beats, trustLocalTime, sortKey }) {
      const beating = beats !== false && beatMs !== undefined ? { heartbeatPeriodMs: beatMs } : {};
      return without({ leaseDurationMs: leaseMs, ...beating, trustLocalTime, sortKey });
    },
    retries: ({ retries }) => retries,
  },
  "fail-closed": {
    make: (config) => new FailClosed(config),
    opens: ["partitionKey", "owner", "pollMs"],
    acquires: ["name", "retries", "wait"],
    config: ({ pollMs }) => ({ acquirePeriodMs: pollMs }),
    retries({ retries, wait }, { pollMs }) {
      if (wait === undefined) return retries;
      return wait === false ? 0 : Math.ceil(wait / pollMs);
    },
  },
};

function without(config) {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

/** Fails if the step has fields which this driver would ignore. */
function allow(request, known) {
  const always = ["id", "step"];
  const unknown = Object.keys(request).find((name) => ![...always, ...known].includes(name));
  if (unknown !== undefined) throw new Unsupported(`no option for ${unknown}`);
}

export class Steps {
  #kind;
  #say;
  #opened;
  #holds = new Map();

  constructor(kind, say) {
    this.#kind = KINDS[kind];
    this.#say = say;
    if (this.#kind === undefined) throw new Error("Which kind: fail-open or fail-closed?");
  }

  async run(request) {
    switch (request.step) {
      case "open":
        return this.#open(request);
      case "acquire":
        return this.#acquire(request);
      case "release":
        return this.#release(request);
      case "quit":
        return {};
      default:
        throw new Unsupported(`it has nothing for ${request.step}`);
    }
  }

  #open(request) {
    allow(request, ["endpoint", "table", ...this.#kind.opens]);
    const { endpoint } = request;
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const dynamodb = new AWS.DynamoDB.DocumentClient({ endpoint, region: "local", ...credentials });
    this.#opened = { ...request, dynamodb };
    return {};
  }

  async #acquire(request) {
    allow(request, this.#kind.acquires);
    const { dynamodb, table, partitionKey = "id", owner, sortKey } = this.#opened;
    // The number of retries is fixed per client, and a client costs nothing.
    const client = this.#kind.make({
      dynamodb,
      lockTable: table,
      partitionKey,
      ...without({ owner, retryCount: this.#kind.retries(request, this.#opened) }),
      ...this.#kind.config(this.#opened),
    });
    const { name, sort } = request;
    const id = sort === undefined ? name : { [partitionKey]: name, [sortKey]: sort };
    try {
      const lock = await promisify(client.acquireLock.bind(client))(id);
      return this.#granted(lock);
    } catch (error) {
      if (error.code !== "FailedToAcquireLock") throw error;
      return { granted: false, because: error.code };
    }
  }

  #granted(lock) {
    const hold = String(this.#holds.size + 1);
    this.#holds.set(hold, lock);
    // Without a listener a failed heartbeat would end the process.
    lock.on("error", ({ code, message }) => {
      this.#say({ event: "error", hold, kind: code, message });
    });
    const { fencingToken } = lock;
    return { granted: true, hold, ...without({ fence: fencingToken }) };
  }

  async #release(request) {
    allow(request, ["hold"]);
    const lock = this.#holds.get(request.hold);
    if (lock === undefined) throw new Error("there is no such hold");
    try {
      await promisify(lock.release.bind(lock))();
      return { released: true };
    } catch (error) {
      if (error.code !== "FailedToReleaseLock") throw error;
      return { released: false };
    }
  }
}

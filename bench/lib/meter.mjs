// Counts the requests of this process over node:http or undici, with any SDK. Counts at the socket, so that
// neither a retry nor another library's client is missed. Counting costs a few microseconds a request, so timed
// processes run without the meter.
import { subscribe } from "node:diagnostics_channel";
import { OutgoingMessage } from "node:http";

const WRITES = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

/** The cost of a request by DynamoDB's rules, for items below 1 KB; a page is charged by its content. */
export function unitsOf(operation, body, answer) {
  if (WRITES.has(operation)) return { writeUnits: 1, readUnits: 0 };
  if (operation === "GetItem") return { writeUnits: 0, readUnits: body.ConsistentRead ? 1 : 0.5 };
  // Each action of a transaction is charged twice: to prepare, and to commit.
  if (operation === "TransactWriteItems")
    return { writeUnits: 2 * body.TransactItems.length, readUnits: 0 };
  const told = answer?.ConsumedCapacity?.CapacityUnits;
  if (told === undefined) throw new Error(`The cost of ${operation} is unknown.`);
  return { writeUnits: 0, readUnits: told };
}

/** Starts counting; the counts go on growing, by operation and in units. */
export function startMeter() {
  const counts = { requests: 0, writeUnits: 0, readUnits: 0, operations: {} };
  const bodies = new WeakMap();

  for (const method of ["write", "end"]) {
    const original = OutgoingMessage.prototype[method];
    OutgoingMessage.prototype[method] = function (chunk, ...rest) {
      if (chunk instanceof Uint8Array || typeof chunk === "string") {
        bodies.set(this, (bodies.get(this) ?? "") + Buffer.from(chunk).toString());
      }
      return original.call(this, chunk, ...rest);
    };
  }

  const add = (operation, body, answer) => {
    const { writeUnits, readUnits } = unitsOf(operation, body, answer);
    counts.requests += 1;
    counts.operations[operation] = (counts.operations[operation] ?? 0) + 1;
    counts.writeUnits += writeUnits;
    counts.readUnits += readUnits;
  };

  // A request is charged when sent, answered or not. Only pages wait for their answer. Some clients inspect or
  // create their table at the start, which is not part of any step.
  const isCharged = (operation) => operation !== undefined && !/Table|TimeToLive/.test(operation);
  const isPage = (operation) => operation === "Query" || operation === "Scan";
  const operationOf = (request) => String(request.getHeader("x-amz-target") ?? "").split(".")[1];
  subscribe("http.client.request.start", ({ request }) => {
    const operation = operationOf(request);
    if (!isCharged(operation) || isPage(operation)) return;
    add(operation, JSON.parse(bodies.get(request) ?? "{}"));
  });
  subscribe("http.client.response.finish", ({ request, response }) => {
    const operation = operationOf(request);
    if (!isPage(operation)) return;
    const chunks = [];
    const push = response.push.bind(response);
    response.push = (chunk) => {
      if (chunk === null) add(operation, {}, JSON.parse(Buffer.concat(chunks).toString()));
      else chunks.push(chunk);
      return push(chunk);
    };
  });
  // Headers are a list of names and values in turn. The body of a page's answer cannot be seen here.
  subscribe("undici:request:create", ({ request }) => {
    const { headers, body } = request;
    const at = headers.findIndex((header) => String(header).toLowerCase() === "x-amz-target");
    const operation = at === -1 ? undefined : String(headers[at + 1]).split(".")[1];
    if (!isCharged(operation)) return;
    const asked = body instanceof Uint8Array ? JSON.parse(Buffer.from(body).toString()) : {};
    // As for a page of less than 4 KB, such as that of a queue of some ten places.
    const page = { ConsumedCapacity: { CapacityUnits: asked.ConsistentRead ? 1 : 0.5 } };
    add(operation, asked, page);
  });
  return counts;
}

/** The difference between two readings of the counts. */
export function difference(after, before) {
  const operations = Object.fromEntries(
    Object.entries(after.operations)
      .map(([name, count]) => [name, count - (before.operations[name] ?? 0)])
      .filter(([, count]) => count > 0),
  );
  return {
    requests: after.requests - before.requests,
    writeUnits: after.writeUnits - before.writeUnits,
    readUnits: after.readUnits - before.readUnits,
    operations,
  };
}

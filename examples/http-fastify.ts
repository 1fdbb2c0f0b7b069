/**
 * Fastify: a request that finds the lock of its order held gets 503 with Retry-After; the server closes before the locks.
 */

import { MemoryTable } from "@holdfast/testing";
import Fastify from "fastify";
import { Holdfast, isHoldfastError, mutex } from "holdfast";

const locks = new Holdfast({ client: new MemoryTable(), table: "locks" }); // in production: new DynamoDBClient({})
const app = Fastify();
app.addHook("onClose", () => locks.close()); // Fastify calls it after the last request

app.post<{ Params: { id: string } }>("/orders/:id/bill", ({ params }) =>
  mutex(locks, `order/${encodeURIComponent(params.id)}`).run({ wait: "300ms" }, async (lease) => {
    lease.assertHeld();
    return { billed: params.id };
  }),
);

app.setErrorHandler((error, _request, reply) => {
  if (!isHoldfastError(error, "not-acquired")) return reply.send(error);
  const seconds = Math.ceil((error.retryAfterMs ?? 1_000) / 1_000);
  return reply.code(503).header("Retry-After", seconds).send({ error: "busy" });
});

// Try it:
const bill = () => app.inject({ method: "POST", url: "/orders/42/bill" });
console.log((await bill()).statusCode);
const held = await mutex(locks, "order/42").acquire();
const { statusCode, headers } = await bill();
console.log(statusCode, headers["retry-after"]);
await held.release();
await app.close();

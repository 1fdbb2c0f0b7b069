import { describe, expect, it } from "vitest";
import { VirtualTime } from "../../src/time/virtual-time.js";
import { get, ProxyKit, update } from "./proxy-kit.js";

describe("the fault proxy's network", () => {
  const kit = new ProxyKit();

  it.each(["request-lost", "response-lost"] as const)("hangs forever, %s", async (fault) => {
    kit.proxy.next("UpdateItem", { fault, how: "hang" });
    const controller = new AbortController();
    const sent = kit.client().send(update, { abortSignal: controller.signal });
    await expect.poll(() => kit.proxy.count()).toBe(1);
    await kit.proxy.settled();
    expect(kit.stub.updates).toBe(fault === "request-lost" ? 0 : 1);
    controller.abort();
    await expect(sent).rejects.toMatchObject({ name: "AbortError" });
  });

  it.each(["reset", "hang"] as const)("applies late, after a %s", async (how) => {
    const time = new VirtualTime();
    await kit.startProxy({ timers: time.timers });
    kit.proxy.next("UpdateItem", { fault: "applied-late", delayMs: 60_000, how });
    const controller = new AbortController();
    const sent = kit.client().send(update, { abortSignal: controller.signal });
    sent.catch(() => {});
    await expect.poll(() => kit.proxy.injected("applied-late")).toBe(1);
    if (how === "hang") controller.abort();
    await expect(sent).rejects.toThrow();
    await time.advance(59_999);
    expect(kit.stub.updates).toBe(0);
    await time.advance(1);
    await kit.proxy.settled();
    expect(kit.stub.updates).toBe(1);
    expect(kit.proxy.requests).toMatchObject([{ status: undefined, targetStatus: 200 }]);
  });

  it("delays the answer, not the effect", async () => {
    const time = new VirtualTime();
    await kit.startProxy({ timers: time.timers });
    kit.proxy.next("UpdateItem", { fault: "delayed", delayMs: 5000 });
    let answered = false;
    const sent = kit.client().send(update);
    sent.then(() => {
      answered = true;
    });
    await expect.poll(() => kit.proxy.requests[0]?.targetStatus).toBe(200);
    await time.advance(4999);
    expect(kit.stub.updates).toBe(1);
    expect(answered).toBe(false);
    await time.advance(1);
    expect((await sent).Attributes).toEqual({ n: { N: "1" } });
  });

  it.each(["cut", "halved"] as const)("sends half of an answer, %s", async (how) => {
    kit.proxy.next("UpdateItem", { fault: "truncated", how });
    const response = fetch(kit.proxy.endpoint, {
      method: "POST",
      headers: { "x-amz-target": "DynamoDB_20120810.UpdateItem" },
      body: "{}",
    });
    const text = response.then((answer) => answer.text());
    if (how === "cut") await expect(text).rejects.toThrow("terminated");
    else expect('{"Attributes":{"n":{"N":"1"}}}').toContain(await text);
    expect(kit.stub.updates).toBe(1);
    kit.proxy.next("UpdateItem", { fault: "truncated", how });
    await expect(kit.client().send(update)).rejects.toThrow();
    expect((await kit.client().send(update)).Attributes).toEqual({ n: { N: "3" } });
  });

  it("loses held traffic after a partition", async () => {
    kit.proxy.partition();
    const sent = kit.client().send(update);
    const lost = expect(sent).rejects.toMatchObject({ code: "ECONNRESET" });
    await expect.poll(() => kit.proxy.injected("partition")).toBe(1);
    expect(kit.proxy.requests[0]?.targetStatus).toBeUndefined();
    kit.proxy.heal();
    await lost;
    expect(kit.stub.updates).toBe(0);
    await kit.client().send(update);
    expect(kit.stub.updates).toBe(1);
  });

  it("delivers held traffic on heal({ delivers }), even after the client has given up", async () => {
    kit.proxy.partition();
    const controller = new AbortController();
    const patient = kit.client().send(get);
    const gaveUp = kit.client().send(update, { abortSignal: controller.signal });
    await expect.poll(() => kit.proxy.injected("partition")).toBe(2);
    controller.abort();
    await expect(gaveUp).rejects.toMatchObject({ name: "AbortError" });
    kit.proxy.heal({ delivers: true });
    expect((await patient).Item).toBeDefined();
    await kit.proxy.settled();
    expect(kit.stub.updates).toBe(1);
    const statuses = kit.proxy.requests.map(({ operation, status }) => [operation, status]);
    expect(statuses.sort()).toEqual([
      ["GetItem", 200],
      ["UpdateItem", undefined],
    ]);
  });

  it("holds answers too if the partition starts after the request", async () => {
    const time = new VirtualTime();
    await kit.startProxy({ timers: time.timers });
    kit.proxy.next("any", { fault: "delayed", delayMs: 10 });
    const sent = kit.client().send(update);
    await expect.poll(() => kit.proxy.requests[0]?.targetStatus).toBe(200);
    kit.proxy.partition();
    await time.advance(10);
    expect(kit.proxy.requests[0]?.status).toBeUndefined();
    kit.proxy.heal({ delivers: true });
    expect((await sent).Attributes).toBeDefined();
  });

  it("resets the connection when the target is unreachable", async () => {
    await kit.stub.stop();
    await expect(kit.client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("closes at once with hanging requests, and forwards nothing later", async () => {
    const time = new VirtualTime();
    await kit.startProxy({ timers: time.timers });
    kit.proxy.next("UpdateItem", { fault: "request-lost", how: "hang" });
    kit.proxy.next("UpdateItem", { fault: "applied-late", delayMs: 1000, how: "hang" });
    const ended = [1, 2].map(() => expect(kit.client().send(update)).rejects.toThrow());
    await expect.poll(() => kit.proxy.count()).toBe(2);
    kit.proxy.partition();
    ended.push(expect(kit.client().send(update)).rejects.toThrow());
    await expect.poll(() => kit.proxy.count()).toBe(3);
    await kit.proxy.close();
    await kit.proxy.close();
    await time.advance(1000);
    expect(kit.stub.updates).toBe(0);
    await Promise.all(ended);
    await expect(fetch(kit.proxy.endpoint)).rejects.toThrow();
  });
});

import { afterAll, beforeAll, describe } from "vitest";
import { Stores } from "../../packages/object-commit/test/stores/kit.js";
import { storeSuite } from "../../packages/object-commit/test/stores/suite.js";
import { type Running, startMiniStack } from "./ministack.js";

// A store with conditional puts. Of the available stores it honours the most conditions; no available store honours a
// condition on the destination of a copy, so `conditional` copies by a read and a put.
describe("MiniStack, an object store with conditional puts", () => {
  let server: Running;
  beforeAll(async () => {
    server = await startMiniStack();
  });
  afterAll(() => server.stop());

  storeSuite({
    open: () => Stores.open(server.url, server.url),
    strategies: ["conditional", "both", "auto"],
    probe: { put: "atomic", copy: "ignored", strategy: "conditional" },
  });
});

import { afterAll, beforeAll, describe } from "vitest";
import { Stores } from "../object-commit/stores/kit.js";
import { storeSuite } from "../object-commit/stores/suite.js";
import { type Running, startMiniStack } from "./ministack.js";

// A store that honours the conditions of puts. Of those that can be had it honours the most; none honours
// one on the destination of a copy, so that `conditional` copies by reading and putting.
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

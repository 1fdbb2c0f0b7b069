import { afterAll, beforeAll } from "vitest";
import { describeOnOneServer } from "../../../test/support/dynamodb-local.js";
import { Stores } from "./stores/kit.js";
import { type RunningS3rver, startS3rver } from "./stores/s3rver.js";
import { storeSuite } from "./stores/suite.js";

// The protocol's target store.
describeOnOneServer("s3rver", (endpoint) => {
  let server: RunningS3rver;
  beforeAll(async () => {
    server = await startS3rver();
  });
  afterAll(() => server.stop());

  storeSuite({
    open: () => Stores.open(server.url, endpoint(), server.bucket),
    strategies: ["dynamo", "both"],
    probe: { put: "ignored", copy: "ignored", strategy: "dynamo" },
  });
});

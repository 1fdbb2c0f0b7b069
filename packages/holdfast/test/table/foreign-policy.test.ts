import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { allowedBy, isFor, permissionsOf } from "../../../../test/support/permissions.js";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  type LockFormat,
  lockClientFailOpen,
} from "../../../formats/src/index.js";
import { isHoldfastError, mutex } from "../../src/index.js";
import {
  POLICY_FEATURES,
  type PolicyFeature,
  type PolicyStatement,
  policyFor,
} from "../../src/table/index.js";
import { foreignFeatures, PermissionScene } from "./features.js";

/** The tests of `policy.test.ts` for tables shared with other clients. */

const HAVE_ROOM_FOR = ["lock", "elect", "condition", "observe", "operate", "table"] as const;

const FORMATS: readonly (readonly [string, LockFormat])[] = [
  ["aws-lock-client", awsLockClient()],
  ["aws-lock-client with fences", awsLockClient({ fences: "companion" })],
  ["aws-lock-client with observations", awsLockClient({ observations: "companion" })],
  ["dynamolock", dynamolock()],
  ["dynamolock with fences", dynamolock({ fences: "companion" })],
  ["dynamodb-lease", dynamodbLease()],
  ["dynamodb-lease with fences", dynamodbLease({ fences: "companion" })],
  ["lock-client-fail-open", lockClientFailOpen()],
  ["lock-client-fail-open with observations", lockClientFailOpen({ observations: "companion" })],
];

/** A lease without renewals is lost, and the error has the cause. */
function refusalIn(error: Error | undefined): Error | undefined {
  return isHoldfastError(error, "lost") ? (error.cause as Error) : error;
}

let scene: PermissionScene;
afterEach(() => scene.close());

describe.each(FORMATS)("a policy for a table of format %s", (_title, format) => {
  const documentFor = (feature: PolicyFeature, prefixes?: readonly string[]) => {
    const table = feature === "table" ? "fresh" : "locks";
    return policyFor({ for: [feature], table, format, prefixes }).document;
  };
  const features = foreignFeatures(format);
  beforeEach(async () => {
    scene = await PermissionScene.open(format);
  });

  describe.each(HAVE_ROOM_FOR)("with %s", (feature) => {
    const play = async () => features[feature]?.(scene);

    it("is sufficient", async () => {
      scene.allows = allowedBy(documentFor(feature));
      await scene.until(play());
      expect(scene.asked.length).toBeGreaterThan(0);
      expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
    });

    it.each(permissionsOf(documentFor(feature)))(
      "is insufficient without $action, which the error names",
      async (permission) => {
        scene.allows = (access) => !isFor(permission, access);
        const thrown = play().then(
          () => undefined,
          (error: Error) => error,
        );
        const error = await scene.until(Promise.race([thrown, scene.denied]));
        expect(scene.asked.some(({ isAllowed }) => !isAllowed)).toBe(true);
        // The SDK reports a refusal of the user's own transaction.
        if (feature === "condition") expect(error?.name).toBe("AccessDeniedException");
        else expect(refusalIn(error)).toMatchObject({ code: "access-denied" });
        expect(refusalIn(error)?.message).toContain(permission.action);
      },
    );
  });

  it("limits a team to the names with its prefix, and to their companion records", async () => {
    scene.allows = allowedBy(documentFor("lock", ["team/"]));
    const locks = scene.locks();
    await (await mutex(locks, "team/1").acquire()).release();
    const other = mutex(locks, "other").acquire({ wait: 0 });
    await expect(other).rejects.toMatchObject({ code: "access-denied" });
    // A refused caller may note what it saw, in a format with observations.
    await mutex(scene.locks(scene.owner), "team/1").acquire();
    expect(await mutex(locks, "team/1").tryAcquire()).toBeNull();
    const denied = scene.asked.filter(({ isAllowed }) => !isAllowed);
    expect(denied).toHaveLength(1);
  });

  it.each(POLICY_FEATURES.filter((one) => !(HAVE_ROOM_FOR as readonly string[]).includes(one)))(
    "is refused for %s",
    (feature) => {
      const asked = () => policyFor({ for: [feature], table: "locks", format });
      expect(asked).toThrow(expect.objectContaining({ code: "invalid-argument" }));
      expect(asked).toThrow(format.name);
    },
  );
});

describe("a process that may not write observations", () => {
  it("reports the missing permission once, and uses the lock as without the option", async () => {
    scene = await PermissionScene.open(awsLockClient({ observations: "companion" }));
    scene.allows = ({ leadingKey = "" }) => !leadingKey.endsWith("#holdfast-seen");
    const reported: unknown[] = [];
    const held = await mutex(scene.locks(scene.owner), "a").acquire();
    const lock = mutex(
      scene.locks(scene.client, (error) => reported.push(error)),
      "a",
    );
    for (let tries = 0; tries < 2; tries += 1) expect(await lock.tryAcquire()).toBeNull();
    expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toHaveLength(2);
    expect(reported).toEqual([expect.objectContaining({ code: "access-denied" })]);
    await held.release();
    expect(await lock.tryAcquire()).not.toBeNull();
  });
});

describe("a policy for a table of another format", () => {
  beforeEach(async () => {
    scene = await PermissionScene.open();
  });

  const actionsOf = (format: LockFormat) => {
    const [records = {} as PolicyStatement] = policyFor({ for: ["lock"], table: "locks", format })
      .document.Statement;
    return records.Action;
  };

  it("has the actions of the format, and no key of native records", () => {
    const all = ["PutItem", "UpdateItem", "DeleteItem", "GetItem"].map((one) => `dynamodb:${one}`);
    const few = ["dynamodb:UpdateItem", "dynamodb:GetItem"];
    expect(actionsOf(awsLockClient())).toEqual(all);
    expect(actionsOf(dynamodbLease())).toEqual(all);
    expect(actionsOf(dynamolock())).toEqual(few);
    expect(actionsOf(lockClientFailOpen())).toEqual(few);
    const every = policyFor({ for: HAVE_ROOM_FOR, table: "locks", format: awsLockClient() });
    expect(JSON.stringify(every.document)).not.toMatch(/LeadingKeys|UpdateTimeToLive/);
  });

  it("lists additional permissions of options that are off by default", async () => {
    const noted = policyFor({ for: ["lock"], table: "locks", format: dynamolock() }).notes;
    expect(noted).toEqual([expect.stringContaining("keepData: false")]);
    expect(policyFor({ for: ["observe"], table: "locks", format: dynamolock() }).notes).toEqual([]);
    expect(policyFor({ for: ["lock"], table: "locks", format: awsLockClient() }).notes).toEqual([]);
    const made = { name: "x" } as LockFormat;
    expect(() => policyFor({ for: ["lock"], table: "locks", format: made })).toThrow(
      "@holdfast/formats",
    );
  });
});

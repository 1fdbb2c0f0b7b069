import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { allowedBy, isFor, isLike, permissionsOf } from "../../../../test/support/permissions.js";
import { FEATURES } from "../../../../test/support/policy-features.js";
import type { MemoryAccess } from "../../../testing/src/index.js";
import { grantHistory } from "../../src/admin/grant-history.js";
import { history } from "../../src/admin/index.js";
import { assign } from "../../src/assign/index.js";
import { election, leaderTasks } from "../../src/election/index.js";
import { Holdfast, type Lease, mutex } from "../../src/index.js";
import { inTable } from "../../src/schedule/index.js";
import { POLICY_FEATURES, type PolicyFeature, policyFor } from "../../src/table/index.js";
import { PermissionScene } from "./features.js";

const tableOf = (feature: PolicyFeature): string => {
  if (feature === "object-commit") return "commits";
  return feature === "table" ? "fresh" : "locks";
};
const documentFor = (feature: PolicyFeature) =>
  policyFor({ for: [feature], table: tableOf(feature) }).document;

let scene: PermissionScene;
beforeEach(async () => {
  scene = await PermissionScene.open();
});
afterEach(() => scene.close());

// No condition on keys narrows a scan or an action on the whole table, so a policy with prefixes leaves out the scans.
const isWhole = ({ action, leadingKey }: MemoryAccess): boolean =>
  action === "dynamodb:Scan" && leadingKey === undefined;

describe.each(POLICY_FEATURES)("the policy for %s with a prefix", (feature) => {
  const prefix = feature === "table" ? "" : "team-a/";
  const prefixes = prefix === "" ? [] : [prefix];
  const { document } = policyFor({ for: [feature], table: tableOf(feature), prefixes });

  it("is sufficient for the names and the sessions of the prefix, scans aside", async () => {
    scene.prefix = prefix;
    const isAllowed = allowedBy(document);
    scene.allows = (access) => isWhole(access) || isAllowed(access);
    await scene.until(FEATURES[feature](scene));
    expect(scene.asked.length).toBeGreaterThan(0);
    expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
  });

  it("allows nothing beyond the prefix, and no action on keys that the feature does not send", async () => {
    scene.prefix = prefix;
    await scene.until(FEATURES[feature](scene));
    const sent = scene.asked.map(({ access }) => access);
    const unused = permissionsOf(document).filter((one) => !sent.some((sent) => isFor(one, sent)));
    expect(unused).toEqual([]);
    const keys = permissionsOf(document).flatMap(({ key }) => key ?? []);
    expect(keys.filter((key) => !/^(?:[a-z-]+#)?team-a\/\*$/.test(key))).toEqual([]);
  });
});

describe.each(POLICY_FEATURES)("the policy for %s", (feature) => {
  it("is sufficient", async () => {
    scene.allows = allowedBy(documentFor(feature));
    await scene.until(FEATURES[feature](scene));
    expect(scene.asked.length).toBeGreaterThan(0);
    expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
  });

  it.each(permissionsOf(documentFor(feature)))(
    "is insufficient without $action on $key, which the error names",
    async (permission) => {
      scene.allows = (access) => !isFor(permission, access);
      const thrown = FEATURES[feature](scene).then(
        () => undefined,
        (error: Error) => error,
      );
      const error = await scene.until(Promise.race([thrown, scene.denied]));
      expect(scene.asked.some(({ isAllowed }) => !isAllowed)).toBe(true);
      // The SDK reports a refusal of the user's own transaction.
      if (feature === "condition") expect(error?.name).toBe("AccessDeniedException");
      else expect(error).toMatchObject({ code: "access-denied" });
      expect(error?.message).toContain(permission.action);
    },
  );
});

describe("the policy for lock", () => {
  it("is sufficient for keeping and reading a history", async () => {
    scene.allows = allowedBy(documentFor("lock"));
    const locks = new Holdfast({ client: scene.client, table: "locks", history: grantHistory() });
    await (await mutex(locks, "kept").acquire()).release();
    await locks.close();
    expect((await history(scene.locks(), "kept")).grants).toHaveLength(1);
    expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
  });

  it("without UpdateItem on the history lets a client acquire locks, and the client reports the refusal once", async () => {
    const reported: string[] = [];
    const onError = ({ code }: { code: string }): void => void reported.push(code);
    // Refuses the second of two writes: IAM cannot distinguish them by the key alone.
    let writes = 0;
    scene.allows = ({ action }) => action !== "dynamodb:UpdateItem" || ++writes % 2 === 1;
    const locks = new Holdfast({
      client: scene.client,
      table: "locks",
      history: grantHistory(),
      onError,
    });
    for (const name of ["a", "b"]) {
      await mutex(locks, name).acquire({ renew: "manual" });
      await locks.drain();
    }
    expect(reported).toEqual(["access-denied"]);
    scene.allows = () => true;
    await locks.close();
  });
});

describe("a process without dynamodb:UpdateItem", () => {
  const refuse = (): void => {
    scene.allows = ({ action }) => action !== "dynamodb:UpdateItem";
  };

  it("does not report a lock as held after tryAcquire", async () => {
    refuse();
    await expect(mutex(scene.locks(), "free").tryAcquire()).rejects.toMatchObject({
      code: "access-denied",
    });
  });

  it("loses its lease in time, with the reason, when the permission is removed during a hold", async () => {
    const lease = await mutex(scene.locks(), "held").acquire({ lease: "400ms", renew: "50ms" });
    refuse();
    await scene.until(new Promise((resolve) => lease.signal.addEventListener("abort", resolve)));
    expect(lease.signal.reason).toMatchObject({
      code: "lost",
      reason: "expired",
      cause: { code: "access-denied", message: expect.stringContaining("dynamodb:UpdateItem") },
    });
  });
});

describe("policyFor", () => {
  it("makes a valid IAM document for this table only", () => {
    const { document, notes } = policyFor({
      for: ["lock", "elect"],
      table: "locks",
      region: "eu-central-1",
      account: "123456789012",
    });
    expect(notes).toEqual([]);
    expect(document).toEqual({
      Version: "2012-10-17",
      Statement: [
        {
          Sid: "HoldfastUpdateItemAndGetItem",
          Effect: "Allow",
          Action: ["dynamodb:UpdateItem", "dynamodb:GetItem"],
          Resource: "arn:aws:dynamodb:eu-central-1:123456789012:table/locks",
          Condition: {
            "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["lock#*", "leader#*"] },
          },
        },
      ],
    });
  });

  it("lets the users of fair locks delete places in queues, and no record of a lock", () => {
    const { document } = policyFor({ for: ["fair-lock"], table: "locks", prefixes: ["a/"] });
    const deleting = document.Statement.filter(({ Action }) =>
      Action.includes("dynamodb:DeleteItem"),
    );
    expect(deleting.map(({ Condition }) => Condition)).toEqual([
      { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["queue#a/*"] } },
    ]);
  });

  it("makes statements with different ids, for all features", () => {
    const features = POLICY_FEATURES.filter((feature) => feature !== "object-commit");
    const { document } = policyFor({ for: features, table: "locks" });
    const ids = document.Statement.map(({ Sid }) => Sid);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]+$/);
  });

  it("denies a team the names of other teams, with a literal match of the prefix", async () => {
    const prefixes = ["team*/$x?", "shared/"];
    const { document } = policyFor({ for: ["lock"], table: "locks", prefixes });
    scene.allows = allowedBy(document);
    const locks = scene.locks();
    for (const name of ["team*/$x?1", "shared/1"]) {
      await (await mutex(locks, name).acquire()).release();
    }
    for (const name of ["teams/$x?1", "team*/y?1", "other", "share"]) {
      await expect(mutex(locks, name).acquire({ wait: 0 })).rejects.toMatchObject({
        code: "access-denied",
      });
    }
    await expect(election(locks, "shared/1").leader()).rejects.toMatchObject({
      code: "access-denied",
    });
  });

  it("notes the limits of a prefix, and leaves out actions that a prefix cannot narrow", () => {
    const options = { table: "locks", prefixes: ["team/"] };
    const watching = policyFor({ for: ["operate"], ...options });
    expect(JSON.stringify(watching.document)).not.toContain("Scan");
    expect(watching.notes.join()).toMatch(/\bscan\b.*\bwhole table\b.*\bwhole\b/s);
    const { document } = policyFor({ for: ["sessions"], ...options });
    expect(JSON.stringify(document)).toContain('"lock#team/*","session#team/*"');
    for (const feature of ["sessions", "permits", "observe", "operate"] as const) {
      const { notes } = policyFor({ for: [feature], ...options });
      expect(notes.join()).toContain("`sessionPrefix`");
    }
    expect(policyFor({ for: ["lock", "elect"], ...options }).notes).toEqual([]);
  });

  it("lists the bucket's permissions for object commits, below the prefixes", () => {
    const options = { for: ["object-commit"], table: "commits", bucket: "reports" } as const;
    const { document, notes } = policyFor({ ...options, prefixes: ["a/", "b/"] });
    expect(notes.join()).toMatch(/`s3:ListBucket`.*\bwhole bucket\b/);
    expect(policyFor(options).notes).toEqual([]);
    expect(document.Statement.slice(1)).toEqual([
      {
        Sid: "HoldfastObjects",
        Effect: "Allow",
        Action: ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
        Resource: ["arn:aws:s3:::reports/a/*", "arn:aws:s3:::reports/b/*"],
      },
      {
        Sid: "HoldfastBucket",
        Effect: "Allow",
        Action: ["s3:ListBucket"],
        Resource: "arn:aws:s3:::reports",
      },
    ]);
  });

  it.each([
    [{ for: [], table: "locks" }],
    [{ for: ["everything" as PolicyFeature], table: "locks" }],
    [{ for: ["lock"], table: "" }],
    [{ for: ["lock"], table: "locks", prefixes: [""] }],
    [{ for: ["lock"], table: "locks", region: "" }],
    [{ for: ["lock"], table: "locks", account: "" }],
    [{ for: ["lock"], table: "locks", partition: "" }],
    [{ for: ["lock"], table: "locks", partition: "aws-foo" }],
    [{ for: ["lock"], table: "locks", account: "12345" }],
    [{ for: ["lock"], table: "locks", account: "1234-5678-9012" }],
    [{ for: ["object-commit"], table: "locks", bucket: "" }],
    [{ for: ["object-commit"], table: "locks", bucket: "*" }],
    [{ for: ["object-commit"], table: "locks", bucket: "arn:aws:s3:::reports" }],
    [{ for: ["object-commit"], table: "locks", bucket: "reports/daily" }],
    [{ for: ["lock"], table: "locks", region: "*:*" }],
    [{ for: ["lock"], table: "locks", region: "eu-west-1,eu-west-2" }],
    [{ for: ["lock"], table: "locks", bucket: "reports" }],
    [{ for: ["lock", "object-commit"], table: "locks" }],
    [{ for: ["lock"], table: "locks", format: null as never }],
  ] as const)("refuses %j", (options) => {
    expect(() => policyFor(options)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });
});

describe("an assignment", () => {
  it("needs the permissions of locks, sessions and fair locks, and no others", async () => {
    const allowed = policyFor({
      ...{ for: ["lock", "sessions", "fair-lock"], table: "locks", prefixes: ["team-a/"] },
    });
    scene.prefix = "team-a/";
    scene.allows = allowedBy(allowed.document);
    const options = {
      names: ["a", "b", "c", "d"],
      period: "1s",
      run: (_: string, { signal }: Lease) =>
        new Promise((resolve) => signal.addEventListener("abort", resolve)),
    };
    const [one, two] = [0, 1].map(() => assign(scene.locks(), scene.name("g"), options));
    await scene.until(Promise.all([one?.start(), scene.pause(3_000)]));
    await scene.until(Promise.all([two?.start(), scene.pause(10_000)]));
    expect([one, two].map((each) => each?.mine.length)).toEqual([2, 2]);
    await scene.until(Promise.all([one?.stop(), two?.stop()]));
    expect(scene.asked.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
    expect(scene.asked.map(({ access }) => access.action)).toContain("dynamodb:DeleteItem");
  });
});

describe("leader tasks with a memory", () => {
  async function remembering(features: readonly PolicyFeature[]) {
    scene.allows = allowedBy(policyFor({ for: features, table: "locks" }).document);
    let runs = 0;
    const run = (): void => {
      runs += 1;
    };
    const task = { name: "t", every: "1s", remember: inTable, run } as const;
    const tasks = leaderTasks(scene.locks(), { name: "pool", failover: "5s", tasks: [task] });
    tasks.start();
    await scene.until(scene.pause(5_000));
    await scene.until(tasks.stop());
    const denied = scene.asked.filter(({ isAllowed }) => !isAllowed);
    return { runs, denied: new Set(denied.map(({ access }) => access.leadingKey)) };
  }

  it("need the permissions of elections and of once(), as docs/schedule.md says", async () => {
    const { runs, denied } = await remembering(["elect", "once"]);
    expect(denied).toEqual(new Set());
    expect(runs).toBeGreaterThan(0);
    const docs = new URL("../../../../docs/schedule.md", import.meta.url);
    expect(readFileSync(docs, "utf8")).toContain("`holdfast table policy --for elect,once`");
  });

  it("never run with the permissions of elections alone", async () => {
    expect(await remembering(["elect"])).toEqual({ runs: 0, denied: new Set(["once#pool/t"]) });
  });
});

describe("the IAM simulation of these tests", () => {
  it("matches like IAM", () => {
    expect(isLike("lock#a", "lock#*")).toBe(true);
    expect(isLike("lock#", "lock#*")).toBe(true);
    expect(isLike("a.b", "a?b")).toBe(true);
    expect(isLike("axb", "a.b")).toBe(false);
    const itself = (character: string): string => `a\${${character}}b`;
    expect(isLike("a*b", itself("*"))).toBe(true);
    expect(isLike("axb", itself("*"))).toBe(false);
    expect(isLike("a$b", itself("$"))).toBe(true);
  });
});

it("says that the features of a policy are a list, and refuses no feature by its name", () => {
  const error = {
    code: "invalid-argument",
    mentions: ["array"],
    omits: ["is not a feature"],
  } as const;
  expectThrown(() => policyFor({ for: "lock" as never, table: "locks" }), error);
});

describe("the table of a policy", () => {
  it.each(["arn:aws:dynamodb:eu-west-1:1:table/locks", "locks/*", "*", "lo", ""])(
    "cannot be %j",
    (table) => {
      expect(() => policyFor({ for: ["lock"], table })).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );
});

import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { Holdfast } from "../../../src/index.js";
import { type PolicyDocument, type PolicyFeature, policyFor } from "../../../src/table/index.js";
import { FEATURES, type FeatureScene } from "../features.js";
import { type Permission, permissionsOf, withoutPermission } from "../permissions.js";
import type { Finding, Scene } from "../scene.js";
import { Clients, codeOf, type Ended, ended, pause } from "../steps-kit.js";

const PART = "policies";
/** A change of IAM reaches every server after some seconds. */
const ROLE_LIMIT_MS = 120_000;
const ROLE_RETRY_MS = 2_000;
/** The wait after the first success, for servers without the role. */
const ROLE_SETTLE_MS = 15_000;
const JOIN_MS = 1_500;
const CREATION = "2m";

const finding = (check: string, level: Finding["level"], message: string): Finding => ({
  part: PART,
  check,
  level,
  message,
});

/** Plays each feature with its policy, and once without each permission. IAM judges the requests. */
export async function policies(scene: Scene): Promise<Finding[]> {
  const role = await makeRole(scene);
  const isJudged = await judges(scene, role);
  if (!isJudged) {
    const isAws = scene.settings.endpoint === undefined;
    const message = "A session without any permission read an item: nobody judges the policies.";
    return [finding("judged", isAws ? "problem" : "unseen", message)];
  }
  const findings: Finding[] = [];
  for (const feature of scene.features) {
    scene.note(`policies: ${feature}`);
    findings.push(...(await judged(scene, role, feature)));
  }
  return findings;
}

async function makeRole({ aws, ledger, names, tags, account }: Scene): Promise<string> {
  ledger.add({ kind: "role", name: names.role, region: "us-east-1" });
  const statement = (Action: string, Resource: readonly string[]) => ({
    Effect: "Allow",
    Action,
    Resource,
  });
  // More than any session needs: a session has the permissions that its own policy and the role both allow.
  const policy = {
    Version: "2012-10-17",
    Statement: [
      statement("dynamodb:*", [`arn:*:dynamodb:*:${account}:table/${names.table}*`]),
      statement("s3:*", [`arn:*:s3:::${names.bucket}`, `arn:*:s3:::${names.bucket}/*`]),
    ],
  };
  return aws.identity.createRole(names.role, policy, tags);
}

const NOTHING: PolicyDocument = {
  Version: "2012-10-17",
  Statement: [
    {
      Sid: "Nothing",
      Effect: "Allow",
      Action: ["dynamodb:DescribeLimits"],
      Resource: "*",
    },
  ],
};

/** Waits until the new role works. Returns whether policies have an effect. */
async function judges(scene: Scene, role: string): Promise<boolean> {
  const { names } = scene;
  const full = policyFor({ for: ["lock"], table: names.table }).document;
  const read = async (policy: PolicyDocument): Promise<Ended<unknown>> => {
    const session = await ended(sessionOf(scene, role, policy));
    if ("error" in session) return session;
    const Key = { pk: { S: "lock#none" }, sk: { S: "lock" } };
    const command = new GetItemCommand({ TableName: names.table, Key });
    return ended(session.value.client.send(command));
  };
  const untilMs = performance.now() + ROLE_LIMIT_MS;
  for (;;) {
    const answer = await read(full);
    if ("value" in answer) {
      const isAws = scene.settings.endpoint === undefined;
      if (isAws) await pause(ROLE_SETTLE_MS, scene.signal);
      return "error" in (await read(NOTHING));
    }
    if (performance.now() > untilMs) throw answer.error;
    await pause(ROLE_RETRY_MS, scene.signal);
  }
}

async function sessionOf(scene: Scene, role: string, policy: PolicyDocument) {
  const Statement = policy.Statement.map(({ Sid: _, ...rest }) => rest);
  // The policy of a session has at most 2,048 characters.
  const short = { ...policy, Statement } as unknown as PolicyDocument;
  const credentials = await scene.aws.identity.assumeRole(role, "case", short);
  return { client: scene.restricted(credentials), s3: scene.s3(credentials) };
}

interface Case {
  readonly feature: PolicyFeature;
  readonly document: PolicyDocument;
  readonly id: string;
}

async function judged(scene: Scene, role: string, feature: PolicyFeature): Promise<Finding[]> {
  const { names } = scene;
  const table = { table: names.table, "object-commit": names.commits }[feature as string];
  const document = (fresh: string): PolicyDocument =>
    policyFor({
      for: [feature],
      table: feature === "table" ? fresh : (table ?? names.table),
      partition: partitionOf(scene.settings.region),
      ...(feature === "object-commit" ? { bucket: names.bucket } : {}),
    }).document;
  const play = async (id: string, missing?: Permission): Promise<Ended<void>> => {
    const full = document(`${names.table}-${id}`);
    const narrowed = missing === undefined ? full : withoutPermission(full, missing);
    return playCase(scene, role, { feature, document: narrowed, id });
  };
  const findings = [sufficient(feature, await play(`${feature}-full`))];
  for (const [at, permission] of permissionsIn(document(names.table)).entries()) {
    findings.push(insufficient(feature, permission, await play(`${feature}-${at}`, permission)));
    scene.signal.throwIfAborted();
  }
  return findings;
}

function partitionOf(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** All permissions of a policy, with the permissions on the object store. */
function permissionsIn(document: PolicyDocument): Permission[] {
  const onObjects = document.Statement.flatMap(({ Action }) => Action)
    .filter((action) => action.startsWith("s3:"))
    .map((action) => ({ action, key: undefined }));
  return [...permissionsOf(document), ...onObjects];
}

async function playCase(scene: Scene, role: string, { feature, document, id }: Case) {
  const { names, signal } = scene;
  const isAws = scene.settings.endpoint === undefined;
  const clients = new Clients();
  const { client, s3 } = await sessionOf(scene, role, document);
  const fresh = `${names.table}-${id}`;
  const of: FeatureScene = {
    owner: scene.client,
    client,
    s3,
    tables: { locks: names.table, commits: names.commits, fresh },
    bucket: names.bucket,
    creation: CREATION,
    joinMs: isAws ? JOIN_MS : JOIN_MS / 5,
    pause: (ms) => pause(ms, signal),
    name: (name) => `${id}/${name}`,
    locks: (using = client, onError): Holdfast =>
      clients.make({
        client: using,
        table: names.table,
        poll: { min: "20ms", max: "20ms" },
        // Some of these clients have lost their network or their permissions; others still delete a queue entry.
        closeTimeout: isAws ? "3s" : "200ms",
        ...(onError === undefined ? {} : { onError }),
      }),
  };
  try {
    return await ended(FEATURES[feature](of));
  } finally {
    await clients.close();
    client.destroy();
    await scene.ledger.remove(({ kind, name }) => kind === "table" && name === fresh);
    signal.throwIfAborted();
  }
}

function sufficient(feature: PolicyFeature, result: Ended<void>): Finding {
  const check = `${feature} with its policy`;
  if ("value" in result) return finding(check, "ok", "Everything was allowed.");
  return finding(check, "problem", `It failed (${codeOf(result.error)}): ${result.error.message}`);
}

/** Checks that the error names the missing action. The SDK reports the refusal of a user's transaction. */
function insufficient(
  feature: PolicyFeature,
  { action, key }: Permission,
  result: Ended<void>,
): Finding {
  const check = `${feature} without ${action}${key === undefined ? "" : ` on ${key}`}`;
  if ("value" in result)
    return finding(check, "problem", "It succeeded: the permission is not needed.");
  const { message } = result.error;
  const code = codeOf(result.error);
  const expected = feature === "condition" ? "AccessDeniedException" : "access-denied";
  if (code === expected && message.includes(action)) {
    return finding(check, "ok", `Refused with ${code}, and the error names the action.`);
  }
  return finding(check, "problem", `Refused with ${code}, not as expected: ${message}`);
}

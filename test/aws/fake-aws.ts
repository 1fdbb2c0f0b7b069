import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { PolicyDocument } from "../../src/table/index.js";
import { memoryClient } from "../../src/testing/dynamodb/client.js";
import { type MemoryAnswer, MemoryDynamoDB } from "../../src/testing/dynamodb/memory-dynamodb.js";
import type { MemoryObjectsOptions } from "../../src/testing/index.js";
import type { Aws, Credentials, Identity } from "../../verification/aws/scene.js";
import { allowedBy, isLike } from "../support/permissions.js";
import { FakeS3 } from "./fake-s3.js";

type Body = Readonly<Record<string, unknown>>;

/** A request to the fake. */
export interface Seen {
  readonly operation: string;
  readonly region: string;
  readonly body: Body;
  /** The number of earlier requests of this operation. */
  readonly before: number;
}

/** An injected error. */
export interface Fault {
  readonly name: string;
  readonly message?: string;
  /** Further members of the error. */
  readonly more?: Body;
}

export interface FakeOptions {
  /** The difference to inject. */
  readonly fault?: (seen: Seen) => Fault | undefined;
  /** An action that every session may use, whatever its policy. */
  readonly unjudged?: string;
  readonly objects?: MemoryObjectsOptions;
  /** Leaves the missing action out of refusals. */
  readonly isMute?: boolean;
  /** Gives each region of a global table separate items, as without strong consistency. */
  readonly isEventual?: boolean;
  /** Accepts TTL and transactions on a global table. */
  readonly isSilent?: boolean;
}

const ACCOUNT = "123456789012";

/** A global table. Its replicas are active after some descriptions. */
interface Global {
  readonly regions: Set<string>;
  descriptions: number;
}

const DESCRIPTIONS = 2;
const ABOUT_TABLES = /Table|TimeToLive/;

/** An account in memory: DynamoDB in several regions, S3, IAM and STS, with differences to inject. */
export class FakeAws implements Aws {
  readonly s3Store: FakeS3;
  readonly requests: Seen[] = [];
  readonly roles = new Set<string>();
  readonly #options: FakeOptions;
  readonly #engines = new Map<string, MemoryDynamoDB>();
  readonly #sessions = new Map<string, PolicyDocument>();
  readonly #globals = new Map<string, Global>();
  readonly #counts = new Map<string, number>();
  readonly #tags = new Map<string, unknown>();
  fault: FakeOptions["fault"];

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.fault = options.fault;
    this.s3Store = new FakeS3(options.objects);
  }

  /** The tables that exist, in any region. */
  tables(): string[] {
    return [...this.#engines.values()].flatMap((engine) => {
      const { body } = engine.handle("ListTables", {});
      return body["TableNames"] as string[];
    });
  }

  tagsOf(table: string): unknown {
    return this.#tags.get(table);
  }

  dynamodb(region: string, credentials?: Credentials): DynamoDBClient {
    const policy = this.#policyOf(credentials);
    const engine = this.#engine(region);
    // The same tables, with the permissions of this caller.
    const door: MemoryDynamoDB = Object.create(engine);
    door.handle = (operation, body) => this.#handle(region, policy, operation, body as Body);
    return memoryClient(door);
  }

  s3(credentials?: Credentials): ReturnType<Aws["s3"]> {
    const policy = this.#policyOf(credentials);
    return this.s3Store.client((action, arn) => {
      if (policy === undefined || action === this.#options.unjudged) return true;
      return policy.Statement.some(
        ({ Action, Resource }) =>
          Action.includes(action) && [Resource].flat().some((one) => isLike(arn, one)),
      );
    });
  }

  readonly identity: Identity = {
    account: async () => ACCOUNT,
    createRole: async (name) => {
      this.roles.add(name);
      return `arn:aws:iam::${ACCOUNT}:role/${name}`;
    },
    deleteRole: async (name) => void this.roles.delete(name),
    assumeRole: async (_arn, _session, policy) => {
      const accessKeyId = `session-${this.#sessions.size}`;
      this.#sessions.set(accessKeyId, policy);
      return { accessKeyId, secretAccessKey: "local", sessionToken: "local" };
    },
  };

  forward: Aws["forward"] = async ({ operation, body }) => {
    const json = JSON.parse(body) as Body;
    const answer = this.#handle("us-east-1", undefined, operation, json);
    return { status: answer.status, headers: {}, body: JSON.stringify(answer.body) };
  };

  #policyOf(credentials: Credentials | undefined): PolicyDocument | undefined {
    return credentials === undefined ? undefined : this.#sessions.get(credentials.accessKeyId);
  }

  #engine(region: string): MemoryDynamoDB {
    const of = this.#options.isEventual === true ? region : "all";
    const engine = this.#engines.get(of) ?? new MemoryDynamoDB({ nowMs: () => Date.now() });
    this.#engines.set(of, engine);
    return engine;
  }

  #handle(
    region: string,
    policy: PolicyDocument | undefined,
    operation: string,
    body: Body,
  ): MemoryAnswer {
    const before = this.#counts.get(operation) ?? 0;
    this.#counts.set(operation, before + 1);
    const seen = { operation, region, body, before };
    this.requests.push(seen);
    const fault = this.fault?.(seen) ?? this.#refusedGlobally(operation, body);
    if (fault !== undefined) {
      const { name, message = name, more = {} } = fault;
      return { status: 400, body: { __type: `x#${name}`, message, ...more } };
    }
    if (operation === "CreateTable") this.#tags.set(String(body["TableName"]), body["Tags"]);
    if (operation === "UpdateTable") return this.#updateTable(body);
    const engine = this.#engine(region);
    const allows = policy === undefined ? undefined : allowedBy(policy);
    engine.allows =
      allows && ((access) => access.action === this.#options.unjudged || allows(access));
    try {
      const answer = this.#described(operation, body, engine.handle(operation, body));
      const isDenied = JSON.stringify(answer.body["__type"] ?? "").includes("AccessDenied");
      if (!isDenied || this.#options.isMute !== true) return answer;
      return { ...answer, body: { ...answer.body, message: "no" } };
    } finally {
      engine.allows = undefined;
    }
  }

  /** Refuses the operations that a strongly consistent global table lacks, and requests before its replicas are active. */
  #refusedGlobally(operation: string, body: Body): Fault | undefined {
    const text = JSON.stringify(body);
    const [, table] = [...this.#globals].find(([name]) => text.includes(name)) ?? [];
    if (table === undefined) return undefined;
    if (table.descriptions < DESCRIPTIONS && !ABOUT_TABLES.test(operation)) {
      return { name: "ResourceNotFoundException" };
    }
    if (this.#options.isSilent === true) return undefined;
    if (operation === "UpdateTimeToLive") {
      const message = "TTL is not supported for a multi-Region strongly consistent global table";
      return { name: "ValidationException", message };
    }
    if (operation !== "TransactWriteItems") return undefined;
    const message = "Transaction operations are not supported on this global table";
    return { name: "ValidationException", message };
  }

  #updateTable(body: Body): MemoryAnswer {
    const name = String(body["TableName"]);
    const updates = body["ReplicaUpdates"] as Record<string, { RegionName: string }>[];
    const table = this.#globals.get(name) ?? { regions: new Set(), descriptions: 0 };
    const { regions } = table;
    for (const { Create, Delete } of updates) {
      if (Create !== undefined) regions.add(Create.RegionName);
      if (Delete !== undefined) regions.delete(Delete.RegionName);
      if (this.#options.isEventual === true) this.#copyTable(name, Create, Delete);
    }
    if (regions.size === 0) this.#globals.delete(name);
    else this.#globals.set(name, table);
    return { status: 200, body: {} };
  }

  #copyTable(name: string, made?: { RegionName: string }, removed?: { RegionName: string }): void {
    const KeySchema = [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ];
    const AttributeDefinitions = KeySchema.map(({ AttributeName }) => ({
      AttributeName,
      AttributeType: "S",
    }));
    const table = { TableName: name, BillingMode: "PAY_PER_REQUEST", KeySchema };
    if (made !== undefined) {
      this.#engine(made.RegionName).handle("CreateTable", { ...table, AttributeDefinitions });
    }
    if (removed !== undefined) this.#engine(removed.RegionName).handle("DeleteTable", table);
  }

  #described(operation: string, body: Body, answer: MemoryAnswer): MemoryAnswer {
    const table = this.#globals.get(String(body["TableName"]));
    if (operation !== "DescribeTable" || table === undefined) return answer;
    table.descriptions += 1;
    const ReplicaStatus = table.descriptions < DESCRIPTIONS ? "CREATING" : "ACTIVE";
    const Replicas = [...table.regions].map((RegionName) => ({ RegionName, ReplicaStatus }));
    const more = { Replicas, MultiRegionConsistency: "STRONG" };
    return { ...answer, body: { Table: { ...(answer.body["Table"] as object), ...more } } };
  }
}

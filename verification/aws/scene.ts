import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { S3Client } from "@aws-sdk/client-s3";
import type { PolicyDocument, PolicyFeature } from "../../src/table/index.js";
import type { Ledger } from "./ledger.js";
import type { Meter } from "./meter.js";
import type { Settings } from "./options.js";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The requests to IAM and STS. */
export interface Identity {
  account(): Promise<string>;
  /** Creates a role with one policy, for principals of this account. Returns the ARN of the role. */
  createRole(name: string, policy: object, tags: Readonly<Record<string, string>>): Promise<string>;
  /** Deletes a role and its policy. Does nothing if the role is gone. */
  deleteRole(name: string): Promise<void>;
  /** Returns credentials with the permissions that both the role and this policy allow. */
  assumeRole(arn: string, session: string, policy: PolicyDocument): Promise<Credentials>;
}

/** A request to DynamoDB in wire form. */
export interface RawRequest {
  readonly operation: string;
  readonly body: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The services of AWS, or their fakes in a test. */
export interface Aws {
  dynamodb(region: string, credentials?: Credentials): DynamoDBClient;
  s3(credentials?: Credentials): S3Client;
  readonly identity: Identity;
  /** Sends a request to DynamoDB, signed with the profile's credentials. */
  forward(request: RawRequest): Promise<RawAnswer>;
}

/** Runs the conformance tests on an endpoint. */
export type RunSuite = (
  endpoint: string,
  signal: AbortSignal,
) => Promise<{
  readonly passed: number;
  readonly failed: readonly { readonly file: string; readonly title: string }[];
}>;

/** The names of the resources, with a common prefix for policies. */
export interface Names {
  readonly table: string;
  readonly commits: string;
  readonly throttled: string;
  readonly global: string;
  readonly bucket: string;
  readonly role: string;
}

/** The context of a part. */
export interface Scene {
  readonly settings: Settings;
  readonly run: string;
  readonly names: Names;
  readonly account: string;
  readonly aws: Aws;
  readonly runSuite: RunSuite;
  /** The features with a policy to try. */
  readonly features: readonly PolicyFeature[];
  readonly meter: Meter;
  readonly ledger: Ledger;
  /** The tags of the resources. */
  readonly tags: Readonly<Record<string, string>>;
  /** Aborts at an interruption and at the ceiling. */
  readonly signal: AbortSignal;
  /** The profile's client in the first region. It tags and lists each new table. */
  readonly client: DynamoDBClient;
  /** Makes a client of a session with fewer permissions. It lists each new table, without tags. */
  restricted(credentials: Credentials): DynamoDBClient;
  /** Makes a client for the replica of the global table in a region. */
  inRegion(region: string): DynamoDBClient;
  /** Makes a client for S3, with the profile's credentials by default. */
  s3(credentials?: Credentials): S3Client;
  note(text: string): void;
}

/** `unseen`: the run could not provoke the event. `measured`: figures without an expectation. */
export type Level = "ok" | "problem" | "unseen" | "measured";

export interface Finding {
  readonly part: string;
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  readonly figures?: Readonly<Record<string, unknown>> | undefined;
}

/** The names of a run's resources. */
export function namesOf(run: string, account: string): Names {
  const base = `holdfast-aws-${run}`;
  return {
    table: base,
    commits: `${base}-commits`,
    throttled: `${base}-throttled`,
    global: `${base}-global`,
    // Buckets of all accounts share their names.
    bucket: `${base}-${account}`,
    role: base,
  };
}

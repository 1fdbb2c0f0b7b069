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
  /** Makes a role that this account may assume, with one policy. Returns the role's ARN. */
  createRole(name: string, policy: object, tags: Readonly<Record<string, string>>): Promise<string>;
  /** Deletes the role and its policy; does nothing if they are gone. */
  deleteRole(name: string): Promise<void>;
  /** Returns credentials that have the permissions that both the role and this policy allow. */
  assumeRole(arn: string, session: string, policy: PolicyDocument): Promise<Credentials>;
}

/** A request for items or tables, as it travels. */
export interface RawRequest {
  readonly operation: string;
  readonly body: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Everything of AWS, or what stands for it in a test. */
export interface Aws {
  dynamodb(region: string, credentials?: Credentials): DynamoDBClient;
  s3(credentials?: Credentials): S3Client;
  readonly identity: Identity;
  /** Sends a request of DynamoDB's API, signed by the profile. */
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

/** The names of everything that the run makes: all begin alike, so that a policy can name them. */
export interface Names {
  readonly table: string;
  readonly commits: string;
  readonly throttled: string;
  readonly global: string;
  readonly bucket: string;
  readonly role: string;
}

/** What a part of the run gets. */
export interface Scene {
  readonly settings: Settings;
  readonly run: string;
  readonly names: Names;
  readonly account: string;
  readonly aws: Aws;
  readonly runSuite: RunSuite;
  /** The features whose policies are tried. */
  readonly features: readonly PolicyFeature[];
  readonly meter: Meter;
  readonly ledger: Ledger;
  /** The tags of everything that the run makes. */
  readonly tags: Readonly<Record<string, string>>;
  /** Aborts at an interruption, and at the ceiling. */
  readonly signal: AbortSignal;
  /** A client of the profile in the first region. Tables made through it are tagged and listed. */
  readonly client: DynamoDBClient;
  /** Makes a client of a session with fewer permissions; its tables are listed, and not tagged. */
  restricted(credentials: Credentials): DynamoDBClient;
  /** Makes a client for the global table's replica in a region. */
  inRegion(region: string): DynamoDBClient;
  /** Makes a client for S3, with the profile's credentials by default. */
  s3(credentials?: Credentials): S3Client;
  note(text: string): void;
}

/** `unseen`: what should be shown did not happen. `measured`: figures, without an expectation. */
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

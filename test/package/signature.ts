import { createHash, createHmac } from "node:crypto";
import type { StubRequest } from "./stub-server.js";

/** The parts of a request's signature. */
export interface Signature {
  readonly key: string;
  readonly day: string;
  readonly region: string;
  /** The signed headers, between semicolons. */
  readonly signed: string;
  readonly signature: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d+)\/([\w-]+)\/dynamodb\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/;

/** The signature of a request to DynamoDB; throws for an unsigned request. */
export function signatureOf(request: StubRequest | undefined): Signature {
  const said = AUTHORIZATION.exec(String(request?.headers["authorization"]));
  if (said === null) throw new Error("The request is not signed.");
  const [, key = "", day = "", region = "", signed = "", signature = ""] = said;
  return { key, day, region, signed, signature };
}

/** The signature of the service's computation, over the headers in the request. */
export function expectedSignature(request: StubRequest, secret: string): string {
  const { path, text, headers } = request;
  const { day, region, signed } = signatureOf(request);
  const told = signed.split(";").map((name) => `${name}:${String(headers[name])}\n`);
  const asked = ["POST", path, "", told.join(""), signed, sha256(text)].join("\n");
  const scope = [day, region, "dynamodb", "aws4_request"];
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope.join("/"), sha256(asked)];
  const key = scope.reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`);
  return hmac(key, toSign.join("\n")).toString("hex");
}

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

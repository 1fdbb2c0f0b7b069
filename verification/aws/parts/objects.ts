import { CopyObjectCommand, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import {
  type ObjectCommitter,
  objectCommitter,
  type Strategy,
} from "../../../src/object-commit/index.js";
import type { Finding, Scene } from "../scene.js";
import { codeOf, ended } from "../steps-kit.js";

const PART = "objects";
const RACERS = 16;
const COUNTERS = 6;
const INCREMENTS = 5;

const finding = (check: string, level: Finding["level"], message: string): Finding => ({
  part: PART,
  check,
  level,
  message,
});

/** Tries S3's conditional writes and copies, by single requests and through `holdfast/object-commit`. */
export async function objects(scene: Scene): Promise<Finding[]> {
  const s3 = scene.s3();
  const raw = new Raw(s3, scene.names.bucket);
  const findings = [...(await raw.puts()), ...(await raw.copies())];
  findings.push(await probe(scene, s3));
  for (const strategy of ["conditional", "both"] as const) {
    scene.signal.throwIfAborted();
    findings.push(await oneCreates(scene, s3, strategy), await noneIsLost(scene, s3, strategy));
    findings.push(await copiesOnce(scene, s3, strategy));
  }
  return findings;
}

/** Single requests, with the conditions that Holdfast sends. */
class Raw {
  readonly #s3: S3Client;
  readonly #bucket: string;

  constructor(s3: S3Client, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  async puts(): Promise<Finding[]> {
    const key = "raw/put";
    const first = await this.#put(key, { IfNoneMatch: "*" });
    const second = await this.#put(key, { IfNoneMatch: "*" });
    const wrong = await this.#put(key, { IfMatch: '"00000000000000000000000000000000"' });
    const right = await this.#put(key, { IfMatch: first.etag });
    const absent = await this.#put("raw/absent", { IfMatch: first.etag });
    const racing = await Promise.all(
      Array.from({ length: RACERS }, () => this.#put("raw/race", { IfNoneMatch: "*" })),
    );
    const winners = racing.filter(({ status }) => status === 200).length;
    const losers = [...new Set(racing.map(({ status }) => status))].filter((one) => one !== 200);
    return [
      expected("PutObject If-None-Match, absent", first.status, [200]),
      expected("PutObject If-None-Match, present", second.status, [412]),
      expected("PutObject If-Match, another ETag", wrong.status, [412]),
      expected("PutObject If-Match, the ETag", right.status, [200]),
      expected("PutObject If-Match, absent", absent.status, [404, 412]),
      finding(
        "PutObject If-None-Match, at once",
        winners === 1 ? "ok" : "problem",
        `${winners} of ${RACERS} succeeded; the others got ${losers.join(", ") || "nothing"}.`,
      ),
    ];
  }

  async copies(): Promise<Finding[]> {
    const source = await this.#put("raw/source", {});
    const absent = await this.#copy("raw/copy", { IfNoneMatch: "*" });
    const present = await this.#copy("raw/copy", { IfNoneMatch: "*" });
    const changed = await this.#copy("raw/other", {
      CopySourceIfMatch: '"00000000000000000000000000000000"',
    });
    const same = await this.#copy("raw/other", { CopySourceIfMatch: source.etag });
    return [
      expected("CopyObject If-None-Match, absent", absent.status, [200]),
      expected("CopyObject If-None-Match, present", present.status, [412]),
      expected("CopyObject of another ETag", changed.status, [412]),
      expected("CopyObject of the ETag", same.status, [200]),
    ];
  }

  async #put(Key: string, conditions: { IfMatch?: string; IfNoneMatch?: string }) {
    const input = { Bucket: this.#bucket, Key, Body: `${Math.random()}`, ...conditions };
    const answer = await ended(this.#s3.send(new PutObjectCommand(input)));
    return { status: statusOf(answer), etag: "value" in answer ? (answer.value.ETag ?? "") : "" };
  }

  async #copy(Key: string, conditions: { IfNoneMatch?: string; CopySourceIfMatch?: string }) {
    const CopySource = `${this.#bucket}/raw/source`;
    const input = { Bucket: this.#bucket, Key, CopySource, ...conditions };
    return { status: statusOf(await ended(this.#s3.send(new CopyObjectCommand(input)))) };
  }
}

/** The HTTP status of an answer. An error without a status ends the part. */
function statusOf(answer: Awaited<ReturnType<typeof ended>>): number {
  if ("value" in answer) return 200;
  const { $metadata } = answer.error as { $metadata?: { httpStatusCode?: number } };
  if ($metadata?.httpStatusCode === undefined) throw answer.error;
  return $metadata.httpStatusCode;
}

function expected(check: string, status: number, fine: readonly number[]): Finding {
  const isFine = fine.includes(status);
  const wanted = isFine ? "" : `, not ${fine.join(" or ")}`;
  return finding(check, isFine ? "ok" : "problem", `Status ${status}${wanted}.`);
}

function committerOf(scene: Scene, s3: S3Client, strategy: Strategy): ObjectCommitter {
  const { client, names } = scene;
  const dynamodb = { client, table: names.commits };
  return objectCommitter({ s3, bucket: names.bucket, strategy, dynamodb });
}

async function probe(scene: Scene, s3: S3Client): Promise<Finding> {
  const { put, copy, strategy } = await committerOf(scene, s3, "auto").probe();
  const isFine = put === "atomic" && copy === "atomic" && strategy === "conditional";
  return finding(
    "the probe of holdfast/object-commit",
    isFine ? "ok" : "problem",
    `Conditions of puts: ${put}; of copies: ${copy}; strategy: ${strategy}.`,
  );
}

async function oneCreates(scene: Scene, s3: S3Client, strategy: Strategy): Promise<Finding> {
  const key = `${strategy}/created`;
  const creations = Array.from({ length: RACERS }, (_, at) =>
    ended(committerOf(scene, s3, strategy).putIfAbsent(key, String(at))),
  );
  const results = await Promise.all(creations);
  const codes = results.flatMap((one) => ("error" in one ? [codeOf(one.error)] : []));
  const isFine = codes.length === RACERS - 1 && codes.every((code) => code === "already-exists");
  return finding(
    `${strategy}: one of ${RACERS} creates an object`,
    isFine ? "ok" : "problem",
    `${RACERS - codes.length} succeeded${isFine ? "" : `; errors: ${codes.join(", ")}`}.`,
  );
}

async function noneIsLost(scene: Scene, s3: S3Client, strategy: Strategy): Promise<Finding> {
  const key = `${strategy}/counter`;
  await committerOf(scene, s3, strategy).putIfAbsent(key, "0");
  const count = async (): Promise<void> => {
    const committer = committerOf(scene, s3, strategy);
    for (let time = 0; time < INCREMENTS; time += 1) {
      scene.signal.throwIfAborted();
      await committer.update(key, (now) => String(Number(textOf(now?.body)) + 1));
    }
  };
  const results = await Promise.all(Array.from({ length: COUNTERS }, () => ended(count())));
  const failure = results.find((one) => "error" in one);
  const check = `${strategy}: no update is lost`;
  if (failure !== undefined && "error" in failure) {
    return finding(check, "problem", `${codeOf(failure.error)}: ${failure.error.message}`);
  }
  const read = await committerOf(scene, s3, strategy).read(key);
  const counted = Number(textOf(read?.body));
  const isFine = counted === COUNTERS * INCREMENTS;
  return finding(
    check,
    isFine ? "ok" : "problem",
    `${COUNTERS} writers made ${COUNTERS * INCREMENTS} increments; the counter is ${counted}.`,
  );
}

async function copiesOnce(scene: Scene, s3: S3Client, strategy: Strategy): Promise<Finding> {
  const committer = committerOf(scene, s3, strategy);
  const [from, to] = [`${strategy}/from`, `${strategy}/to`];
  await committer.putIfAbsent(from, "content");
  const first = await ended(committer.copyIfAbsent(from, to));
  const second = await ended(committer.copyIfAbsent(from, to));
  const code = "error" in second ? codeOf(second.error) : "no error";
  const isFine = "value" in first && code === "already-exists";
  return finding(
    `${strategy}: a copy never overwrites`,
    isFine ? "ok" : "problem",
    `The first copy ${"value" in first ? "succeeded" : `failed: ${first.error.message}`}; the second: ${code}.`,
  );
}

function textOf(body: Uint8Array | undefined): string {
  return new TextDecoder().decode(body);
}

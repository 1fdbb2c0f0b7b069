import { HoldfastError, isHoldfastError } from "../errors.js";
import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead } from "../platform/s3/objects.js";
import { type Around, Patience, Pauses } from "./around.js";
import { Choice } from "./choice.js";
import { commitConditionally, commitUnderRecord } from "./commit.js";
import { contentOf, type ObjectBody, type OperationOptions, type PutOptions } from "./content.js";
import { isMet } from "./decide.js";
import { onNoResponse, sourceMissing, unmet } from "./errors.js";
import { checkApart, checkEtag, checkKey } from "./keys.js";
import { look } from "./look.js";
import { aroundOf } from "./made.js";
import {
  type CommitterSettings,
  type FixedStrategy,
  type ObjectCommitterOptions,
  resolveCommitter,
} from "./options.js";
import type { ProbeReport } from "./probe.js";
import {
  fetchObject,
  inspectObject,
  type ObjectInspection,
  type ReadObject,
  readObject,
} from "./read.js";
import type { ObjectWrite } from "./settle.js";
import { copyWrite, type PutContent, putWrite, removeWrite } from "./writes.js";

/** A commit that took place. */
export interface Committed {
  readonly key: string;
  /** Of the object as committed. */
  readonly etag: string;
  /** What the object carries in its metadata to tell by which commit it was written. */
  readonly commitId: string;
  readonly strategy: FixedStrategy;
}

/** Options of a delete. */
export interface DeleteOptions extends OperationOptions {
  /** Delete only the object with this ETag; left out: whichever is there. */
  readonly ifMatch?: string | undefined;
}

/** Options of an update. */
export interface UpdateOptions extends PutOptions {
  /** How often at most to read and commit, if others commit in between. From 1; default 20. */
  readonly attempts?: number | undefined;
}

/** Makes the next body of the current one; undefined leaves the object as it is. */
export type UpdateFunction = (
  current: ReadObject | undefined,
) => ObjectBody | undefined | Promise<ObjectBody | undefined>;

const MOST_ATTEMPTS = 20;

/**
 * Commits objects to one bucket so that of many writers only one wins. Made by {@link objectCommitter}.
 *
 * What it does not promise: anything against writers that write plainly, or decide in another way; one
 * decision about several objects; multi-part uploads; in `dynamo`, that a request is stopped which stays
 * on the wire for longer than the record's `timeout` times the skew rate. See docs/object-commit.md.
 *
 * Every operation may reject with `invalid-argument`, `misconfigured`, `access-denied`, `throttled`,
 * `unreachable` (nothing was written), `not-acquired` (another writer's record outlasted the wait),
 * `lost` (its own record ran out before the write was sent) and `outcome-unknown` (it may have been
 * written). Requests are counted where nothing is in the way.
 */
export class ObjectCommitter {
  /** The options as resolved. Shown by inspecting a committer; holds no client and no credentials. */
  readonly settings: CommitterSettings;
  readonly #around: Around;
  readonly #choice: Choice;

  /** Use {@link objectCommitter}. */
  constructor(options: ObjectCommitterOptions) {
    this.settings = Object.freeze(resolveCommitter(options));
    this.#around = aroundOf(options, this.settings);
    this.#choice = new Choice(this.#around);
  }

  /**
   * Creates an object where there is none. Rejects with `already-exists`. `conditional`: one PUT.
   * `dynamo` and `both`: HEAD, record, HEAD, PUT, record.
   */
  async putIfAbsent(key: string, body: ObjectBody, options: PutOptions = {}): Promise<Committed> {
    const patience = new Patience(this.#around, options.signal);
    return this.#put({ key: checkKey(key), etag: undefined }, contentOf(body, options), patience);
  }

  /**
   * Replaces the object that has this ETag, as the store gave it, with its quotation marks. Rejects with
   * `precondition-failed`, which tells the ETag found. Requests as for {@link putIfAbsent}.
   *
   * An ETag is usually made from the content alone: content that returns to what it once was passes.
   */
  async putIfMatch(
    key: string,
    etag: string,
    body: ObjectBody,
    options: PutOptions = {},
  ): Promise<Committed> {
    const patience = new Patience(this.#around, options.signal);
    const target = { key: checkKey(key), etag: checkEtag(etag) };
    return this.#put(target, contentOf(body, options), patience);
  }

  /**
   * Reads, lets `next` make a new body of it, commits, and does so again where somebody else committed
   * in between, with pauses that grow, at most `attempts` times; then rejects as the last attempt did.
   * Resolves to undefined where `next` did. An `outcome-unknown` is not tried again: only the content
   * can tell whether this update is in it. One GET more than {@link putIfAbsent} for each attempt.
   */
  async update(
    key: string,
    next: UpdateFunction,
    options: UpdateOptions = {},
  ): Promise<Committed | undefined> {
    checkKey(key);
    const attempts = checkAttempts(options.attempts ?? MOST_ATTEMPTS);
    const between = new Patience(this.#around, options.signal);
    const pauses = new Pauses(this.#around, between);
    for (let attempt = 1; ; attempt += 1) {
      const patience = new Patience(this.#around, options.signal);
      const current = await readObject(this.#around, key, patience);
      const body = await next(current);
      if (body === undefined) return undefined;
      try {
        const target = { key, etag: current?.etag };
        return await this.#put(target, contentOf(body, options), patience);
      } catch (error) {
        if (attempt >= attempts || !isOvertaken(error)) throw error;
      }
      await pauses.wait();
    }
  }

  /**
   * Copies an object within the bucket, with its metadata, where the destination is absent. Rejects with
   * `already-exists`; with `not-found` where there is no source, and `precondition-failed` where it was
   * replaced meanwhile. A HEAD of the source, and then as {@link putIfAbsent} with a copy in the place of
   * the PUT. With `conditional`, the first copy probes whether the store minds the destination; where it
   * does not, the object passes through this process: GET and PUT.
   */
  async copyIfAbsent(from: string, to: string, options: OperationOptions = {}): Promise<Committed> {
    checkApart(from, to);
    const patience = new Patience(this.#around, options.signal);
    return (await this.#copy(from, to, patience)).committed;
  }

  /**
   * A copy, and then a delete of exactly the source that was copied: two steps, of which the first can
   * stand alone after a crash, or where the delete is refused. Rejects as both do.
   */
  async renameIfAbsent(
    from: string,
    to: string,
    options: OperationOptions = {},
  ): Promise<Committed> {
    checkApart(from, to);
    const patience = new Patience(this.#around, options.signal);
    const { committed, sourceEtag } = await this.#copy(from, to, patience);
    await this.delete(from, { ...options, ifMatch: sourceEtag });
    return committed;
  }

  /**
   * Deletes an object, in turn with those who change it; resolves to whether there was one. Its path can
   * be created anew at once, unless the Rust crate made it less than `timeout` times the rate ago. With
   * `ifMatch`, rejects with `precondition-failed` where another is there.
   * HEAD, and then as {@link putIfAbsent} with a DELETE in the place of the PUT.
   */
  async delete(key: string, options: DeleteOptions = {}): Promise<boolean> {
    checkKey(key);
    const { ifMatch, signal } = options;
    if (ifMatch !== undefined) checkEtag(ifMatch);
    const patience = new Patience(this.#around, signal);
    const pauses = new Pauses(this.#around, patience);
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#look(key, patience);
      if (found === undefined && ifMatch === undefined) return false;
      const target = { key, etag: ifMatch ?? found?.etag };
      if (!isMet(target, found)) throw unmet(target, found);
      const write = removeWrite(this.#around, target, this.#around.random.id());
      try {
        await this.#commit(write, patience);
        return true;
      } catch (error) {
        if (ifMatch !== undefined || attempt >= MOST_ATTEMPTS || !isOvertaken(error)) throw error;
      }
      await pauses.wait();
    }
  }

  /** Reads an object, with the ETag to replace it by; undefined where there is none. One GET. */
  read(key: string, options: OperationOptions = {}): Promise<ReadObject | undefined> {
    return readObject(this.#around, checkKey(key), new Patience(this.#around, options.signal));
  }

  /** What is known of an object and of its commit records: one HEAD, and up to two strong reads. */
  inspect(key: string, options: OperationOptions = {}): Promise<ObjectInspection> {
    return inspectObject(this.#around, checkKey(key), new Patience(this.#around, options.signal));
  }

  /**
   * What the store does with conditions, and what `auto` makes of it: up to 60 requests on objects of
   * its own, the first time. Rejects with `misconfigured` where nothing is left to decide by.
   */
  probe(): Promise<ProbeReport> {
    return this.#choice.report();
  }

  /** The strategy of this committer; with `auto`, what the probe of puts says, once. */
  strategy(): Promise<FixedStrategy> {
    return this.#choice.strategy();
  }

  /** What `util.inspect` shows, and with it `console.log`: no client, and so no credentials. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { ObjectCommitter: this.settings };
  }

  async #put(target: CommitTarget, content: PutContent, patience: Patience): Promise<Committed> {
    const write = putWrite(this.#around, target, content, this.#around.random.id());
    const committed = await this.#commit(write, patience);
    if (write.canRepeat) content.onBytes?.(content.body.length);
    return committed;
  }

  async #copy(
    from: string,
    to: string,
    patience: Patience,
  ): Promise<{ readonly committed: Committed; readonly sourceEtag: string }> {
    const strategy = await this.strategy();
    const { random } = this.#around;
    if (strategy === "conditional" && !(await this.#choice.hasConditionalCopies())) {
      const source = await fetchObject(this.#around, from, patience);
      if (source === undefined) throw sourceMissing(from, to);
      const { contentType, metadata, system, etag } = source.head;
      const content = { body: source.body, contentType, metadata, system };
      const committed = await this.#put({ key: to, etag: undefined }, content, patience);
      return { committed, sourceEtag: etag };
    }
    const source = await this.#look(from, patience);
    if (source === undefined) throw sourceMissing(from, to);
    const write = copyWrite(this.#around, from, source, to, random.id());
    return { committed: await this.#commit(write, patience), sourceEtag: source.etag };
  }

  async #commit(write: ObjectWrite, patience: Patience): Promise<Committed> {
    const strategy = await this.strategy();
    const { table } = this.#around;
    const etag =
      strategy === "conditional" || table === undefined
        ? await commitConditionally(this.#around, write, patience)
        : await commitUnderRecord(this.#around, table, write, strategy === "both", patience);
    return { key: write.target.key, etag, commitId: write.commitId, strategy };
  }

  async #look(key: string, patience: Patience): Promise<ObjectHead | undefined> {
    const looked = await look(this.#around, key, patience);
    if (looked.kind === "seen") return looked.head;
    patience.signal?.throwIfAborted();
    throw onNoResponse({ key, etag: undefined }, "object store", looked.trouble);
  }
}

/**
 * A committer for one bucket: see {@link ObjectCommitter} for what it promises. Costs no request. Throws
 * `invalid-argument`.
 */
export function objectCommitter(options: ObjectCommitterOptions): ObjectCommitter {
  return new ObjectCommitter(options);
}

function checkAttempts(attempts: number): number {
  if ((Number.isInteger(attempts) && attempts >= 1) || attempts === Number.POSITIVE_INFINITY) {
    return attempts;
  }
  throw new HoldfastError(
    "invalid-argument",
    `The option \`attempts\` must be a whole number from 1, or Infinity; it is ${attempts}.`,
  );
}

/** Somebody else committed in between; read anew, the next attempt may succeed. */
function isOvertaken(error: unknown): boolean {
  return isHoldfastError(error, "already-exists") || isHoldfastError(error, "precondition-failed");
}

import { Readable } from "node:stream";
import { isHoldfastError } from "holdfast";
import { checkNames, type ObjectHead, type OptionNames, type StreamBody } from "holdfast/internal";
import { commitConditionally, commitUnderRecord } from "./commit.js";
import { contextOf } from "./compose.js";
import {
  checkApart,
  checkAttempts,
  checkEtag,
  checkKey,
  checkUpdate,
  contentOf,
  DELETE_NAMES,
  type DeleteOptions,
  type ObjectBody,
  OPERATION_NAMES,
  type OperationOptions,
  PUT_NAMES,
  type PutOptions,
  UPDATE_NAMES,
  type UpdateOptions,
} from "./content.js";
import { type CommitContext, Patience, Pauses } from "./context.js";
import { isMet } from "./decide.js";
import { halfRenamed, onNoResponse, sourceMissing, unmet } from "./errors.js";
import type { CommitTarget } from "./format.js";
import {
  type CommitterSettings,
  type FixedStrategy,
  type ObjectCommitterOptions,
  resolveCommitter,
} from "./options.js";
import { Choice, type ProbeReport } from "./probe.js";
import {
  fetchObject,
  inspectObject,
  type ObjectInspection,
  type ReadObject,
  readHead,
  readObject,
} from "./read.js";
import type { ObjectWrite } from "./settle.js";
import { copyWrite, type PutContent, putWrite, removeWrite } from "./writes.js";

/** The result of a commit. */
export interface Committed {
  readonly key: string;
  /** The ETag of the object as committed. */
  readonly etag: string;
  /** The commit's id in the metadata of the object. */
  readonly commitId: string;
  readonly strategy: FixedStrategy;
}

/** Returns the next body for the current object; undefined leaves the object unchanged. */
export type UpdateFunction = (
  current: ReadObject | undefined,
) => ObjectBody | undefined | Promise<ObjectBody | undefined>;

const MOST_ATTEMPTS = 20;

/**
 * Commits objects to one bucket: of several concurrent writers, a single writer wins. See {@link objectCommitter}.
 *
 * **Not** promised: protection against writers without a committer, or with another strategy; atomic commits of several
 * objects; multi-part uploads; in `dynamo`, protection against a write that reaches the store more than `timeout` times
 * (`maxClockSkewRate` - 1) after the send. See docs/object-commit.md.
 *
 * Every operation may reject with `invalid-argument`, `misconfigured`, `access-denied`, `throttled`, `unreachable`
 * (nothing was written), `not-acquired` (another writer's record outlasted the wait), `lost` (the writer's own record
 * expired before the write was sent) and `outcome-unknown` (the write may have been applied). The request counts of the
 * methods assume no faults and no other writers.
 */
export class ObjectCommitter {
  /** The resolved options. `util.inspect` shows them for a committer; they contain no client and no credentials. */
  readonly settings: CommitterSettings;
  readonly #context: CommitContext;
  readonly #choice: Choice;

  /** Use {@link objectCommitter}. */
  constructor(options: ObjectCommitterOptions) {
    this.settings = Object.freeze(resolveCommitter(options));
    this.#context = contextOf(options, this.settings);
    this.#choice = new Choice(this.#context);
  }

  /**
   * Creates an object. Rejects with `already-exists` if the key has an object.
   *
   * Requests: with `conditional` a PUT; with `dynamo` and `both` a HEAD, a record write, a HEAD, a PUT, a record write.
   */
  async putIfAbsent(key: string, body: ObjectBody, options: PutOptions = {}): Promise<Committed> {
    return this.#putBody(body, options, () => {
      const patience = this.#begin("putIfAbsent()", options, PUT_NAMES);
      return [{ key: checkKey(key), etag: undefined }, patience];
    });
  }

  /**
   * Replaces the object if its ETag is `etag`, the text that the store returned, with the quotation marks.
   *
   * Does **not** detect a content that other writers changed and changed back: most stores derive the ETag from the
   * content alone. Rejects with `precondition-failed` if the ETag differs; the error has the ETag found. Requests as
   * for {@link putIfAbsent}.
   */
  async putIfMatch(
    key: string,
    etag: string,
    body: ObjectBody,
    options: PutOptions = {},
  ): Promise<Committed> {
    return this.#putBody(body, options, () => {
      const patience = this.#begin("putIfMatch()", options, PUT_NAMES);
      return [{ key: checkKey(key), etag: checkEtag(etag) }, patience];
    });
  }

  /**
   * Reads the object, lets `next` compute a new body, and commits.
   *
   * If other writers commit in between, retries with growing pauses, at most `attempts` times, and then rejects with
   * the error of the last attempt. Resolves to undefined if `next` returned undefined. Does not retry an
   * `outcome-unknown`: only the content can show whether this update was applied. Each attempt costs a GET more than
   * {@link putIfAbsent}.
   */
  async update(
    key: string,
    next: UpdateFunction,
    options: UpdateOptions = {},
  ): Promise<Committed | undefined> {
    checkKey(key);
    const { signal } = this.#begin("update()", options, UPDATE_NAMES);
    checkUpdate(next, options);
    const attempts = checkAttempts(options.attempts ?? MOST_ATTEMPTS);
    // Each attempt has a limit of its own, and the attempts together have none.
    const remainingMs = (): number => Number.POSITIVE_INFINITY;
    const pauses = new Pauses(this.#context, { signal, remainingMs });
    for (let attempt = 1; ; attempt += 1) {
      const patience = new Patience(this.#context, signal);
      const current = await readObject(this.#context, key, patience);
      const body = await next(current);
      if (body === undefined) return undefined;
      try {
        return await this.#putBody(body, options, () => [
          { key, etag: current?.etag },
          // Without the time that `next` took: it says nothing about the store.
          new Patience(this.#context, signal),
        ]);
      } catch (error) {
        if (attempt >= attempts || !isOvertaken(error)) throw error;
      }
      await pauses.wait();
    }
  }

  /**
   * Copies an object within the bucket, with its metadata, to a key that has no object.
   *
   * Rejects with `already-exists` if `to` has an object, with `not-found` if `from` has none, and with
   * `precondition-failed` if another writer replaced the source during the copy. Requests: a HEAD of the source, and
   * then as {@link putIfAbsent} with a copy in place of the PUT. With `conditional`, the first copy probes whether the
   * store checks conditions on the destination. If not, this process copies the object by a GET and a PUT.
   */
  async copyIfAbsent(from: string, to: string, options: OperationOptions = {}): Promise<Committed> {
    checkApart(from, to);
    const patience = this.#begin("copyIfAbsent()", options, OPERATION_NAMES);
    return (await this.#copy(from, to, patience)).committed;
  }

  /**
   * Copies an object, and then deletes exactly the source that was copied.
   *
   * These are two steps: after a crash, or a delete that fails, both objects may exist. Rejects with the errors of
   * {@link copyIfAbsent}. After the copy, rejects with `precondition-failed` if the source was changed or deleted, and else
   * with `outcome-unknown`: the message says that the copy exists, and `cause` is the error of the delete.
   */
  async renameIfAbsent(
    from: string,
    to: string,
    options: OperationOptions = {},
  ): Promise<Committed> {
    checkApart(from, to);
    const patience = this.#begin("renameIfAbsent()", options, OPERATION_NAMES);
    const { committed, sourceEtag } = await this.#copy(from, to, patience);
    try {
      await this.delete(from, { ...options, ifMatch: sourceEtag });
    } catch (error) {
      throw halfRenamed(from, committed, error);
    }
    return committed;
  }

  /**
   * Deletes an object, with the same protection from other writers as a put. Resolves to whether there was an object.
   *
   * Writers can create the key again at once. If the Rust crate created the object, they must first wait until
   * `timeout` times `maxClockSkewRate` after that creation. With `ifMatch`, rejects with `precondition-failed` if the
   * ETag differs, and with `outcome-unknown` if an answer was lost, the object is gone, and no record shows whose delete
   * it was. Requests: a HEAD, and then as {@link putIfAbsent} with a DELETE in place of the PUT.
   */
  async delete(key: string, options: DeleteOptions = {}): Promise<boolean> {
    checkKey(key);
    const patience = this.#begin("delete()", options, DELETE_NAMES);
    const { ifMatch } = options;
    if (ifMatch !== undefined) checkEtag(ifMatch);
    const pauses = new Pauses(this.#context, patience);
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#readHead(key, patience);
      if (found === undefined && ifMatch === undefined) return false;
      const target = { key, etag: ifMatch ?? found?.etag };
      if (!isMet(target, found)) throw unmet(target, found);
      const id = this.#context.random.id();
      const write = removeWrite(this.#context, target, id, ifMatch === undefined);
      try {
        await this.#commit(write, patience);
        return true;
      } catch (error) {
        if (ifMatch !== undefined || attempt >= MOST_ATTEMPTS || !isOvertaken(error)) throw error;
      }
      await pauses.wait();
    }
  }

  /** Reads an object, with the ETag for {@link putIfMatch}; undefined if there is no object. Costs a GET. */
  async read(key: string, options: OperationOptions = {}): Promise<ReadObject | undefined> {
    const patience = this.#begin("read()", options, OPERATION_NAMES);
    return readObject(this.#context, checkKey(key), patience);
  }

  /** Reads the state of an object and of its commit records: a HEAD, and up to two strongly consistent reads. */
  async inspect(key: string, options: OperationOptions = {}): Promise<ObjectInspection> {
    const patience = this.#begin("inspect()", options, OPERATION_NAMES);
    return inspectObject(this.#context, checkKey(key), patience);
  }

  /**
   * Probes the store's support for conditions, and returns the choice of `auto`.
   *
   * The first call sends up to 62 requests, for objects that the probe creates and deletes. Rejects with
   * `misconfigured` if the store does not support conditions and the committer has no table.
   */
  probe(): Promise<ProbeReport> {
    return this.#choice.report();
  }

  /** Returns the strategy of this committer. With `auto`, the first call probes whether puts support conditions. */
  strategy(): Promise<FixedStrategy> {
    return this.#choice.strategy();
  }

  /** The output of `util.inspect` and `console.log`: no client, and so no credentials. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { ObjectCommitter: this.settings };
  }

  #begin<O extends OperationOptions>(call: string, options: O, names: OptionNames<O>): Patience {
    return new Patience(this.#context, checkNames(call, options, names).signal);
  }

  /** Puts a body of the caller, and closes its stream if the put fails, also before the put is sent. */
  async #putBody(
    body: ObjectBody,
    options: PutOptions,
    begin: () => readonly [CommitTarget, Patience],
  ): Promise<Committed> {
    const { stream } = Object(body) as Partial<StreamBody>;
    // A stream may fail before the put reads it, and without a listener this would end the process. The read throws the
    // error again.
    if (stream instanceof Readable) stream.on("error", () => undefined);
    try {
      const [target, patience] = begin();
      return await this.#put(target, contentOf(body, options), patience);
    } catch (error) {
      if (stream instanceof Readable) stream.destroy();
      throw error;
    }
  }

  async #put(target: CommitTarget, content: PutContent, patience: Patience): Promise<Committed> {
    const write = putWrite(this.#context, target, content, this.#context.random.id());
    const committed = await this.#commit(write, patience);
    if (write.canRepeat) content.onBytes?.(content.body.length);
    return committed;
  }

  async #copy(
    from: string,
    to: string,
    patience: Patience,
  ): Promise<{ readonly committed: Committed; readonly sourceEtag: string }> {
    const strategy = await this.#choice.strategy(patience);
    const { random } = this.#context;
    if (strategy === "conditional" && !(await this.#choice.hasConditionalCopies(patience))) {
      const source = await fetchObject(this.#context, from, patience);
      if (source === undefined) throw sourceMissing(from, to);
      const { contentType, metadata, system, etag } = source.head;
      const content = { body: source.body, contentType, metadata, system };
      const committed = await this.#put({ key: to, etag: undefined }, content, patience);
      return { committed, sourceEtag: etag };
    }
    const source = await this.#readHead(from, patience);
    if (source === undefined) throw sourceMissing(from, to);
    const write = copyWrite(this.#context, from, source, to, random.id());
    return { committed: await this.#commit(write, patience), sourceEtag: source.etag };
  }

  async #commit(write: ObjectWrite, patience: Patience): Promise<Committed> {
    const strategy = await this.#choice.strategy(patience);
    const { table } = this.#context;
    const etag =
      strategy === "conditional" || table === undefined
        ? await commitConditionally(this.#context, write, patience)
        : await commitUnderRecord(this.#context, table, write, strategy === "both", patience);
    return { key: write.target.key, etag, commitId: write.commitId, strategy };
  }

  async #readHead(key: string, patience: Patience): Promise<ObjectHead | undefined> {
    const read = await readHead(this.#context, key, patience);
    if (read.kind === "seen") return read.head;
    patience.signal?.throwIfAborted();
    throw onNoResponse({ key, etag: undefined }, "object store", read.trouble, "read");
  }
}

/**
 * Creates a committer for one bucket: see {@link ObjectCommitter} for its promises. Costs no request. Throws
 * `invalid-argument`.
 */
export function objectCommitter(options: ObjectCommitterOptions): ObjectCommitter {
  return new ObjectCommitter(options);
}

/** Whether another writer committed in between. After a new read, the next attempt may succeed. */
function isOvertaken(error: unknown): boolean {
  return isHoldfastError(error, "already-exists") || isHoldfastError(error, "precondition-failed");
}

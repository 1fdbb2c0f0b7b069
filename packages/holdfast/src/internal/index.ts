/**
 * For the packages of Holdfast alone, at exactly this version: what they share beyond the public names. It promises
 * nothing to programs, and may change with any release. The documentation of each name stands at its definition.
 * @module
 */
export { type SeenMember, sharingIn } from "../assign/share.js";
export { assignFence } from "../core/acquire/assign-fence.js";
export { noteSighting } from "../core/acquire/note-sighting.js";
export { LEASE_CHANNELS, type PositionEvent } from "../core/events.js";
export { loseNow } from "../core/hold/lose-now.js";
export { DEFAULTS } from "../core/options.js";
export type {
  FenceCounter,
  FreeOptions,
  Grant,
  Held,
  Holders,
  Kind,
  LeaseFormat,
  LeaseWrites,
  Onto,
  RecordCodec,
  RecordRef,
  Renewal,
  SightingFormat,
  Watched,
} from "../core/record/format.js";
export type { FormatFacts, LeaseDefaults } from "../core/record/format-facts.js";
export type {
  CompositeName,
  FormatTypes,
  LockFormat,
  LockName,
  NativeTypes,
} from "../core/record/format-types.js";
export type { Found, Version } from "../core/record/record.js";
export type { Sighting } from "../core/record/sighting.js";
export { election, type LeaderInfo } from "../election/index.js";
export { type ElectionOptions, resolveElection } from "../election/options.js";
export { MEAN_PAUSE } from "../election/standby.js";
export { HoldfastError, isHoldfastError } from "../errors.js";
export { nativeFormat } from "../native/native.js";
export { expiresAt } from "../native/native-conditions.js";
export { looksLike } from "../native/recognise.js";
export { abortSignalOf, type SignalLike } from "../platform/abort.js";
export { Bounds } from "../platform/bounded.js";
export {
  type Clock,
  elapsedMsSince,
  epochMsOf,
  type Instant,
  instantOf,
  isoTimeOf,
  systemClock,
} from "../platform/clock.js";
export {
  isUnusable,
  isWithoutCredentials,
  noCredentials,
  unusable,
} from "../platform/credentials.js";
export { listenTo } from "../platform/diagnostics.js";
export { FOR_COMMITS } from "../platform/dynamodb/errors.js";
export { type DynamoDBLike, withoutRetries } from "../platform/dynamodb/sdk.js";
export { isTransport, type Transport } from "../platform/dynamodb/sender.js";
export { DynamoDBTable } from "../platform/dynamodb/table.js";
export type { Finalization } from "../platform/finalization.js";
export {
  COMMIT_METADATA,
  type GetAnswer,
  type HeadAnswer,
  type ObjectAbsent,
  type ObjectConditions,
  type ObjectCopy,
  type ObjectHead,
  type ObjectPort,
  type ObjectPut,
  type ObjectRefused,
  type ObjectRemoval,
  type ObjectTrouble,
  type StoreAnswer,
  type StreamBody,
} from "../platform/objects.js";
export { defaultOwner, warn } from "../platform/process.js";
export { type Random, systemRandom } from "../platform/random.js";
export {
  AGAIN,
  type Again,
  type Backoff,
  type NoAnswer,
  type RetryOptions,
  retry,
  type Unanswered,
  unlessMisconfigured,
} from "../platform/retry.js";
export {
  type AttributeValue,
  type Call,
  type Change,
  type Condition,
  type Dated,
  type Increment,
  type Item,
  type KeyPrefix,
  type Misconfigured,
  mayBeApplied,
  type NotNow,
  type OrElse,
  type Query,
  type Read,
  type ReadAnswer,
  type Refusal,
  type Scan,
  type ScanAnswer,
  type TablePort,
  type Transacting,
  type Transaction,
  type TransactionAnswer,
  type Unknown,
  type Write,
  type WriteAnswer,
} from "../platform/table.js";
export { systemTimers, type Timer, type Timers } from "../platform/timers.js";
export { Dates } from "../table/dates.js";
export { schemaFor, type TableSchema } from "../table/schema.js";
export { ttlOf } from "../table/table.js";
export { Breaks } from "./breaks.js";
export { causeText, noAnswerText } from "./cause-text.js";
export { type Duration, type DurationRange, durationMs } from "./duration.js";
export { refusedKeyIn } from "./json-value.js";
export { checkCallback, checkNames, type OptionNames } from "./option-names.js";
export { serialisable } from "./printed.js";
export { shown, visible, withoutHidden } from "./shown.js";
export { sleep } from "./sleep.js";
export { tell } from "./tell.js";
export { valueText } from "./value-text.js";

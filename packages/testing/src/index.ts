/**
 * Tools for tests: tables in memory, virtual time, faults, and a server on the loopback interface. This file
 * lists the public names only; each name is documented at its definition.
 * @module
 */
export type {
  AttributeValue,
  Call,
  Change,
  Clock,
  Condition,
  Dated,
  Finalization,
  GetAnswer,
  HeadAnswer,
  Increment,
  Instant,
  Item,
  KeyPrefix,
  Misconfigured,
  NotNow,
  ObjectAbsent,
  ObjectConditions,
  ObjectCopy,
  ObjectHead,
  ObjectPort,
  ObjectPut,
  ObjectRefused,
  ObjectRemoval,
  ObjectTrouble,
  OrElse,
  Query,
  Random,
  Read,
  ReadAnswer,
  Refusal,
  Scan,
  ScanAnswer,
  SignalLike,
  StoreAnswer,
  StreamBody,
  TablePort,
  Timer,
  Timers,
  Transacting,
  Transaction,
  TransactionAnswer,
  Unknown,
  Write,
  WriteAnswer,
} from "holdfast/internal";
export { loseNow } from "holdfast/internal";
export { memoryClient } from "./dynamodb/client.js";
export {
  type MemoryAnswer,
  MemoryDynamoDB,
  type MemoryDynamoDBOptions,
} from "./dynamodb/memory-dynamodb.js";
export type { MemoryAccess } from "./dynamodb/permissions.js";
export {
  type MemoryServer,
  type MemoryServerOptions,
  startMemoryServer,
} from "./dynamodb/server.js";
export type { RequestHost } from "./faults/exchange.js";
export type {
  Fault,
  FaultKind,
  FaultProbabilities,
  FaultRequest,
  FaultScript,
  RequestKind,
} from "./faults/fault-plan.js";
export { FaultyTable, type FaultyTableOptions, type Latency } from "./faults/faults.js";
export { type LocalOptions, local, unlocked } from "./local/local.js";
export { takeAway } from "./local/take-away.js";
export {
  FaultyObjects,
  type ObjectFault,
  type ObjectFaultProbabilities,
  type ObjectFaultScript,
  type ObjectRequestKind,
} from "./objects/faulty-objects.js";
export {
  type ConditionsKept,
  type MemoryObject,
  MemoryObjects,
  type MemoryObjectsOptions,
  type ObjectChange,
  type ObjectCounts,
} from "./objects/memory-objects.js";
export { FaultProxy, type FaultProxyOptions, startFaultProxy } from "./proxy/proxy.js";
export type { JsonBody, ThrottleError } from "./proxy/proxy-messages.js";
export type {
  ProxyFault,
  ProxyFaultKind,
  ProxyMatch,
  ProxyScript,
  SeenRequest,
} from "./proxy/proxy-plan.js";
export type { TableCounts } from "./table/capacity.js";
export { DatedTable } from "./table/dated-table.js";
export {
  MemoryTable,
  type MemoryTableOptions,
  type TableChange,
  type TamperableTable,
} from "./table/memory-table.js";
export type { TrueTime } from "./time/dial.js";
export { fakedEnvironment } from "./time/faked-environment.js";
export { type SeededRandom, seededRandom } from "./time/seeded-random.js";
export {
  type PauseOptions,
  type ProcessOptions,
  type ResumeOptions,
  VirtualProcess,
} from "./time/virtual-process.js";
export { type RunUntilOptions, VirtualTime, type VirtualTimeOptions } from "./time/virtual-time.js";

/**
 * For tests: tables in memory, virtual time, faults, and a server on the loopback interface. Names
 * only: each is documented where it is defined.
 * @module
 */
export type { Clock, Instant } from "../platform/clock.js";
export type { Random } from "../platform/random.js";
export type {
  AttributeValue,
  Call,
  Change,
  Condition,
  Increment,
  Item,
  Misconfigured,
  NotNow,
  OrElse,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Unknown,
  Write,
  WriteAnswer,
} from "../platform/table.js";
export type { Timer, Timers } from "../platform/timers.js";
export type { TableCounts } from "./capacity.js";
export { memoryClient } from "./client.js";
export {
  type MemoryAnswer,
  MemoryDynamoDB,
  type MemoryDynamoDBOptions,
} from "./dynamodb/memory-dynamodb.js";
export type { RequestHost } from "./exchange.js";
export type {
  Fault,
  FaultKind,
  FaultProbabilities,
  FaultRequest,
  FaultScript,
  RequestKind,
} from "./fault-plan.js";
export { FaultyTable, type FaultyTableOptions, type Latency } from "./faults.js";
export {
  MemoryTable,
  type MemoryTableOptions,
  type TableChange,
  type TamperableTable,
} from "./memory-table.js";
export { FaultProxy, type FaultProxyOptions, startFaultProxy } from "./proxy.js";
export type {
  ProxyFault,
  ProxyFaultKind,
  ProxyMatch,
  ProxyScript,
  SeenRequest,
} from "./proxy-plan.js";
export { type SeededRandom, seededRandom } from "./seeded-random.js";
export { type MemoryServer, type MemoryServerOptions, startMemoryServer } from "./server.js";
export {
  type PauseOptions,
  type ProcessOptions,
  type ResumeOptions,
  VirtualProcess,
} from "./virtual-process.js";
export { type RunUntilOptions, VirtualTime, type VirtualTimeOptions } from "./virtual-time.js";

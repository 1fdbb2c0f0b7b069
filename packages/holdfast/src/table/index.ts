/**
 * Creates, checks and diagnoses tables, and makes the IAM policies of their clients. This file only re-exports names:
 * the defining files document each name.
 * @module
 */
export { type DiagnoseOptions, diagnose } from "./diagnose.js";
export type { Finding } from "./finding.js";
export {
  POLICY_FEATURES,
  type PolicyFeature,
  type PolicyOptions,
  policyFor,
} from "./policy.js";
export type { Policy, PolicyDocument, PolicyStatement } from "./policy-document.js";
export type { TableFormat, TableKeys } from "./schema.js";
export {
  type CheckTableOptions,
  type CreateTableOptions,
  checkTable,
  createTable,
  type TableOptions,
  type TableReport,
} from "./table.js";

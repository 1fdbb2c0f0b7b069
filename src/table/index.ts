/**
 * The table: create it, check it, diagnose it, and the IAM policies of its clients. Names only: each is documented
 * where it is defined.
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

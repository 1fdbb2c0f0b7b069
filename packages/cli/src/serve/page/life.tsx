import type { Row } from "../view-types.js";
import { length } from "./text.js";

/** The time since the last sign of life, against the lease. */
export function Life({ row }: { readonly row: Pick<Row, "state" | "leaseMs" | "silentMs"> }) {
  if (row.state === "free" || row.leaseMs === undefined) return <span class="life none" />;
  const part = Math.min(1, (row.silentMs ?? 0) / row.leaseMs);
  const isRed = row.state === "late" || row.state === "silent";
  const [silence, ofLease] = [length(row.silentMs), ` of ${length(row.leaseMs)}`];
  return (
    <span
      class={`life ${isRed ? "red" : part > 0.67 ? "amber" : "green"}`}
      title={`${isRed ? "silent " : ""}${silence}${ofLease}`}
    >
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.max(3, (isRed ? 1 : part) * 100)}%` }} />
      </span>
      <span class="said">
        {isRed ? "silent " : ""}
        {silence}
        <span class="lease">{ofLease}</span>
      </span>
    </span>
  );
}

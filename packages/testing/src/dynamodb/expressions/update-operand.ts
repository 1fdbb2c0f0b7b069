import type { Value } from "../storage/value.js";
import type { DocumentPath } from "./document-path.js";

/** An operand of SET with names and values filled in. */
export type UpdateOperand =
  | { readonly kind: "path"; readonly path: DocumentPath }
  | { readonly kind: "value"; readonly value: Value }
  | {
      readonly kind: "if_not_exists";
      readonly path: DocumentPath;
      readonly otherwise: UpdateOperand;
    }
  | {
      readonly kind: "+" | "-" | "list_append";
      readonly left: UpdateOperand;
      readonly right: UpdateOperand;
    };

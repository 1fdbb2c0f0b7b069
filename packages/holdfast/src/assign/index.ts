/**
 * Assignments: names shared over the processes that live. The subpath `holdfast/assign`.
 * @module
 */

export { type Assignment, assign } from "./assignment.js";
export { ASSIGNMENT_CHANNEL, type AssignmentChange } from "./events.js";
export {
  type AssignedMember,
  type AssignedName,
  type AssignmentInspection,
  inspectAssignment,
} from "./inspect.js";
export type { AssignedNames, AssignOptions } from "./options.js";
export { type Slot, type SlotOptions, slot } from "./slot.js";

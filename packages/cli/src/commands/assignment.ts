import { type AssignmentInspection, inspectAssignment } from "holdfast/assign";
import { locksOf } from "../connection.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { columns, jsonLine, type Output } from "../output/output.js";

const MEMBER_HEADING = ["MEMBER", "OWNER", "STATE", "WEIGHT", "HAS", "SHOULD HAVE"] as const;
const NAME_HEADING = ["NAME", "RUNS AT", "SHOULD BE"] as const;

/** Shows the members of a group, its names, who has them, and who should. Returns the exit status. */
export async function assignment(
  group: string,
  options: CommonOptions,
  output: Output,
): Promise<number> {
  const note = output.isJson ? undefined : `This scans the whole table "${options.table}".`;
  await using locks = await locksOf(options, output, { note });
  const found = await inspectAssignment(locks, group);
  if (output.isJson) output.out(jsonLine(found));
  else tell(found, output);
  return EXIT.ok;
}

function tell({ members, names, isSharingKnown }: AssignmentInspection, output: Output): void {
  const ofMembers = members.map(({ id, owner, weight, has, shouldHave, ...is }) => [
    ...[id, owner, is.isDead ? "dead" : is.isLeaving ? "leaving" : "alive", String(weight)],
    ...[String(has), shouldHave === undefined ? "" : String(shouldHave)],
  ]);
  if (ofMembers.length > 0) output.out(columns(MEMBER_HEADING, ofMembers, output.width));
  const ofNames = names.map(({ name, owner, shouldBe }) => [name, owner ?? "", shouldBe ?? ""]);
  if (ofNames.length > 0) output.out(columns(NAME_HEADING, ofNames, output.width));
  if (!isSharingKnown && members.length > 0) {
    output.note(
      "The members differ in their names, or a name has never run: who should have what is not known.",
    );
  }
  output.note(`${members.length} members, ${names.length} names.`);
}

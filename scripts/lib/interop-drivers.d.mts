/** The formats whose clients have a driver. */
export type DriverName =
  | "aws-lock-client"
  | "dynamolock"
  | "dynamodb-lease"
  | "lock-client-fail-open"
  | "lock-client-fail-closed";

/** Every driver of locks: those of formats, and of an older client of one of them. */
export type LockDriverName = DriverName | "dynamolock-v1";

/** Every driver: those of locks, and the one of object commits, which writes no format of locks. */
export type AnyDriverName = LockDriverName | "object-store";

/**
 * The program and the arguments of a driver; throws if it has not been built. One that `isTimed` runs as its
 * users have it, and not as starts and builds soonest; default false.
 */
export function driverCommand(
  name: AnyDriverName,
  how?: { readonly isTimed?: boolean },
): {
  readonly program: string;
  readonly args: readonly string[];
};

/** The folder of a language's build; throws if it has not been built. */
export function builtFolder(language: "python"): string;

/** The formats of clients with a driver. */
export type DriverName =
  | "aws-lock-client"
  | "dynamolock"
  | "dynamodb-lease"
  | "lock-client-fail-open"
  | "lock-client-fail-closed";

/** Every driver of locks: one for each format, and one for an older client. */
export type LockDriverName = DriverName | "dynamolock-v1";

/** Every driver: the drivers of locks, and the driver of object commits, which writes no lock format. */
export type AnyDriverName = LockDriverName | "object-store";

/**
 * The program and the arguments of a driver; throws for a driver that is not built. With `isTimed` (default
 * false) the driver runs as users run the client, and not in the form that builds and starts fastest.
 */
export function driverCommand(
  name: AnyDriverName,
  how?: { readonly isTimed?: boolean },
): {
  readonly program: string;
  readonly args: readonly string[];
};

/** The folder of a language's build; throws if the build is missing. */
export function builtFolder(language: "python"): string;

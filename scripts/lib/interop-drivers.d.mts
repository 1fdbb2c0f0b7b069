/** The formats whose clients have a driver. */
export type DriverName =
  | "aws-lock-client"
  | "dynamolock"
  | "dynamodb-lease"
  | "lock-client-fail-open"
  | "lock-client-fail-closed";

/** The program and the arguments of a driver; throws if it has not been built. */
export function driverCommand(name: DriverName): {
  readonly program: string;
  readonly args: readonly string[];
};

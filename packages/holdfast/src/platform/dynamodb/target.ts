import { refuse } from "../../internal/option-names.js";
import { isTransport } from "./sender.js";

/** Checks which table, and through which client. Throws `invalid-argument` for a client of no kind, or no name. */
export function checkTarget(
  { client, table }: { readonly client: unknown; readonly table: unknown },
  isOtherClient: (client: object) => boolean = () => false,
): void {
  const isObject = typeof client === "object" && client !== null;
  if (!isObject || !("send" in client || isTransport(client) || isOtherClient(client))) {
    throw refuse(
      "The option `client` must be a DynamoDBClient of the AWS SDK v3, an object with `send`.",
    );
  }
  if (typeof table !== "string" || table === "") {
    throw refuse("The option `table` must be the name of the table.");
  }
}

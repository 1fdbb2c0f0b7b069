// Makes the client of a thread for the endpoint in the URL of this module. The thread dies after `diesAfterMs`, or hangs
// after `hangsAfterMs`.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

const { searchParams } = new URL(import.meta.url);

function after(name, action) {
  if (searchParams.has(name)) setTimeout(action, Number(searchParams.get(name)));
}

export default function client() {
  // In a thread, exit() ends only the thread.
  after("diesAfterMs", () => process.exit(1));
  after("hangsAfterMs", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  return new DynamoDBClient({
    endpoint: searchParams.get("endpoint"),
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
}

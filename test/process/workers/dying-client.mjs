// Makes the client of a thread, and ends the thread after some time. In a thread, exit() ends only the thread.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

export default function client() {
  const { searchParams } = new URL(import.meta.url);
  setTimeout(() => process.exit(1), Number(searchParams.get("afterMs")));
  return new DynamoDBClient({
    endpoint: searchParams.get("endpoint"),
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
}

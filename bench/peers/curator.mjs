// Curator's InterProcessMutex on one ZooKeeper. It is a Java library, so a Java process does the work, over a pipe of lines,
// which adds to each step.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { cacheFolder, outputOf } from "../../scripts/lib/projects.mjs";

const SOURCES = fileURLToPath(new URL("curator", import.meta.url));
const JVM_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"];

/** The folder of the built program, built when it is first needed. */
export function buildCurator() {
  const hash = createHash("sha256");
  for (const path of ["pom.xml", ...globSync("src/**/*.java", { cwd: SOURCES }).sort()]) {
    hash.update(readFileSync(join(SOURCES, path)));
  }
  const folder = join(cacheFolder("curator"), hash.digest("hex").slice(0, 16));
  if (existsSync(folder)) return folder;
  const aside = `${folder}.${process.pid}`;
  try {
    outputOf("mvn", ["-B", "-q", "-f", SOURCES, `-Dbench.build=${aside}`, "process-classes"]);
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

export const hasMaven = () => spawnSync("mvn", ["-v"], { stdio: "ignore" }).status === 0;

class CuratorLock {
  #ids = 0;
  #asked = new Map();

  static async open({ zookeeperPort, leaseMs = 30_000 }) {
    const lock = new CuratorLock();
    const folder = buildCurator();
    const classpath = [join(folder, "classes"), join(folder, "lib", "*")].join(delimiter);
    const address = `127.0.0.1:${zookeeperPort}`;
    lock.child = spawn("java", [...JVM_FLAGS, "-cp", classpath, "Locks", address, leaseMs], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await new Promise((resolve, reject) => {
      lock.child.once("exit", () => reject(new Error("Curator's process ended.")));
      createInterface({ input: lock.child.stdout }).on("line", (line) => {
        if (line === "ready") resolve();
        else lock.#take(line);
      });
    });
    return lock;
  }

  #take(line) {
    const [id, answer, ...more] = line.split(" ");
    const { resolve, reject } = this.#asked.get(id);
    this.#asked.delete(id);
    if (answer === "failed") reject(new Error(more.join(" ")));
    else resolve(answer === "ok" ? id : undefined);
  }

  #do(what, operand) {
    this.#ids += 1;
    const id = String(this.#ids);
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.child.stdin.write(`${id} ${what} ${operand}\n`);
    });
  }

  acquire(name) {
    return this.#do("acquire", name);
  }

  tryAcquire(name) {
    return this.#do("try", name);
  }

  release(handle) {
    return this.#do("release", handle);
  }

  close() {
    this.child.kill();
  }
}

export const curator = {
  label: "curator",
  what: "Apache Curator 5.9.0, InterProcessMutex, one ZooKeeper 3.8",
  server: "zookeeper",
  roles: ["server"],
  polls: { default: undefined },
  open: (options) => CuratorLock.open(options),
};

// Servers that other lock clients need, from Debian's packages: etcd-server and zookeeper. Only on the loopback; their data
// lie in a folder of /tmp, because neither works in memory only.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasMaven } from "../peers/curator.mjs";
import { freePort } from "./ports.mjs";
import { scriptsRun } from "./redis-counts.mjs";
import { pause } from "./time.mjs";

const READY_WITHIN_MS = 20_000;

async function untilReady(child, isReady) {
  let hasEnded = false;
  child.once("exit", () => {
    hasEnded = true;
  });
  for (const endMs = Date.now() + READY_WITHIN_MS; Date.now() < endMs; ) {
    if (hasEnded) break;
    if (await isReady().catch(() => false)) return;
    await pause(50);
  }
  throw new Error(`${child.spawnfile} did not start.`);
}

/** Starts a server with a folder for its data; `stop` ends both. */
async function start(program, args, env, folder, isReady) {
  // A group of its own: ZooKeeper's script starts Java as a child.
  const child = spawn(program, args, {
    stdio: "ignore",
    env: { ...process.env, ...env },
    detached: true,
  });
  const kill = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", kill);
  await untilReady(child, isReady);
  return {
    stop() {
      process.off("exit", kill);
      kill();
    },
  };
}

async function startEtcd() {
  if (spawnSync("etcd", ["--version"], { stdio: "ignore" }).status !== 0) return undefined;
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-etcd-"));
  const addresses = ["--listen-client-urls", url, "--advertise-client-urls", url];
  const peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer];
  const cluster = ["--initial-cluster", `default=${peer}`, "--log-level", "error"];
  const isReady = async () => (await fetch(`${url}/health`)).ok;
  const args = ["--data-dir", folder, ...addresses, ...peers, ...cluster];
  return { port, ...(await start("etcd", args, {}, folder, isReady)) };
}

const ZOOKEEPER = "/usr/share/zookeeper/bin/zkServer.sh";

async function startZooKeeper() {
  if (!existsSync(ZOOKEEPER) || !hasMaven()) return undefined;
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "holdfast-zookeeper-"));
  const settings = [
    "tickTime=500",
    "maxSessionTimeout=60000",
    `dataDir=${folder}`,
    `clientPort=${port}`,
    "clientPortAddress=127.0.0.1",
    "admin.enableServer=false",
    "4lw.commands.whitelist=mntr",
    "maxClientCnxns=0",
  ];
  const file = join(folder, "zoo.cfg");
  writeFileSync(file, `${settings.join("\n")}\n`);
  const isReady = async () => (await fourLetters(port, "mntr")).includes("zk_server_state");
  const env = { ZOO_LOG_DIR: folder, JVMFLAGS: "-Xmx512m" };
  return { port, ...(await start(ZOOKEEPER, ["start-foreground", file], env, folder, isReady)) };
}

/** Asks ZooKeeper for its own figures. */
function fourLetters(port, word) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(word));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(text));
  });
}

/** Starts what is installed. Says what is not. */
export async function startLockServers(say) {
  const etcd = await startEtcd();
  const zookeeper = await startZooKeeper();
  if (etcd === undefined) say("No etcd here (apt-get install etcd-server): etcd3 is left out.");
  if (zookeeper === undefined) {
    say("No ZooKeeper or no Maven here (apt-get install zookeeper maven): Curator is left out.");
  }
  return {
    etcdPort: etcd?.port,
    zookeeperPort: zookeeper?.port,
    stop() {
      etcd?.stop();
      zookeeper?.stop();
    },
  };
}

/**
 * How many requests a server other than DynamoDB has received: scripts of Redis, messages of etcd (a renewal is a message of
 * a stream), packets of ZooKeeper.
 */
export async function requestsReceived(server, { redisPort, etcdPort, zookeeperPort }) {
  if (server === "redis") return scriptsRun(redisPort);
  if (server === "etcd") {
    const text = await (await fetch(`http://127.0.0.1:${etcdPort}/metrics`)).text();
    const counts = [...text.matchAll(/^grpc_server_msg_received_total\{.*\} (\S+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const text = await fourLetters(zookeeperPort, "mntr");
  return Number(/^zk_packets_received\t(\d+)/m.exec(text)?.[1]);
}

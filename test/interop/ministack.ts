import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { builtFolder } from "../../scripts/lib/interop-drivers.mjs";

const START_LIMIT_MS = 60_000;

/** A running server. */
export interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

/** MiniStack on the loopback: an object store with conditional puts, and DynamoDB. */
export async function startMiniStack(): Promise<Running> {
  const port = await freePort();
  const server = spawn("python3", ["-m", "ministack"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PYTHONPATH: builtFolder("python"),
      PYTHONDONTWRITEBYTECODE: "1",
      BIND_HOST: "127.0.0.1",
      GATEWAY_PORT: String(port),
      SERVICES: "s3,dynamodb",
      IOT_MTLS_ENABLED: "0",
    },
  });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-4_000);
    });
  }
  const ended = once(server, "exit");
  const url = `http://127.0.0.1:${port}`;
  const startMs = performance.now();
  while (!(await answers(url))) {
    const isLate = performance.now() - startMs > START_LIMIT_MS;
    if (server.exitCode !== null || isLate) {
      server.kill("SIGKILL");
      throw new Error(`MiniStack did not start:\n${said}`);
    }
    await sleep(100);
  }
  return {
    url,
    async stop() {
      server.kill("SIGKILL");
      await ended;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/_ministack/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("There is no port.");
  return address.port;
}

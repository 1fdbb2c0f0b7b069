// The servers with DynamoDB's API that `node scripts/engines/run.mjs` tries: how to install and start each, and what to expect.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  HOW_TO_GET_JAVA,
  hasJava,
  jarDirectory,
  startDynamoDBLocal,
} from "../dynamodb-local/server.mjs";
import { cacheFolder, install, outputOf } from "../lib/projects.mjs";
import { claimPort, startServer } from "../lib/server-process.mjs";

const DYNOXIDE = "1.2.1";
const DYNALITE = "4.0.0";
const MINISTACK = "1.5.33";
const MOTO = "5.2.5";
const FAKECLOUD = "0.51.0";

/** Installs one npm package in a folder of the cache. Returns the path of the package. */
function npmPackage(name, version) {
  const folder = cacheFolder(`engines/${name.replaceAll("/", "-")}`);
  const path = join(folder, "node_modules", name);
  const manifest = join(path, "package.json");
  const isThere =
    existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === version;
  if (!isThere) install(folder, [`${name}@${version}`]);
  return path;
}

/** Installs one Python package in a folder of the cache. Returns the environment of a process that uses it. */
function pythonPackage(requirement) {
  const folder = cacheFolder(`engines/${requirement.replace(/\W+/g, "-")}`);
  const mark = join(folder, ".installed");
  if (!existsSync(mark)) {
    const flags = ["--quiet", "--disable-pip-version-check", "--upgrade", "--target", folder];
    outputOf("python3", ["-m", "pip", "install", ...flags, requirement]);
    writeFileSync(mark, requirement);
  }
  return { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
}

/**
 * An engine: `install` throws if the engine cannot be had here, and returns what `start` needs. `isRequired`: its absence
 * fails the command. `isHeavy`: `--short` leaves it out. `isFit`: the expected verdict. `differs`: the
 * beginnings of the titles of tests that may fail on a fit engine, which differs there in what Holdfast does not use.
 */
export const ENGINES = [
  {
    name: "DynamoDB Local",
    isRequired: true,
    isFit: true,
    differs: [],
    install() {
      if (!hasJava()) throw new Error(HOW_TO_GET_JAVA);
      return { version: basename(jarDirectory()).replace("dynamodb_local_", "of ") };
    },
    start: () => startDynamoDBLocal(),
  },
  {
    // Accepts invalid conditions.
    name: "dynoxide",
    isRequired: process.platform === "linux" && process.arch === "x64",
    isFit: true,
    differs: ["answers like MemoryTable, for "],
    install: () => ({ version: DYNOXIDE, path: npmPackage("@dynoxide/linux-x64", DYNOXIDE) }),
    async start({ path }) {
      const port = await claimPort();
      const args = ["serve", "--host", "127.0.0.1", "--port", String(port)];
      return startServer("dynoxide", port, join(path, "dynoxide"), args);
    },
  },
  {
    // Takes two absent attributes for equal, and accepts invalid requests.
    name: "MiniStack",
    isRequired: false,
    isFit: true,
    differs: ["answers like MemoryTable, for ", "answers like MemoryTable to valid requests"],
    install: () => ({ version: MINISTACK, env: pythonPackage(`ministack==${MINISTACK}`) }),
    async start({ env }) {
      const port = await claimPort();
      const settings = { BIND_HOST: "127.0.0.1", GATEWAY_PORT: String(port), SERVICES: "dynamodb" };
      return startServer("MiniStack", port, "python3", ["-m", "ministack"], {
        env: { ...env, ...settings, IOT_MTLS_ENABLED: "0" },
      });
    },
  },
  {
    name: "moto",
    isRequired: false,
    isHeavy: true,
    isFit: false,
    install: () => ({ version: MOTO, env: pythonPackage(`moto[server,dynamodb]==${MOTO}`) }),
    async start({ env }) {
      const port = await claimPort();
      const args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
      return startServer("moto", port, "python3", args, { env });
    },
  },
  {
    name: "dynalite",
    isRequired: true,
    isFit: false,
    install: () => ({ version: DYNALITE, path: npmPackage("dynalite", DYNALITE) }),
    async start({ path }) {
      const port = await claimPort();
      const args = [join(path, "cli.js"), "--host", "127.0.0.1", "--port", String(port)];
      return startServer("dynalite", port, process.execPath, args);
    },
  },
  {
    name: "fakecloud",
    isRequired: false,
    isHeavy: true,
    install() {
      throw new Error(
        `the crate fakecloud ${FAKECLOUD} compiles 790 others, which takes most of an hour`,
      );
    },
  },
];

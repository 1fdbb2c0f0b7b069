// Builds the drivers of test/interop: programs of ours around other lock clients, as those are published.
// What is built lies outside the checkout, under the fingerprint of what it was built from, so that it is
// built once, however many checkouts there are.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { outputOf, ROOT } from "./projects.mjs";

const SOURCES = join(ROOT, "test", "interop");

/** Where builds are kept; `XDG_CACHE_HOME` moves it. */
export const CACHE = join(
  process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"),
  "holdfast",
  "interop",
);

const JVM_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"];

// `least` is what the sources ask for; Debian's package is named where it exists, old as it may be.
const TOOLS = {
  javac: { asks: ["-version"], least: "17", debian: "openjdk-17-jdk-headless" },
  mvn: { asks: ["-v"], least: "3.6", debian: "maven" },
  go: { asks: ["version"], least: "1.22", debian: "golang-go" },
  cargo: { asks: ["--version"], least: "1.85", debian: "cargo" },
  npm: { asks: ["--version"], least: "9", debian: "npm" },
  pip3: { asks: ["--version"], least: "22.0", debian: "python3-pip" },
};

// How each language is built: from its sources, into an empty folder.
const LANGUAGES = {
  java: {
    tools: ["javac", "mvn"],
    build(sources, folder) {
      outputOf("mvn", ["-B", "-q", "-f", sources, `-Dinterop.build=${folder}`, "process-classes"]);
    },
  },
  go: {
    tools: ["go"],
    build(sources, folder) {
      outputOf("go", ["build", "-buildvcs=false", "-o", join(folder, "driver"), "."], {
        cwd: sources,
        // A toolchain that Go fetched by itself would be another one than was asked for.
        env: { ...process.env, GOTOOLCHAIN: "local" },
      });
    },
  },
  rust: {
    tools: ["cargo"],
    build(sources, folder) {
      const debug = cargo(sources, "--workspace");
      // One binary a member, each named driver-*.
      for (const name of readdirSync(debug).filter((file) => /^driver-[\w-]+$/.test(file))) {
        copyFileSync(join(debug, name), join(folder, name));
      }
    },
  },
  javascript: {
    tools: ["npm"],
    build(sources, folder) {
      cpSync(sources, folder, { recursive: true });
      outputOf("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], {
        cwd: folder,
      });
    },
  },
  // No client: a server that is both an object store and DynamoDB.
  python: {
    tools: ["pip3"],
    build(sources, folder) {
      const flags = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"];
      const list = join(sources, "requirements.txt");
      // Into a folder, which can be moved where a virtual environment could not.
      outputOf("python3", ["-m", "pip", "install", ...flags, "-t", folder, "-r", list]);
    },
  },
};

/** Builds in Rust; answers with the folder that the programs are in. */
function cargo(sources, ...options) {
  const target = join(CACHE, "rust", "target");
  const env = { ...process.env, CARGO_TARGET_DIR: target };
  outputOf("cargo", ["build", "--locked", ...options], { cwd: sources, env });
  return join(target, options.includes("--release") ? "release" : "debug");
}

/** The folder of a Rust driver that is built to be timed: it takes minutes, and no test needs it. */
function optimised(name) {
  return cargo(join(SOURCES, "rust"), "--release", "--package", name);
}

const go = (version) => ({
  language: "go",
  command: (folder) => [join(folder, "driver"), [version]],
});

const javascript = (kind) => ({
  language: "javascript",
  command: (folder) => [process.execPath, [join(folder, "driver.mjs"), kind]],
});

/** Every driver, by the name of the format that its client writes; an older client, by its version too. */
export const DRIVERS = {
  "aws-lock-client": {
    language: "java",
    command: (folder, { isTimed }) => [
      "java",
      [
        ...(isTimed ? [] : JVM_FLAGS),
        "-cp",
        `${join(folder, "classes")}:${join(folder, "lib", "*")}`,
        "Driver",
      ],
    ],
  },
  dynamolock: go("v2"),
  "dynamolock-v1": go("v1"),
  "dynamodb-lease": {
    language: "rust",
    command: (folder, { isTimed }) => [
      join(isTimed ? optimised("driver-dynamodb-lease") : folder, "driver-dynamodb-lease"),
      [],
    ],
  },
  "lock-client-fail-open": javascript("fail-open"),
  "lock-client-fail-closed": javascript("fail-closed"),
  "object-store": {
    language: "rust",
    command: (folder) => [join(folder, "driver-object-store"), []],
  },
};

/** The languages that drivers are written in. */
export const languages = Object.keys(LANGUAGES);

/** Where the drivers of a language are, or will be, for the sources as they are now. */
function folderOf(language) {
  const sources = join(SOURCES, language);
  const hash = createHash("sha256");
  const files = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !/[\\/](?:node_modules|target)[\\/]/.test(path))
    .sort();
  for (const path of files)
    hash.update(`${path.slice(sources.length)}\0`).update(readFileSync(path));
  hash.update(`${process.platform} ${process.arch}`);
  return join(CACHE, language, hash.digest("hex").slice(0, 16));
}

function versionOf(tool) {
  const { status, stdout, stderr } = spawnSync(tool, TOOLS[tool].asks, { encoding: "utf8" });
  // With a dot: Maven colours what it says, even into a pipe, by escapes with numbers.
  return status === 0 ? (/\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "0") : undefined;
}

function isOlder(version, least) {
  const [have, want] = [version, least].map((text) => text.split(".").map(Number));
  const at = want.findIndex((part, index) => part !== (have[index] ?? 0));
  return at >= 0 && (have[at] ?? 0) < want[at];
}

/** Installs a Debian package where this may be done without asking anybody. */
function installDebian(name) {
  const isRoot = process.getuid?.() === 0;
  const asRoot = isRoot ? [] : ["sudo", "-n"];
  const [program, ...args] = [...asRoot, "apt-get"];
  const options = { encoding: "utf8", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  for (const rest of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", name],
  ]) {
    if (spawnSync(program, [...args, ...rest], options).status !== 0) return;
  }
}

function needTool(tool) {
  const { least, debian } = TOOLS[tool];
  if (versionOf(tool) === undefined) installDebian(debian);
  const version = versionOf(tool);
  if (version === undefined) {
    throw new Error(
      `${tool} was not found: install ${tool} ${least} or later (Debian: ${debian}).`,
    );
  }
  if (isOlder(version, least)) {
    throw new Error(`${tool} ${version} is too old: ${least} or later is needed.`);
  }
}

/** Builds the drivers of one language, unless they are there; answers whether they were. */
export function buildLanguage(language) {
  const folder = folderOf(language);
  if (existsSync(folder)) return { wasThere: true };
  const { tools, build } = LANGUAGES[language];
  for (const tool of tools) needTool(tool);
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    build(join(SOURCES, language), unfinished);
    // At once, so that a folder that is there is whole; another build of the same may have been faster.
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return { wasThere: false };
}

/**
 * The program and the arguments of a driver; throws if it has not been built. One that `isTimed` runs as its
 * users have it, and not as starts and builds soonest.
 */
export function driverCommand(name, { isTimed = false } = {}) {
  const { language, command } = DRIVERS[name];
  const [program, args] = command(builtFolder(language), { isTimed });
  return { program, args };
}

/** The folder of a language's build; throws if it has not been built. */
export function builtFolder(language) {
  const folder = folderOf(language);
  if (!existsSync(folder)) throw new Error(`Build first: npm run interop:build (${language}).`);
  return folder;
}

// Builds the drivers of test/interop: programs around other lock clients in their published form. Builds lie
// outside the checkout, under a fingerprint of their sources, so that several checkouts share a build.
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

/** The folder of the builds; `XDG_CACHE_HOME` moves the folder. */
export const CACHE = join(
  process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"),
  "holdfast",
  "interop",
);

const JVM_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"];

// `least` is the version that the sources require. Debian's package is named if one exists, even if old.
const TOOLS = {
  javac: { asks: ["-version"], least: "17", debian: "openjdk-17-jdk-headless" },
  mvn: { asks: ["-v"], least: "3.6", debian: "maven" },
  go: { asks: ["version"], least: "1.22", debian: "golang-go" },
  cargo: { asks: ["--version"], least: "1.85", debian: "cargo" },
  npm: { asks: ["--version"], least: "9", debian: "npm" },
  pip3: { asks: ["--version"], least: "22.0", debian: "python3-pip" },
};

// The build of each language: from its sources, into an empty folder.
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
        // Go must not download a toolchain of a different version.
        env: { ...process.env, GOTOOLCHAIN: "local" },
      });
    },
  },
  rust: {
    tools: ["cargo"],
    build(sources, folder) {
      const debug = cargo(sources, "--workspace");
      // A binary for each member, named driver-*.
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
  // Not a client: a server for both an object store and DynamoDB.
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

/** Builds in Rust. Returns the folder of the programs. */
function cargo(sources, ...options) {
  const target = join(CACHE, "rust", "target");
  const env = { ...process.env, CARGO_TARGET_DIR: target };
  outputOf("cargo", ["build", "--locked", ...options], { cwd: sources, env });
  return join(target, options.includes("--release") ? "release" : "debug");
}

/**
 * The folder of an optimised Rust driver, for timing: the build takes minutes, and no test needs the driver.
 */
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

/** Every driver, by the format of its client; an older client also by its version. */
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

/** The languages of the drivers. */
export const languages = Object.keys(LANGUAGES);

/** The folder for a language's drivers, built or not, for the current sources. */
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
  // The pattern needs a dot: Maven adds colour escapes with numbers, even into a pipe.
  return status === 0 ? (/\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "0") : undefined;
}

function isOlder(version, least) {
  const [have, want] = [version, least].map((text) => text.split(".").map(Number));
  const at = want.findIndex((part, index) => part !== (have[index] ?? 0));
  return at >= 0 && (have[at] ?? 0) < want[at];
}

/** Installs a Debian package if no password is needed. */
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

/** Builds the drivers of a language unless they exist. Returns whether they existed. */
export function buildLanguage(language) {
  const folder = folderOf(language);
  if (existsSync(folder)) return { wasThere: true };
  const { tools, build } = LANGUAGES[language];
  for (const tool of tools) needTool(tool);
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    build(join(SOURCES, language), unfinished);
    // A rename, so that an existing folder is always complete; a parallel build may have finished first.
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return { wasThere: false };
}

/**
 * The program and the arguments of a driver; throws for a driver that is not built. With `isTimed` the driver
 * runs as users run the client, and not in the form that builds and starts fastest.
 */
export function driverCommand(name, { isTimed = false } = {}) {
  const { language, command } = DRIVERS[name];
  const [program, args] = command(builtFolder(language), { isTimed });
  return { program, args };
}

/** The folder of a language's build; throws if the build is missing. */
export function builtFolder(language) {
  const folder = folderOf(language);
  if (!existsSync(folder))
    throw new Error(`Build first: node scripts/interop-build.mjs (${language}).`);
  return folder;
}

// Installs the packed packages in empty projects, as users do: by npm, pnpm and Yarn, and with Yarn's Plug'n'Play, which has
// no node_modules. Each project runs the packages from ES modules and CommonJS, in JavaScript and TypeScript. A further one
// has the command line alone, and runs every command.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANIFEST, outputOf, packages, ROOT, TOOLS } from "../lib/projects.mjs";
import { checkCommands } from "./commands.mjs";

const tool = (...path) => join(ROOT, "node_modules", ...path);

const SDK = TOOLS["@aws-sdk/client-dynamodb"];
const S3 = TOOLS["@aws-sdk/client-s3"];
const NODE_TYPES = TOOLS["@types/node"];
// The oldest compiler that our declarations promise to support, and the one that builds them.
const COMPILERS = { oldest: "5.2.2", ours: TOOLS.typescript };

const JAVASCRIPT = {
  "imports.mjs": `
    import { Holdfast, mutex } from "holdfast";
    import { dynamolock } from "@holdfast/formats";
    import { objectCommitter } from "@holdfast/object-commit";
    import { MemoryObjects, MemoryTable } from "@holdfast/testing";
    if (objectCommitter({ s3: new MemoryObjects(), bucket: "b", strategy: "conditional" }) === undefined) throw new Error();
    const foreign = new Holdfast({ client: new MemoryTable({ keyAttributes: ["key"] }), table: "l", format: dynamolock() });
    if (!(await mutex(foreign, "a").run((lease) => lease.isHeld))) throw new Error();
    await foreign.close();
    const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
    console.log(await mutex(locks, "a").run(async (lease) => lease.isHeld));
    await locks.close();`,
  "requires.cjs": `
    const { Holdfast, mutex } = require("holdfast");
    const { MemoryTable } = require("@holdfast/testing");
    for (const name of ["formats", "object-commit"]) require(\`@holdfast/\${name}\`);
    const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
    const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
    mutex(locks, "a").run(async (lease) => lease.isHeld && typeof DynamoDBClient === "function").then(console.log);`,
};

const WORK = `
export async function work(): Promise<bigint> {
  const locks = new Holdfast({ client: new MemoryTable(), table: "locks", lease: "30s" });
  const fence = await mutex(locks, "a").run({ wait: "5s" }, async (lease: Lease) => lease.fence);
  await locks.close();
  return fence;
}
work().then((fence) => console.log(typeof fence === "bigint"));
`;

const TYPESCRIPT = {
  "typed.mts": `
import { Holdfast, type Lease, mutex } from "holdfast";
import { MemoryTable } from "@holdfast/testing";
${WORK}`,
  "typed.cts": `
import holdfast = require("holdfast");
import testing = require("@holdfast/testing");
const { Holdfast, mutex } = holdfast;
const { MemoryTable } = testing;
type Lease = holdfast.Lease;
${WORK}`,
};

const STRICT = {
  target: "es2022",
  lib: ["es2023"],
  strict: true,
  exactOptionalPropertyTypes: true,
  types: ["node"],
};

// Compilers before 5.8 refuse to `require` an ES module with the module setting `nodenext`, so CommonJS has one of its own.
const CONFIGS = {
  "tsconfig.esm.json": {
    compilerOptions: { ...STRICT, module: "nodenext" },
    files: ["typed.mts"],
  },
  "tsconfig.cjs.json": {
    compilerOptions: { ...STRICT, module: "commonjs", moduleResolution: "node10" },
    files: ["typed.cts"],
  },
};

const yarn = [process.execPath, tool("@yarnpkg", "cli-dist", "bin", "yarn.js")];

/** The package managers: how each installs the project, how it runs a program in it, and with which compilers. */
export const INSTALLERS = [
  {
    name: "npm",
    install: ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"],
    node: ["node"],
    compilers: ["typescript-oldest", "typescript"],
  },
  {
    name: "pnpm",
    install: [process.execPath, tool("pnpm", "bin", "pnpm.mjs"), "install", "--prefer-offline"],
    node: ["node"],
    compilers: ["typescript"],
  },
  {
    name: "Yarn",
    settings: "nodeLinker: node-modules\n",
    install: [...yarn, "install"],
    node: ["node"],
    // The same folder structure as npm's.
    compilers: [],
  },
  {
    name: "Yarn, Plug'n'Play",
    settings: "nodeLinker: pnp\n",
    install: [...yarn, "install"],
    node: [...yarn, "node"],
    // Yarn patches the compiler for Plug'n'Play, but only under the compiler's own name.
    compilers: ["typescript"],
  },
];

/** The packages by name, as files: no registry has this version yet. */
const asFiles = (tarballs) =>
  Object.fromEntries(packages.map(({ manifest }, at) => [manifest.name, `file:${tarballs[at]}`]));

function writeProject(folder, tarballs, settings) {
  const files = asFiles(tarballs);
  const dependencies = {
    ...files,
    "@aws-sdk/client-dynamodb": SDK,
    "@aws-sdk/client-s3": S3,
    "@types/node": NODE_TYPES,
    "typescript-oldest": `npm:typescript@${COMPILERS.oldest}`,
    typescript: COMPILERS.ours,
  };
  writeFileSync(
    join(folder, "package.json"),
    // Yarn and pnpm would ask a registry for what the packages need of each other.
    JSON.stringify({ name: "a-user", private: true, dependencies, resolutions: files }, null, 2),
  );
  writeFileSync(join(folder, "pnpm-workspace.yaml"), JSON.stringify({ overrides: files }));
  for (const [name, config] of Object.entries(CONFIGS)) {
    writeFileSync(join(folder, name), JSON.stringify(config, null, 2));
  }
  if (settings !== undefined) writeFileSync(join(folder, ".yarnrc.yml"), settings);
  for (const [name, text] of Object.entries({ ...JAVASCRIPT, ...TYPESCRIPT })) {
    writeFileSync(join(folder, name), text);
  }
}

/** Yarn reads no settings of npm's, such as the registry of a company's network. */
function yarnEnvironment() {
  const get = (name) => outputOf("npm", ["config", "get", name]).trim();
  const certificates = get("cafile");
  return {
    YARN_NPM_REGISTRY_SERVER: get("registry"),
    YARN_ENABLE_TELEMETRY: "0",
    YARN_ENABLE_GLOBAL_CACHE: "1",
    YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
    ...(certificates !== "null" && { YARN_HTTPS_CA_FILE_PATH: certificates }),
  };
}

function expectTrue(output, program) {
  if (output.trim().split("\n").at(-1) !== "true") throw new Error(`${program} printed ${output}`);
}

/** Installs `@holdfast/cli` in an empty project, and nothing else, and runs every command. */
export async function checkCommandAlone(tarballs) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-command-"));
  try {
    const { "@holdfast/cli": command, ...overrides } = asFiles(tarballs);
    const manifest = { private: true, dependencies: { "@holdfast/cli": command }, overrides };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const [program, ...args] = INSTALLERS[0].install;
    outputOf(program, args, { cwd: folder });
    const said = outputOf(join(folder, "node_modules/.bin/holdfast"), ["--version"]).trim();
    if (said !== MANIFEST.version) throw new Error(`holdfast --version says ${said}`);
    await checkCommands(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs the tarballs in an empty project by one package manager, and runs and compiles each program. */
export async function checkInstaller(installer, tarballs) {
  const { install, node, settings, compilers } = installer;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-user-"));
  const options = { cwd: folder, env: { ...process.env, ...yarnEnvironment(), CI: "" } };
  const execute = ([program, ...args], ...more) => outputOf(program, [...args, ...more], options);
  try {
    writeProject(folder, tarballs, settings);
    execute(install);
    for (const program of Object.keys(JAVASCRIPT)) expectTrue(execute(node, program), program);
    for (const compiler of compilers) {
      const program = `require("${compiler}/lib/tsc.js")`;
      for (const config of Object.keys(CONFIGS)) execute(node, "-e", program, "tsc", "-p", config);
      for (const made of ["typed.mjs", "typed.cjs"]) expectTrue(execute(node, made), made);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

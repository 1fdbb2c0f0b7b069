// Packs the build as test/process/previous/holdfast.tgz, which test/process/upgrade.test.ts runs beside later builds:
// npm run build && node scripts/record-previous-package.mjs, after each release. Without source maps and declarations, which
// do not run.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANIFEST, outputOf, ROOT } from "./lib/projects.mjs";

const folder = mkdtempSync(join(tmpdir(), "holdfast-previous-"));
try {
  cpSync(join(ROOT, "dist"), join(folder, "dist"), {
    recursive: true,
    filter: (path) => !/\.(?:map|d\.ts)$/.test(path),
  });
  const { name, version, license, type, exports, bin } = MANIFEST;
  const manifest = { name, version, license, type, exports, bin, files: ["dist"] };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  cpSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
  const [{ filename }] = JSON.parse(outputOf("npm", ["pack", "--json"], { cwd: folder }));
  cpSync(join(folder, filename), join(ROOT, "test", "process", "previous", "holdfast.tgz"));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

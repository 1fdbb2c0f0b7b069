// Packs the builds of all packages as test/process/previous/holdfast.tgz, which test/process/upgrade.test.ts runs beside
// later builds: npm run build && node scripts/record-previous-package.mjs, after each release. Without source maps and
// declarations, which do not run. The packages lie in the archive as npm installs them, so that they find each other.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outputOf, packages, ROOT } from "./lib/projects.mjs";

const folder = mkdtempSync(join(tmpdir(), "holdfast-previous-"));
try {
  for (const one of packages) {
    const { name, version, license, type, exports, bin } = one.manifest;
    const target = join(folder, "package", "node_modules", name);
    cpSync(join(ROOT, one.folder, "dist"), join(target, "dist"), {
      recursive: true,
      filter: (path) => !/\.(?:map|d\.ts)$/.test(path),
    });
    const manifest = { name, version, license, type, exports, bin };
    writeFileSync(join(target, "package.json"), JSON.stringify(manifest, null, 2));
    cpSync(join(ROOT, "LICENSE"), join(target, "LICENSE"));
  }
  const archive = join(ROOT, "test", "process", "previous", "holdfast.tgz");
  outputOf("tar", ["-czf", archive, "-C", folder, "package"]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

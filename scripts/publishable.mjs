// Stops `npm publish` if package.json does not name the repository: npm's provenance needs the repository, and
// npm's page of the package resolves the README's links with it.
import { MANIFEST } from "./lib/entries.mjs";

if (MANIFEST.repository === undefined) {
  console.error(
    "package.json has no `repository`: add it, with `bugs` and `homepage`, and publish again.",
  );
  process.exitCode = 1;
}

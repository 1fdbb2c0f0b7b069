// Stops `npm publish` while package.json does not say where the source is: npm's proof of origin needs it, and
// npm's page of the package resolves the README's links by it.
import { MANIFEST } from "./lib/entries.mjs";

if (MANIFEST.repository === undefined) {
  console.error(
    "package.json has no `repository`: add it, with `bugs` and `homepage`, and publish again.",
  );
  process.exitCode = 1;
}

/** How esbuild bundles a program for Node.js: packages stay outside, because the bundle lies below node_modules. */
export const FOR_NODE = Object.freeze({
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "warning",
});

import type { BuildOptions } from "esbuild";

export declare const FOR_NODE: Readonly<BuildOptions>;

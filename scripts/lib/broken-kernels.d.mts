import type { Plugin } from "esbuild";

export const BROKEN: Readonly<Record<string, readonly [file: string, was: string, is: string]>>;
export function brokenKernel(name: string): Plugin;

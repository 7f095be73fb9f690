import type { Plugin } from "./index.js";

/** What a plugin says of itself. */
export function manifest(plugin: Plugin<any>): Record<string, any>;
/** The world of its component, in WIT. */
export function world(plugin: Plugin<any>): string;

/** The host's log. A line appears under the plugin's name. */

import { host } from "./backend.js";
import { clean } from "./error.js";

const log = (level) => (message) => host().log.log(level, clean(String(message)));

export const debug = log("debug");
export const info = log("info");
export const warn = log("warn");
export const error = log("error");

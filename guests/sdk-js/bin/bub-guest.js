#!/usr/bin/env node
// `bub-guest build FILE`: makes a component of a plugin.

import { parseArgs } from "node:util";
import { BuildError, build, load } from "../build/index.js";
import { dumps } from "../src/text.js";

const USAGE = "usage: bub-guest build FILE [--output FILE] [--opt-size] [--stub-wasi], or bub-guest manifest FILE";

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o" },
      "opt-size": { type: "boolean" },
      "stub-wasi": { type: "boolean" },
    },
  });
  const [command, file] = positionals;
  if (positionals.length !== 2 || !["build", "manifest"].includes(command)) throw new BuildError(USAGE);
  if (command === "manifest") {
    const { manifest } = await load(file);
    console.log(dumps(manifest));
  } else {
    const made = await build(file, { output: values.output, optSize: values["opt-size"], stubWasi: values["stub-wasi"] });
    console.log(`${made.path}: ${(made.size / 1e6).toFixed(1)} MB`);
  }
} catch (error) {
  if (!(error instanceof BuildError) && error.code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}

// Makes a component of a plugin: one bundle of it and this package, its world, the interpreter and the manifest.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { exported, imports, manifest, world } from "../src/manifest.js";
import { dumps } from "../src/text.js";
import { withSection } from "./section.js";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));

/** Why there is no component: one line for the author. */
export class BuildError extends Error {}

/** Builds the component of a module, `NAME.wasm` beside the module unless said otherwise. */
export async function build(file, { output, optSize = false, stubWasi = false } = {}) {
  return inFolder(async (folder) => {
    const { plugin } = await bundleAndImport(file, folder);
    const wit = join(folder, "wit");
    contracts(wit);
    writeFileSync(join(wit, "plugin.wit"), standIns(world(plugin)));
    writeFileSync(join(folder, "entry.js"), entry(plugin, resolve(file)));
    const bundled = join(folder, "bundle.js");
    await bundle(file, join(folder, "entry.js"), bundled);
    const made = join(folder, "made.wasm");
    const options = [...(optSize ? ["--opt-size"] : []), ...(stubWasi ? ["--stub-wasi"] : [])];
    const given = ["--sync", "--wit", wit, "--world", "plugin", "--js", bundled, "--output", made, ...options];
    const program = tool(file);
    const done = spawnSync(process.execPath, [program, ...given], { encoding: "utf8" });
    if (done.status !== 0) throw new BuildError(`componentize-qjs cannot build \`${file}\`:\n${(done.stderr || done.stdout).trim()}`);
    const path = output ?? join(dirname(resolve(file)), `${plugin.name}.wasm`);
    mkdirSync(dirname(resolve(path)), { recursive: true });
    const component = withTrueVersions(readFileSync(made));
    writeFileSync(path, withSection(component, "bub:manifest", Buffer.from(dumps(manifest(plugin)))));
    return { path, size: statSync(path).size };
  });
}

/** Imports a plugin, and returns it with its manifest. */
export async function load(file) {
  return inFolder(async (folder) => {
    const { plugin } = await bundleAndImport(file, folder);
    return { plugin, manifest: manifest(plugin) };
  });
}

async function inFolder(run) {
  const folder = mkdtempSync(join(tmpdir(), "bub-guest-"));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** TypeScript loses its types here, so a plugin in it is read like one in JavaScript. */
async function bundleAndImport(file, folder) {
  if (!existsSync(file) || !statSync(file).isFile()) throw new BuildError(`\`${file}\` is not a file`);
  const path = join(folder, "plugin.mjs");
  await bundle(file, resolve(file), path);
  const plugin = (await import(pathToFileURL(path))).default;
  if (!(plugin?.tools instanceof Map)) throw new BuildError(`\`${file}\` has no \`export default\` of a \`Plugin\``);
  return { plugin };
}

async function bundle(file, from, to) {
  const esbuild = require_(file, "esbuild", "esbuild@0.28.2");
  try {
    await esbuild.build({
      entryPoints: [from],
      outfile: to,
      bundle: true,
      format: "esm",
      platform: "neutral",
      target: "es2023",
      logLevel: "silent",
      external: ["bub:*", "wasi:*"],
      alias: { "bub-guest": join(PACKAGE, "src", "index.js") },
    });
  } catch (error) {
    const lines = (error.errors ?? []).map(({ text, location }) => `${location ? `${location.file}:${location.line}: ` : ""}${text}`);
    throw new BuildError(lines.join("\n") || error.message);
  }
}

/** The module that the interpreter starts with. */
function entry(plugin, file) {
  const names = imports(plugin).map((name) => {
    const last = name.replace(/@.*/, "").split("/")[1].replace(/-(.)/g, (_, letter) => letter.toUpperCase());
    return [name.startsWith("wasi:http/types") ? "httpTypes" : last, name];
  });
  const lines = names.map(([last, name]) => `import ${last}_ from ${JSON.stringify(standIns(name))};`);
  const exports = exported(plugin).map((name) => name.split("/")[1].replace(/-(.)/g, (_, letter) => letter.toUpperCase()));
  return [
    ...lines,
    `import plugin from ${JSON.stringify(file)};`,
    `import { install } from ${JSON.stringify(join(PACKAGE, "src", "component", "index.js"))};`,
    `const made = install(plugin, { ${names.map(([last]) => `${last}: ${last}_`).join(", ")} });`,
    ...exports.map((name) => `export const ${name} = made.${name};`),
    "",
  ].join("\n");
}

/** A package of the project, or of where this package is. */
function require_(file, name, version) {
  for (const from of [resolve(file), join(process.cwd(), "package.json"), join(PACKAGE, "package.json")]) {
    try {
      return createRequire(from)(name);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new BuildError(`\`${name}\` is not installed: \`npm install --save-dev ${version}\``);
}

function tool(file) {
  for (const start of [dirname(resolve(file)), process.cwd(), PACKAGE]) {
    for (let folder = start; ; folder = dirname(folder)) {
      const cli = join(folder, "node_modules", "componentize-qjs", "cli.mjs");
      if (existsSync(cli)) return cli;
      if (folder === dirname(folder)) break;
    }
  }
  throw new BuildError("`componentize-qjs` is not installed: `npm install --save-dev componentize-qjs@0.4.5`");
}

// While componentize-qjs runs the module, it has a WASI of its own without HTTP, whose streams do not fit the stand-ins that it
// makes for what it does not have. Under another version all of it is stand-ins. The component gets a true one of the same
// length, which is not that of the interpreter's own imports, because a component cannot import one name twice. The interfaces
// are the same in both.
const WASI = "@0.2.10";
const STAND_IN = "@9.2.10";
const INTERFACES = [
  "io/error",
  "io/poll",
  "io/streams",
  "clocks/monotonic-clock",
  "clocks/wall-clock",
  "filesystem/types",
  "filesystem/preopens",
  "http/types",
  "http/outgoing-handler",
];

/** The component with the true version in the names of WASI's interfaces. */
function withTrueVersions(component) {
  for (const name of INTERFACES) {
    const wanted = Buffer.from(`wasi:${name}${STAND_IN}`);
    for (let at = component.indexOf(wanted); at >= 0; at = component.indexOf(wanted, at)) {
      component.write(WASI, at + wanted.length - WASI.length);
    }
  }
  return component;
}

function standIns(text) {
  return text.replaceAll(/(wasi:[a-z]+(?:\/[a-z-]+)?)@0\.2\.12/g, `$1${STAND_IN}`);
}

/** Copies the contracts, and of WASI what HTTP needs, in the layout that bindings are made from. */
function contracts(to) {
  const from = join(PACKAGE, "wit");
  if (!existsSync(join(from, "worlds.wit"))) {
    throw new BuildError(`the contracts are missing: copy the folder \`wit\` of bub-wasm to \`${from}\``);
  }
  cpSync(join(from, "deps"), join(to, "deps"), { recursive: true });
  mkdirSync(join(to, "deps", "bub-plugin"));
  cpSync(join(from, "worlds.wit"), join(to, "deps", "bub-plugin", "worlds.wit"));
  for (const name of readdirSync(join(PACKAGE, "wasi"))) {
    mkdirSync(join(to, "deps", `wasi-${basename(name, ".wit")}`));
    const text = readFileSync(join(PACKAGE, "wasi", name), "utf8");
    writeFileSync(join(to, "deps", `wasi-${basename(name, ".wit")}`, name), standIns(text));
  }
}

/** Files of the directories that were granted, over `wasi:filesystem`. */

import { PluginError } from "../error.js";

const PIECE = 64 * 1024;
const KINDS = { "no-entry": "not-found", access: "denied", "not-permitted": "denied", "read-only": "denied" };

/** The files of a directory by the bindings of `wasi:filesystem`. */
export function files({ preopens }) {
  const raise = (path, thrown) => {
    const code = thrown?.payload ?? thrown;
    if (typeof code !== "string") throw thrown;
    throw new PluginError(KINDS[code] ?? "unknown", `\`${path}\`: ${code.replaceAll("-", " ")}`);
  };
  const call = (path, run) => {
    try {
      return run();
    } catch (thrown) {
      return raise(path, thrown);
    }
  };
  const opened = (root) => {
    const wanted = root === "<workspace>" ? "." : root.replace(/^(<workspace>|~)\//, "");
    const found = preopens.getDirectories().find(([, path]) => path === wanted || path.endsWith(`/${wanted}`));
    if (!found) throw new PluginError("denied", `there is no directory \`${root}\` here`);
    return found[0];
  };
  return {
    read(root, path) {
      const file = call(path, () => opened(root).openAt({ symlinkFollow: true }, path, {}, { read: true }));
      const bytes = [];
      for (let end = false; !end; ) {
        const [piece, last] = call(path, () => file.read(PIECE, bytes.length));
        for (const byte of piece) bytes.push(byte);
        end = last;
      }
      return new Uint8Array(bytes);
    },
    // Readers see all of it or nothing: the file is complete before it gets its name.
    write(root, path, bytes) {
      const directory = opened(root);
      const draft = `${path}.draft`;
      const file = call(path, () =>
        directory.openAt({ symlinkFollow: true }, draft, { create: true, truncate: true }, { write: true }),
      );
      for (let at = 0; at < bytes.length; ) {
        at += Number(call(path, () => file.write(bytes.subarray(at, at + PIECE), at)));
      }
      call(path, () => file.sync());
      call(path, () => directory.renameAt(draft, directory, path));
    },
    list(root, path) {
      const directory = call(path, () => opened(root).openAt({}, path, { directory: true }, { read: true }));
      const entries = call(path, () => directory.readDirectory());
      const names = [];
      for (let entry = entries.readDirectoryEntry(); entry; entry = entries.readDirectoryEntry()) names.push(entry.name);
      return names.sort();
    },
    makeDirectory(root, path) {
      try {
        opened(root).createDirectoryAt(path);
      } catch (thrown) {
        if ((thrown?.payload ?? thrown) !== "exist") raise(path, thrown);
      }
    },
    remove(root, path) {
      call(path, () => opened(root).unlinkFileAt(path));
    },
  };
}

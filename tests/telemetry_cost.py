#!/usr/bin/env python3
"""Counts the instructions that telemetry adds to a turn.

    telemetry_cost.py PROGRAM [WITHOUT]

PROGRAM is a release build with its symbols (`target/release/bub-wasm`), WITHOUT another one without the feature `otel`.
Each is run under callgrind (valgrind) with FEW and with MANY turns of `chat`, with the model that needs no server and a
collector on loopback. The difference of both runs is what the turns cost: what a start costs is in both.
Fails if telemetry adds more than LIMIT percent.
"""
import glob
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading

FEW, MANY = 10, 50
LIMIT = 5.0

# The program compiles plugins in a child process that it starts as `/proc/self/exe`, which is valgrind's own file there.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
static const char *real(const char *path) {
    return strcmp(path, "/proc/self/exe") ? path : getenv("REAL_PROGRAM");
}
int execvp(const char *path, char *const args[]) {
    int (*next)(const char *, char *const[]) = dlsym(RTLD_NEXT, "execvp");
    return next(real(path), args);
}
int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                 char *const args[], char *const env[]) {
    int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                char *const[]) = dlsym(RTLD_NEXT, "posix_spawnp");
    return next(pid, real(path), actions, attr, args, env);
}
"""


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Collector.requests += 1
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Counter:
    def __init__(self, folder, endpoint):
        self.folder, self.endpoint = folder, endpoint
        self.shim = os.path.join(folder, "shim.so")
        source = os.path.join(folder, "shim.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.shim, source], check=True)

    def run(self, program, turns, on):
        """The instructions of all threads, and those of the exporter's thread."""
        work = tempfile.mkdtemp(dir=self.folder)
        # Compiled plugins are kept from run to run; tapes are not.
        home = os.path.join(self.folder, "home")
        for name in ("tapes", "sessions", "usage", "audit", "recordings"):
            subprocess.run(["rm", "-rf", os.path.join(home, name)], check=True)
        out = os.path.join(work, "out")
        environment = {"HOME": self.folder, "BUB_HOME": home, "PATH": os.environ["PATH"], "LD_PRELOAD": self.shim}
        environment["REAL_PROGRAM"] = program
        if on:
            environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = self.endpoint
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", program, "chat"]
        said = "".join(f"hello number {number % 10}\n" for number in range(turns))
        done = subprocess.run(command, input=said, env=environment, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stdout.count("hello number") != turns:
            sys.exit(f"the program failed under valgrind:\n{done.stdout}\n{done.stderr}")
        whole = exporter = 0
        for thread in glob.glob(out + "*"):
            with open(thread, encoding="utf-8", errors="replace") as lines:
                text = lines.read()
            count = sum(int(number) for number in re.findall(r"^totals: (\d+)", text, re.M))
            whole += count
            if "bub_telemetry::exporter::Worker::run" in text:
                exporter += count
        return whole, exporter

    def of_a_turn(self, program, on):
        few, many = (self.run(program, turns, on) for turns in (FEW, MANY))
        return tuple((more - less) / (MANY - FEW) for less, more in zip(few, many))


def main():
    programs = [os.path.realpath(program) for program in sys.argv[1:3]]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(folder, f"http://127.0.0.1:{server.server_port}")
        for program in programs:
            # Compiles the plugins.
            counter.run(program, 1, False)
        off, _ = counter.of_a_turn(programs[0], False)
        on, exporter = counter.of_a_turn(programs[0], True)
        if Collector.requests == 0:
            sys.exit("nothing was exported")
        share = (on - off) / off * 100
        print(f"a turn without a collector: {off:,.0f} instructions")
        print(f"a turn with a collector:    {on:,.0f} ({share:+.2f} %), {exporter:,.0f} of them by the exporter's thread")
        if len(programs) == 2:
            without, _ = counter.of_a_turn(programs[1], False)
            print(f"a turn without the feature: {without:,.0f}; with it and no collector {(off - without) / without * 100:+.2f} %")
    if share > LIMIT:
        sys.exit(f"telemetry adds more than {LIMIT} %")


if __name__ == "__main__":
    main()

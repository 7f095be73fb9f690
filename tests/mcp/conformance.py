"""`bub-wasm` as the client that MCP's conformance suite tests: driven as a user drives it, with a browser of `urllib`.

    PROGRAM=... MCP_CONFORMANCE_SCENARIO=... python3 conformance.py URL

`PROGRAM` starts `bub-wasm` in a home of its own, with the arguments that it gets.
"""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

PROGRAM, SCENARIO, URL = os.environ["PROGRAM"], os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[-1]


def bub(*arguments, typed=""):
    done = subprocess.run([PROGRAM, *arguments], input=typed, capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    print("$", *arguments, "\n" + said, flush=True)
    return said


def log_in(*options):
    login = subprocess.Popen([PROGRAM, "mcp", "login", "it", *options], stdout=subprocess.PIPE, text=True)
    for line in login.stdout:
        if line.startswith("http"):
            try:
                urllib.request.urlopen(line.strip()).read()
            except urllib.error.HTTPError as error:
                print(error)
    print("login:", login.wait())


def call(tool, arguments):
    return bub("run", f",mcp.it.{tool} {arguments}")


bub("mcp", "add", "it", "--url", URL, "--effect", "*=read")
if SCENARIO == "tools_call":
    call("add_numbers", "a=2 b=3")
elif SCENARIO == "sse-retry":
    call("test_reconnection", "")
elif SCENARIO.startswith("auth/"):
    options = []
    if SCENARIO == "auth/pre-registration":
        context = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
        bub("secret", "set", "client", "--value-stdin", "--host", "localhost", typed=context["client_secret"])
        options = ["--client-id", context["client_id"], "--client-secret", "client"]
    log_in(*options)
    bub("mcp", "check", "it", "--accept")
    # A server that wants more of a login says what, and the program says how.
    more = re.search(r"bub-wasm mcp login it((?: --scope \S+)+)", call("test-tool", ""))
    if more:
        log_in(*more[1].split())
        call("test-tool", "")

#!/usr/bin/env python3
"""Figures of a weather plugin: size, compile time, memory and time of a call.

    guests/examples/figures.py BUB_WASM PLUGIN.wasm [TURNS]

It serves the weather and a model that calls the tool, runs `bub-wasm serve` in a new home, and reads `/metrics`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Service(BaseHTTPRequestHandler):
    """The weather service, and a model that calls the tool once in each turn."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer([{"date": "1 May", "sky": "clear", "high": 21.5, "low": 9}])

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}
        if any(message["role"] == "tool" for message in asked["messages"]):
            delta, reason = {"content": "clear"}, "stop"
        else:
            delta, reason = {"tool_calls": [{"index": 0, **call}]}, "tool_calls"
        key = "delta" if asked.get("stream") else "message"
        body = {"choices": [{"index": 0, key: {"role": "assistant", **delta}, "finish_reason": reason}]}
        self.answer(body, stream=bool(asked.get("stream")))

    def answer(self, body: object, stream: bool = False) -> None:
        text = json.dumps(body)
        data = (f"data: {text}\n\ndata: [DONE]\n\n" if stream else text).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    program, plugin = sys.argv[1], Path(sys.argv[2])
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{service.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "plugins").mkdir()
        model = {"BUB_MODEL": "openai:fake", "BUB_API_KEY": "sk-fake", "BUB_API_BASE": base}
        environment = {**os.environ, **model, "BUB_HOME": folder}

        def run(*arguments: str) -> float:
            start = time.monotonic()
            subprocess.run([program, *arguments], env=environment, cwd=folder, check=True, capture_output=True)
            return time.monotonic() - start

        run("hooks")
        # Memory of a server that does without the plugin.
        without = Server(program, environment, folder)
        for turn in range(turns):
            without.post({"content": ",help", "session_id": f"http:{turn}"})
        idle = without.end()[0]
        (home / "plugins" / "weather.wasm").write_bytes(plugin.read_bytes())
        wants = f'["hook:system-prompt", "http:{base}", "secret:weather"]'
        (home / "config.toml").write_text(
            f"[plugins.weather]\ngrants = {wants}\nlimits = {{ compile_seconds = 600 }}\n"
            f'[plugins.weather.config]\nserver = "{base}"\nhome = "Bern"\n'
        )
        (home / "secrets.toml").write_text('[weather]\nvalue = "0123456789abcdef"\nhosts = ["127.0.0.1"]\n')
        (home / "secrets.toml").chmod(0o600)
        compiled = run("hooks")
        started = run("hooks")
        run("plugin", "grant", "weather", *json.loads(wants))
        server = Server(program, environment, folder)
        for turn in range(turns):
            answer = server.post({"content": "how is it", "session_id": f"http:{turn}"})
            if answer["model_output"].strip() != "clear":
                sys.exit(f"the turn failed: {answer}")
        memory, metrics = server.end()
        print(f"size          {plugin.stat().st_size / 1e6:8.2f} MB")
        print(f"compile       {compiled - started:8.2f} s")
        print(f"memory        {memory - idle:8.1f} MB more than without the plugin, at its highest")
        for hook in sorted(set(re.findall(r'plugin="weather",hook="([^"]+)"|hook="([^"]+)",plugin="weather"', metrics))):
            name = "".join(hook)
            calls, seconds = (total(metrics, f"bub_hook_{what}_total", name) for what in ("calls", "seconds"))
            print(f"{name:<13} {1000 * seconds / calls:8.2f} ms a call, of {calls:.0f} calls")


def total(metrics: str, name: str, hook: str) -> float:
    lines = [line for line in metrics.splitlines() if line.startswith(name + "{")]
    return float(next(line for line in lines if f'hook="{hook}"' in line and 'plugin="weather"' in line).split()[-1])


class Server:
    """A running `bub-wasm serve`."""

    def __init__(self, program: str, environment: dict[str, str], folder: str) -> None:
        arguments = [program, "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(arguments, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        self.base = line.split("serving at ")[1].strip()
        self.token = (Path(environment["BUB_HOME"]) / "serve.token").read_text().strip()

    def ask(self, path: str, body: object = None) -> bytes:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data, headers)) as answer:
            return answer.read()

    def post(self, body: object) -> dict[str, str]:
        return json.loads(self.ask("/v1/turns", body))

    def end(self) -> tuple[float, str]:
        """The most memory that it had, in MB, and its metrics."""
        metrics = self.ask("/metrics").decode()
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        self.process.terminate()
        self.process.wait()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1000, metrics


if __name__ == "__main__":
    main()

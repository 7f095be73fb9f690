#!/usr/bin/env python3
"""Record a terminal session of the real program and write it as a static SVG.

    python3 docs/record.py [--program target/release/bub-wasm] [--output docs/src/demo.svg]

The session runs in tmux, in a home and a workspace of its own, with a scripted model on loopback.
The model's answers are in `ANSWERS`; everything else in the picture is what the program printed.
Needs tmux and Python 3.9 or later.
"""

import argparse
import html
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

COLUMNS, ROWS, TIMEOUT = 84, 48, 60

# What the model answers, in order: a text, or a tool call as (name, arguments).
ANSWERS = [
    ("fs_read", {"path": "notes.md"}),
    "The release is planned for Tuesday. Two items are open: the changelog and the installer.",
    ("fs_write", {"path": "todo.md", "content": "- changelog\n- installer\n"}),
    "I wrote the two open items to `todo.md`.",
]
FILES = {"notes.md": "# Release\n\nTuesday. Open: changelog, installer.\n"}
# What is typed, each once the screen's last line matches the pattern before it.
PROMPT = r"^\$ ?$"
STEPS = [
    (PROMPT, 'bub-wasm run "what is still open for the release?"'),
    (r"\[y/N\] ?$", "n"),
    (PROMPT, 'bub-wasm run -c "write both to todo.md"'),
    (r"other text goes to the agent$", "y"),
    (PROMPT, "bub-wasm hooks | head -6"),
]
# The palette of the picture: the 16 colours of a terminal, by number.
COLOURS = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"]
COLOURS += ["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc"]
FOREGROUND, BACKGROUND = "#e6edf3", "#0d1117"
CHARACTER, LINE, MARGIN = 8.4, 19, 16


class Model(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible server that streams the scripted answers."""

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.answers.pop(0)
        if isinstance(answer, str):
            delta, reason = {"role": "assistant", "content": answer}, "stop"
        else:
            function = {"name": answer[0], "arguments": json.dumps(answer[1])}
            call = {"index": 0, "id": "call_1", "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        chunks = [
            {"choices": [{"index": 0, "delta": delta}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": {"prompt_tokens": 2150, "completion_tokens": 24, "total_tokens": 2174}},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


def record(program, root, workspace):
    """Type the steps into a shell in tmux and return its screen, one line an item, with SGR sequences."""
    home, programs = root / "home", root / "bin"
    for directory in (home, programs):
        directory.mkdir()
    for name, content in FILES.items():
        (workspace / name).write_text(content)
    (programs / "bub-wasm").symlink_to(program.resolve())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.answers = list(ANSWERS)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
        "PS1": "$ ",
        "BUB_MODEL": "openai:gpt-4o",
        "BUB_API_KEY": "none",
        "BUB_API_BASE": f"http://127.0.0.1:{server.server_port}/v1",
    }
    # Compile the embedded plugins first: that happens once per installation and is no part of a session.
    subprocess.run([program, "run", ",help"], cwd=root, env=environment, check=True, capture_output=True)
    tmux = ["tmux", "-S", str(root / "tmux")]
    variables = [f"{name}={value}" for name, value in environment.items()]
    size = ["-x", str(COLUMNS), "-y", str(ROWS)]
    shell = ["env", "-i", *variables, "sh"]
    subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", *size, "-c", workspace, *shell], check=True)

    def screen(*options):
        capture = [*tmux, "capture-pane", "-p", *options]
        return subprocess.run(capture, check=True, capture_output=True, text=True).stdout.rstrip().split("\n")

    def wait_for(pattern):
        # For a second: an answer that is typed too soon after a question appears does not count.
        matched = 0
        for _ in range(TIMEOUT * 5):
            matched = matched + 1 if re.search(pattern, screen()[-1]) else 0
            if matched > 5:
                return
            time.sleep(0.2)
        raise SystemExit("the screen does not show what is expected:\n" + "\n".join(screen()))

    try:
        for pattern, text in STEPS:
            wait_for(pattern)
            subprocess.run([*tmux, "send-keys", "-l", text], check=True)
            subprocess.run([*tmux, "send-keys", "Enter"], check=True)
        wait_for(PROMPT)
        return screen("-e")[:-1]
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
        server.shutdown()


def colour(codes):
    """The colour that an SGR sequence sets, and how many of its numbers it takes."""
    if codes[0] in (38, 48) and codes[1:2] == [5]:
        index = codes[2]
        return (COLOURS[index] if index < 16 else FOREGROUND), 3
    if codes[0] in (38, 48):
        return FOREGROUND, 5
    return COLOURS[codes[0] - 90 + 8 if codes[0] >= 90 else codes[0] - 30], 1


def spans(lines):
    """The text of each line as runs of (column, text, style); a style goes on over the ends of lines."""
    style = {}
    for line in lines:
        runs, column = [], 0
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if not part.startswith("\x1b"):
                # Columns of a table are placed one by one: not every renderer keeps the spaces between them.
                for words in re.finditer(r"\S+( \S+)*", part):
                    runs.append((column + words.start(), words.group(), dict(style)))
                column += len(part)
                continue
            codes = [int(code or 0) for code in part[2:-1].split(";")]
            while codes:
                taken = 1
                if codes[0] == 0:
                    style = {}
                elif codes[0] == 1:
                    style["font-weight"] = "bold"
                elif codes[0] == 2:
                    style["fill-opacity"] = "0.6"
                elif codes[0] == 22:
                    style.pop("font-weight", None)
                    style.pop("fill-opacity", None)
                elif codes[0] == 39:
                    style.pop("fill", None)
                elif codes[0] == 38 or 30 <= codes[0] <= 37 or 90 <= codes[0] <= 97:
                    style["fill"], taken = colour(codes)
                elif codes[0] == 48:
                    taken = colour(codes)[1]
                codes = codes[taken:]
        yield runs


def draw(lines):
    """The picture: no script, no font and no address of anything else."""
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-label="A terminal session with bub-wasm">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        f'<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="{FOREGROUND}">',
    ]
    for row, runs in enumerate(spans(lines)):
        y = MARGIN + (row + 1) * LINE - 5
        for column, text, style in runs:
            attributes = "".join(f' {name}="{value}"' for name, value in style.items())
            x, length = MARGIN + column * CHARACTER, len(text) * CHARACTER
            out.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{attributes}>'
                f"{html.escape(text)}</text>"
            )
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", type=pathlib.Path, default=top / "target/release/bub-wasm")
    parser.add_argument("--output", type=pathlib.Path, default=top / "docs/src/demo.svg")
    arguments = parser.parse_args()
    if not os.access(arguments.program, os.X_OK):
        raise SystemExit(f"there is no program at `{arguments.program}`: build it, or name it by `--program`")
    # The program prints the path of its workspace, so it is a short one.
    workspace = pathlib.Path("/tmp/release")
    workspace.mkdir()
    try:
        with tempfile.TemporaryDirectory(prefix="bub-wasm-demo") as root:
            lines = record(arguments.program, pathlib.Path(root), workspace)
    finally:
        shutil.rmtree(workspace)
    arguments.output.write_text(draw(lines))


if __name__ == "__main__":
    main()

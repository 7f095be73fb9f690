"""A selector in Python: the last six messages, and nothing else.

    componentize-py -d wit -w bub:languages/selector componentize --stub-wasi last_six -o last_six.wasm
"""

import json

from wit_world import exports
from wit_world.exports import selector
from wit_world.imports.view import View

SHOWN = 6


class Selector(exports.Selector):
    def select(self, view: View) -> selector.Selected:
        shown: list[int] = []
        passed = 0
        before = None
        while len(shown) < SHOWN and (entries := view.tail(before, 64)):
            for entry in reversed(entries):
                if entry.kind == "message" and len(shown) < SHOWN:
                    shown.append(entry.id)
                else:
                    passed += 1
            before = entries[0].id
        notes = json.dumps({"language": "python", "passed": passed})
        history = [selector.Part_Entry(id) for id in reversed(shown)]
        return selector.Selected(None, [], history, [], notes)

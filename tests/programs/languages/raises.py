"""A selector in Python that breaks: what it prints and its traceback are for its author.

    componentize-py -d wit -w bub:languages/selector componentize raises -o raises.wasm
"""

from wit_world import exports
from wit_world.exports import selector
from wit_world.imports.view import View


class Selector(exports.Selector):
    def select(self, view: View) -> selector.Selected:
        print("looking for an entry that fits")
        raise ValueError("no entry fits")

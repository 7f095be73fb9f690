import unittest

from bub_guest import EntryPart
from bub_guest.test import Host
from plugin import plugin, select

CONVERSATION = [
    entry
    for text in ("one", "two", "three")
    for entry in (("event", {"name": "loop.start"}), ("message", {"content": text}))
]


class Select(unittest.TestCase):
    def test_the_last_exchanges_are_selected_from_their_first_entry_on(self) -> None:
        host = Host(plugin, config={"turns": 2}, entries=CONVERSATION)
        self.assertEqual(select(host.view()).history, [EntryPart(id) for id in (3, 4, 5, 6)])

    def test_a_short_conversation_is_selected_whole(self) -> None:
        self.assertEqual(len(select(Host(plugin, entries=CONVERSATION).view()).history), 6)
        self.assertEqual(select(Host(plugin).view()).history, [])

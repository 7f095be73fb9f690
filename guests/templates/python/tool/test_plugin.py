import unittest

from bub_guest.test import Host
from plugin import count, plugin


class Count(unittest.TestCase):
    def test_words_are_counted_with_the_time_to_read_them(self) -> None:
        host = Host(plugin, config={"words_per_minute": 60})
        counted = host.call(count, {"text": "to be\nor not  to be"})
        self.assertEqual(counted, {"count": 6, "unit": "words", "minutes": 0.1})

    def test_lines_and_characters_are_counted(self) -> None:
        host = Host(plugin)
        self.assertEqual(host.call(count, {"text": "dö\nde", "unit": "lines"}), {"count": 2, "unit": "lines"})
        self.assertEqual(host.call(count, {"text": "dö\nde", "unit": "characters"})["count"], 5)

import unittest

from bub_guest.test import Host
from plugin import plugin, rules


class Rules(unittest.TestCase):
    def test_the_rules_of_the_configuration_are_a_part_of_the_prompt(self) -> None:
        host = Host(plugin, config={"rules": ["Be brief.", "Be kind."]})
        (part,) = rules(host.turn(), host.prompt())
        self.assertEqual(part.text, "Follow these rules:\n- Be brief.\n- Be kind.\n")

    def test_without_rules_nothing_is_added(self) -> None:
        host = Host(plugin, config={"rules": []})
        self.assertEqual(rules(host.turn(), host.prompt()), [])

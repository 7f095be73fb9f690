import unittest

from bub_guest import Deny, Proceed, ToolCall
from bub_guest.test import Host
from plugin import decide, plugin


class Decide(unittest.TestCase):
    def test_a_blocked_text_is_denied_wherever_it_stands(self) -> None:
        turn = Host(plugin).turn()
        for arguments in ('{"cmd":"SUDO ls"}', '{"cmd":["sh",{"c":"sudo ls"}]}', "sudo ls"):
            denied = Deny("`bash` is not called with `sudo ` in its arguments")
            self.assertEqual(decide(turn, ToolCall("bash", arguments)), denied)

    def test_other_calls_proceed(self) -> None:
        turn = Host(plugin, config={"blocked": ["curl"]}).turn()
        self.assertEqual(decide(turn, ToolCall("bash", '{"cmd":"sudo ls"}')), Proceed())

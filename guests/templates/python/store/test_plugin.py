import os
import tempfile
import unittest

from bub_guest import Already, Batch, Conflict, Entry, Error, Phase, Reset, Stored
from bub_guest.test import Host
from plugin import Files, plugin


def entry(id: int, kind: str = "event", payload: str = "{}") -> Entry:
    return Entry(id, kind, payload, "{}", "2026-01-02T03:04:05Z")


class Tapes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        Host(plugin)
        self.store = Files()

    def test_a_write_is_read_again_and_applied_once(self) -> None:
        batch = Batch("a__b", 0, None, [entry(1, "anchor", '{"name":"\u00fc"}'), entry(2)])
        self.assertEqual(self.store.commit([batch], "k"), Stored())
        self.assertEqual(self.store.commit([batch], "k"), Already())
        self.assertEqual(self.store.commit([batch], "l"), Conflict([2]))
        self.assertEqual([one.id for one in self.store.read("a__b", 1, 9).entries], [2])
        page = self.store.tail("a__b", None, 1)
        self.assertEqual((page.entries[0].id, page.more), (2, True))
        newest = self.store.newest("a__b", Phase(), None)
        self.assertEqual(newest and newest.payload, {"name": "\u00fc"})
        self.assertEqual((self.store.list_tapes(None, 9), self.store.read("c__d", 0, 9).entries), (["a__b"], []))

    def test_a_reset_empties_the_sidecars_and_keeps_an_archive(self) -> None:
        sidecar = "a__b__sidecar__notes"
        self.store.commit([Batch("a__b", None, None, [entry(1)]), Batch(sidecar, None, None, [entry(1)])], None)
        self.assertEqual(self.store.list_sidecars("a__b", None, 9), [sidecar])
        archive = self.store.archive_name("a__b")
        self.store.commit([Batch("a__b", 1, Reset(archive, [entry(2)]), [])], None)
        self.assertEqual(self.store.list_sidecars("a__b", None, 9), [])
        self.assertEqual([one.id for one in self.store.read(str(archive), 0, 9).entries], [1, 2])

    def test_without_its_grant_it_says_so(self) -> None:
        Host(plugin, without=["fs:*"])
        with self.assertRaises(Error) as raised:
            self.store.read("a__b", 0, 9)
        self.assertEqual(raised.exception.kind, "denied")

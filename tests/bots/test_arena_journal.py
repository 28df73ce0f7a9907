from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from buraco_bots.arena.figures import PairFigures, forfeited
from buraco_bots.arena.journal import Journal, JournalMismatch

PATIENCE = 60.0
SETTINGS = {"bots": ["a", "b"], "seed": "kept"}
PROGRAM = """
import sys
from pathlib import Path
from tests.bots.test_arena_journal import SETTINGS, pair
from buraco_bots.arena.journal import Journal

with Journal(Path(sys.argv[1]), SETTINGS) as journal:
    for number in range(1_000_000):
        journal.add(pair(number))
        print(number, flush=True)
"""


def pair(number: int) -> PairFigures:
    """A pair with this number."""
    return PairFigures("a", "b", number, (forfeited(0, "late", "a was late"), forfeited(1, "error", "b broke")))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet."""
    return tmp_path / "journal.jsonl"


def test_pairs_are_kept(path: Path) -> None:
    """What was added is found when the file is opened again, any number of times."""
    for opened in range(3):
        with Journal(path, SETTINGS) as journal:
            assert journal.finished == [pair(number) for number in range(opened)]
            journal.add(pair(opened))


def test_without_a_file() -> None:
    """Without a file nothing is kept, and nothing fails."""
    with Journal(None, SETTINGS) as journal:
        journal.add(pair(0))
    assert journal.finished == []


@pytest.mark.parametrize("cut", [1, 40])
def test_half_a_line(path: Path, cut: int) -> None:
    """A last line that is not whole is dropped, and what is added then stands in its place."""
    with Journal(path, SETTINGS) as journal:
        journal.add(pair(0))
        journal.add(pair(1))
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(path, SETTINGS) as journal:
        assert journal.finished == [pair(0)]
        journal.add(pair(2))
    with Journal(path, SETTINGS) as journal:
        assert journal.finished == [pair(0), pair(2)]


@pytest.mark.parametrize("size", [0, 5, 20])
def test_half_a_first_line(path: Path, size: int) -> None:
    """A file that ends in its first line is begun anew."""
    with Journal(path, SETTINGS):
        pass
    path.write_bytes(path.read_bytes()[:size])
    with Journal(path, SETTINGS) as journal:
        assert journal.finished == []
        journal.add(pair(0))
    with Journal(path, SETTINGS) as journal:
        assert journal.finished == [pair(0)]


def test_killed_in_the_middle(path: Path) -> None:
    """A process that is killed while it adds loses no pair that was added before."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "20\n":
                break
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    with Journal(path, SETTINGS) as journal:
        found = [one.number for one in journal.finished]
    assert found == list(range(len(found)))
    assert len(found) > 20


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": "other"}, "another seed: 'kept', not 'other'"),
        ({"bots": ["a", "c"]}, "another bots"),
        ({"format": "gauntlet"}, "another format: None, not 'gauntlet'"),
    ],
)
def test_other_settings(path: Path, changed: dict[str, object], message: str) -> None:
    """A journal of another arena is refused with the difference, and stays as it is."""
    with Journal(path, SETTINGS) as journal:
        journal.add(pair(0))
    before = path.read_bytes()
    with pytest.raises(JournalMismatch, match=message), Journal(path, SETTINGS | changed):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"dear diary", b"dear diary\n", b"{}\n", b'{"settings":{}}\n7\n', b"\xff\n"])
def test_no_journal(path: Path, content: bytes) -> None:
    """Another file is refused and stays as it is."""
    path.write_bytes(content)
    with pytest.raises(JournalMismatch, match=r"is no journal of an arena|another"), Journal(path, SETTINGS):
        pass
    assert path.read_bytes() == content


def test_used_by_another(path: Path) -> None:
    """Two arenas cannot use one journal at a time."""
    with (
        Journal(path, SETTINGS),
        pytest.raises(JournalMismatch, match="is used by another arena"),
        Journal(path, SETTINGS),
    ):
        pass
    with Journal(path, SETTINGS):
        pass


def test_no_such_folder(tmp_path: Path) -> None:
    """A file that cannot be written is an error before the first pair."""
    with pytest.raises(OSError, match="No such file"), Journal(tmp_path / "nowhere" / "journal", SETTINGS):
        pass
    assert not any(tmp_path.iterdir())

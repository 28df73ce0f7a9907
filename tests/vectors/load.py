"""Read the files of vectors: as people write them, and expanded."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).resolve().parent
EXPANDED: Final = FOLDER / "expanded"
COVERAGE: Final = FOLDER / "coverage.json"

PRESETS: Final = (
    "buraco-plus-classic",
    "professional-indirect",
    "professional-direct",
    "open",
    "dirty-open",
    "closed",
    "closed-wtcc",
    "closed-dirty",
    "burraco",
)
"""The presets of the sources: what `all` stands for among the rule sets of a vector."""

Json = dict[str, Any]


class Source(NamedTuple):
    """A file of vectors as people write them."""

    path: Path
    about: str
    vectors: list[Json]


class Vector(NamedTuple):
    """A vector in its expanded form under one rule set, with messages as JSON."""

    file: str
    name: str
    kind: str
    rules: tuple[str, ...]
    """Numbers of the rules it shows."""
    rule_set: str
    """In the text notation."""
    record: Json
    """The rule set as JSON of a RuleSet."""
    body: Json
    """What is asked and what is expected, by kind."""

    @property
    def title(self) -> str:
        """What tells it from every other vector."""
        return f"{self.name} [{self.rule_set}]"

    @property
    def shows_illegal(self) -> bool:
        """Whether it shows what the rules refuse."""
        refused = bool(self.body.get("refused") or self.body.get("violations") or self.body.get("defects"))
        return refused or any("violations" in step for step in self.body.get("steps", ()))


def sources() -> list[Source]:
    """Return every file of vectors, by name."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        if path != COVERAGE:
            content = json.loads(path.read_text())
            for vector in content["vectors"]:
                vector["rule_sets"] = [
                    one for text in vector["rule_sets"] for one in (PRESETS if text == "all" else (text,))
                ]
            found.append(Source(path, content["about"], content["vectors"]))
    return found


def kind_of(vector: Json) -> str:
    """Return what a vector, as people write it, asks for."""
    kind: str = vector.get("kind", "moves")
    return kind


def files() -> list[Path]:
    """Return the expanded files, by name."""
    return sorted(EXPANDED.glob("*.json"))


def vectors_in(path: Path) -> list[Vector]:
    """Return the vectors of an expanded file, one for each of their rule sets."""
    content = json.loads(path.read_text())
    heads = ("name", "kind", "rules", "rule_sets")
    return [
        Vector(
            path.name,
            vector["name"],
            vector["kind"],
            tuple(vector["rules"]),
            rule_set,
            content["rule_sets"][rule_set],
            {key: value for key, value in vector.items() if key not in heads},
        )
        for vector in content["vectors"]
        for rule_set in vector["rule_sets"]
    ]

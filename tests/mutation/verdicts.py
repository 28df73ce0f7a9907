"""What became of the mutants: mutmut's results beside the list of those that may survive."""

import subprocess
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutation.workshop import FOLDER, MUTMUT, RULES

JUSTIFIED: Final = Path(__file__).with_name("justified.toml")
NOT_RUN: Final = "not checked"
DEAD: Final = frozenset({"killed", "timeout", "segfault"})
"""A test failed, or the mutant went on for ever until a limit of time ended it."""


class Mutant(NamedTuple):
    """One change of the code and what the tests made of it."""

    name: str
    """As mutmut calls it; holds a number that moves with the code."""
    status: str

    @property
    def module(self) -> str:
        """Its module of the rules, as `melds.runs`."""
        return self.name.removeprefix(f"{RULES.name}.").rpartition(".")[0]

    @property
    def function(self) -> str:
        """Its function, or class and method."""
        mangled = self.name.rpartition(".")[2].partition("__mutmut_")[0]
        return mangled.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")


class Change(NamedTuple):
    """What a mutant changes, told without numbers that move with the code."""

    module: str
    function: str
    before: str
    after: str


class Verdict(NamedTuple):
    """All that a run has shown."""

    mutants: list[Mutant]
    """Those that were run."""
    justified: dict[Mutant, Change]
    """Those of them that survived and may."""
    survived: dict[Mutant, Change]
    """Those of them that survived and may not."""
    stale: set[Change]
    """Those that may survive and did not, although all mutants of their modules were run."""

    @property
    def passed(self) -> bool:
        """Whether every survivor is excused, and every excuse needed."""
        return not self.survived and not self.stale


def mutants(modules: Sequence[str]) -> list[Mutant]:
    """All mutants of these modules and what came of them so far."""
    lines = _mutmut("results", "--all", "true").splitlines()
    found = [Mutant(*line.strip().rsplit(": ", 1)) for line in lines if line.startswith(f"    {RULES.name}.")]
    return [mutant for mutant in found if mutant.module in modules]


def justified() -> dict[Change, str]:
    """The changes that may survive, and why."""
    entries = tomllib.loads(JUSTIFIED.read_text())["mutant"]
    return {Change(e["module"], e["function"], e["before"], e["after"]): e["reason"] for e in entries}


def judge(whole: Sequence[str], sampled: Sequence[str]) -> Verdict:
    """The verdict on modules of which all mutants were run, and on modules of which some were."""
    known = justified().keys()
    ran = [mutant for mutant in mutants([*whole, *sampled]) if mutant.module in whole or mutant.status != NOT_RUN]
    left = {mutant: _change(mutant) for mutant in ran if mutant.status not in DEAD}
    return Verdict(
        ran,
        {mutant: change for mutant, change in left.items() if change in known},
        {mutant: change for mutant, change in left.items() if change not in known},
        {change for change in known - set(left.values()) if change.module in whole},
    )


def report(verdict: Verdict) -> str:
    """The score of each module, and what has to be looked at."""
    ran = Counter(mutant.module for mutant in verdict.mutants)
    excused = Counter(mutant.module for mutant in verdict.justified)
    survived = Counter(mutant.module for mutant in verdict.survived)
    lines = [f"{'module':<20}{'mutants':>8}{'killed':>8}{'justified':>11}{'survived':>10}{'score':>9}"]
    for module, count in [*ran.items(), ("all", ran.total())]:
        may, may_not = (c.total() if module == "all" else c[module] for c in (excused, survived))
        killed = count - may - may_not
        lines.append(f"{module:<20}{count:>8}{killed:>8}{may:>11}{may_not:>10}{killed / count:>9.1%}")
    for mutant, change in verdict.survived.items():
        lines += ["", f"{mutant.name}: {mutant.status}", *_told(change)]
    for change in sorted(verdict.stale):
        lines += ["", "listed as justified, but does not survive:", *_told(change)]
    return "\n".join(lines)


def _change(mutant: Mutant) -> Change:
    lines = _mutmut("show", mutant.name).splitlines()
    body = lines[next(number for number, line in enumerate(lines) if line.startswith("@@")) :]
    before, after = (" ".join([line[1:].strip() for line in body if line.startswith(sign)]) for sign in "-+")
    return Change(mutant.module, mutant.function, before, after)


def _told(change: Change) -> list[str]:
    """A change as an entry of the list of justified ones has it."""
    return [f"{name} = '''{value}'''" for name, value in change._asdict().items()]


def _mutmut(*arguments: str) -> str:
    return subprocess.run([MUTMUT, *arguments], cwd=FOLDER, capture_output=True, text=True, check=True).stdout

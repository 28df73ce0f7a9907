"""`make mutation`: break the rules one small change at a time, and see whether a test notices.

mutmut makes the changes and runs the tests; this says which, and judges what is left. All mutants of meld, deal,
play.legal_moves and match.scoring are run, and of the other modules that play the game a sample, the same every time.
It ends with the score of each module, and fails where a mutant survived that justified.toml does not list, or lists in
vain. Changed are functions, properties among them; constants and tables are not.

    make mutation MUTATION_ARGS='melds.runs melds.sets'         # all mutants of these modules, none of others
    make mutation MUTATION_ARGS='--sample 0'        # those four modules alone
    make mutation MUTATION_ARGS='--sample 100000'   # all mutants of all modules that play the game

What a survivor changes is told in the form of justified.toml. `mutmut show`, run in .venv/.mutation, tells more.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from tests.mutation.verdicts import judge, mutants, report
from tests.mutation.workshop import FOLDER, MUTMUT, RULES, furnish, path_of

CORE: Final = ("meld", "deal", "play.legal_moves", "match.scoring")
PLAY: Final = (
    "match.dealing",
    "match.result",
    "melds.candidates",
    "melds.meld_book",
    "melds.runs",
    "melds.sets",
    "melds.sorted_hands",
    "play.apply",
    "play.drawing",
    "play.going_out",
    "play.laying",
    "play.undo",
)
"""Where the rules of the game stand besides; the other modules read, write and check."""
SAMPLE: Final = 300
SEED: Final = 20


def main() -> int:
    """Run what is asked for; 1 where a mutant survives unexcused."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", help="modules of buraco_rules; none: the default ones and the sample")
    parser.add_argument("--sample", type=int, help=f"mutants of other modules (default {SAMPLE}, 0 with modules)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"chooses the sample (default {SEED})")
    arguments = parser.parse_args()
    whole = tuple(arguments.modules) or CORE
    if unknown := [name for name in whole if not path_of(name).is_file()]:
        parser.error(f"no module of {RULES.name}: {', '.join(unknown)}")
    size = (0 if arguments.modules else SAMPLE) if arguments.sample is None else arguments.sample
    sampled = tuple(name for name in PLAY if size and name not in whole)
    begun = time.perf_counter()
    furnish((*whole, *sampled))
    mutate([f"{RULES.name}.{module}.*" for module in whole])
    if sampled:
        mutate(sample([mutant.name for mutant in mutants(sampled)], size, arguments.seed))
    verdict = judge(whole, sampled)
    print(report(verdict))
    print(f"{time.perf_counter() - begun:.0f} s")
    return 0 if verdict.passed else 1


def sample(names: Sequence[str], size: int, seed: int) -> list[str]:
    """So many of the names, by chance but not by place: where one function changes, the others keep their share."""
    return sorted(names, key=lambda name: sha256(f"{seed} {name}".encode()).digest())[:size]


def mutate(names: Sequence[str]) -> None:
    """Have mutmut run the mutants of these names; the stars in names are its own."""
    subprocess.run([MUTMUT, "run", "--max-children", "2", *names], cwd=FOLDER, check=True)


if __name__ == "__main__":
    sys.exit(main())

r"""Records as text, as PGN is for chess: headers, and the moves of every deal turn by turn.

    [RuleSet "buraco-plus-classic"]
    [Seats "2"]
    [Target "2005"]
    [Starter "0"]
    [Players "Ann" "Bob"]

    [Deal "1"]
    [Seed "6e61…"]
    [Commitment "09fd…"]
    [Result "closed 505 -145"]

    1. 0: + -Kd
    2. 1: ^ =3h 4h [Jo] -9s
    3. 0: + &0:7d 8d ~1@9 -2c

First come the headers of the match: `RuleSet` in the form of `rule_sets`, `Seats`, then `Target` score and `Starter` (0
where they are left out) and the names of the `Players` by seat, if known. Then come the deals, each with its own
headers: `Deal` its number; `Scores` of both sides before it (left out: 0 0); `Seed` that shuffled and `Commitment` to
it, in hexadecimal digits; where players added entropy, `ServerSeed`, and `Entropies`, one a seat; `Result`: how the
deal ended (`closed`, `stock`, `max_turns`, `twos_buraco`) and what it counted for either side. Its turns follow:
number, seat, and moves in the form of `moves`.

White space may be any, and `#` begins a comment that goes to the end of the line. In quotes, a backslash stands before
a quote or backslash; `\u0085` is the character of that number. The canonical form is that of the example: one header
a line in the order above, an empty line around every block, a turn a line.
"""

from collections.abc import Iterator
from itertools import count

from buraco_notation.moves import format_move
from buraco_notation.reading import check_reads_back, quote
from buraco_notation.record_reader import RecordReader
from buraco_notation.rule_sets import format_rule_set
from buraco_rules import DealRecord, DrawStock, MatchRecord, Move, TakePile


def format_record(record: MatchRecord) -> str:
    """Return a record as text, in its canonical form, with a newline at its end.

    Raise ValueError for a record that has no text form: a turn that does not begin with a draw, no deal, or a number of
    players that is not that of the seats.

    >>> from buraco_rules import PRESETS_BY_ID, Ending
    >>> deal = DealRecord(1, (0, 0), bytes(32), bytes(32), (TakePile(),), Ending.STOCK, (-125, -90))
    >>> print(format_record(MatchRecord(PRESETS_BY_ID["open"], 2, 2005, 0, (deal,))).replace(64 * "0", "…"))
    [RuleSet "open"]
    [Seats "2"]
    [Target "2005"]
    [Starter "0"]
    <BLANKLINE>
    [Deal "1"]
    [Seed "…"]
    [Commitment "…"]
    [Result "stock -125 -90"]
    <BLANKLINE>
    1. 0: ^
    <BLANKLINE>
    """
    if record.seats not in (2, 4):
        raise ValueError(f"this MatchRecord has no text form: 2 or 4 seats, not {record.seats}")
    blocks = ["\n".join(_match_headers(record))]
    for deal in record.deals:
        blocks += ["\n".join(_deal_headers(deal)), "\n".join(_turns(record, deal))]
    text = "\n\n".join([block for block in blocks if block]) + "\n"
    return check_reads_back(text, record, lambda text: parse_record(text, verify=False))


def parse_record(text: str, *, verify: bool = True) -> MatchRecord:
    """Return the record of a text. Raise NotationError, which lists all that is wrong and where.

    With `verify` every deal is played again: seed and commitment must fit, every move be legal, and the result be that
    which the record states.

    >>> from buraco_rules import PRESETS_BY_ID, Ending
    >>> deal = DealRecord(1, (0, 0), bytes(32), bytes(32), (TakePile(),), Ending.STOCK, (-125, -90))
    >>> record = MatchRecord(PRESETS_BY_ID["open"], 2, 2005, 0, (deal,), ("Ann", "Bob"))
    >>> parse_record(format_record(record), verify=False) == record
    True
    """
    return RecordReader(text).read(verify=verify)


def _match_headers(record: MatchRecord) -> Iterator[str]:
    yield _header("RuleSet", format_rule_set(record.rules))
    yield _header("Seats", str(record.seats))
    yield _header("Target", str(record.target_score))
    yield _header("Starter", str(record.starter))
    if record.players:
        yield _header("Players", *record.players)


def _deal_headers(deal: DealRecord) -> Iterator[str]:
    yield _header("Deal", str(deal.deal_number))
    if any(deal.scores):
        yield _header("Scores", "{} {}".format(*deal.scores))
    yield _header("Seed", deal.seed.hex())
    yield _header("Commitment", deal.commitment.hex())
    if deal.server_seed is not None:
        yield _header("ServerSeed", deal.server_seed.hex())
    if deal.entropies:
        yield _header("Entropies", *[entropy.hex() for entropy in deal.entropies])
    yield _header("Result", "{} {} {}".format(deal.ending.name.lower(), *deal.points))


def _header(name: str, *values: str) -> str:
    return f"[{name} {' '.join([quote(value, chr(34)) for value in values])}]"


def _turns(record: MatchRecord, deal: DealRecord) -> Iterator[str]:
    starter = record.starter + deal.deal_number - 1
    turns: list[list[Move]] = []
    for move in deal.moves:
        if isinstance(move, DrawStock | TakePile):
            turns.append([])
        elif not turns:
            raise ValueError("this MatchRecord has no text form: its first turn does not begin with a draw")
        turns[-1].append(move)
    for number, moves in zip(count(1), turns):
        seat = (starter + number - 1) % record.seats
        yield f"{number}. {seat}: {' '.join(map(format_move, moves))}"

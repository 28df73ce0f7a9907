"""Records of finished deals: seed and moves, by which anybody can replay them to the same result."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from buraco_rules.deal import Deal, Ending, Match, Phase
from buraco_rules.events import Event
from buraco_rules.match.dealing import deal_match
from buraco_rules.match.result import match_result, next_match
from buraco_rules.match.scoring import score_deal
from buraco_rules.moves import Move
from buraco_rules.play.apply import apply
from buraco_rules.play.legal_moves import normalise_move
from buraco_rules.problems import Problem
from buraco_rules.rule_sets import RuleSet
from buraco_rules.shuffle import commitment, seed_problems
from buraco_rules.validation.positions import match_problems
from buraco_rules.violations import VIOLATION_TEXT, IllegalMove


class DealRecord(NamedTuple):
    """A finished deal."""

    deal_number: int
    """From 1."""
    scores: tuple[int, int]
    """Match scores before the deal, one a side."""
    seed: bytes
    """What shuffled: 32 bytes."""
    commitment: bytes
    """SHA-256 of the server's seed, shown before the first card."""
    moves: tuple[Move, ...]
    """Every move that stood, in order; whose each is follows from the turns."""
    ending: Ending
    points: tuple[int, int]
    """What the deal counted, one number a side."""
    server_seed: bytes | None = None
    """The server's own seed, where players added entropy to it; None: it is `seed`."""
    entropies: tuple[bytes, ...] = ()
    """What the players added, one a seat, where any of them did."""


class MatchRecord(NamedTuple):
    """Finished deals of one match, one after another."""

    rules: RuleSet
    seats: int
    target_score: int
    """0 = a match of one deal."""
    starter: int
    """The seat that started the first deal."""
    deals: tuple[DealRecord, ...]
    players: tuple[str, ...] = ()
    """Their names, one a seat, or none."""


class ReplayedMove(NamedTuple):
    """One move of a record, with the deals before and after it."""

    before: Deal
    move: Move
    after: Deal
    events: tuple[Event, ...]


def record_deal(
    dealt: Deal,
    seed: bytes,
    moves: Sequence[Move],
    *,
    server_seed: bytes | None = None,
    entropies: Sequence[bytes] = (),
) -> DealRecord:
    """Return the record of a deal that was played with these moves, undone ones left out, from `dealt` on.

    The moves are recorded as `normalise_move` returns them. Raise IllegalMove for one that the rules refuse, ValueError
    if the deal is not over then. That the seeds fit the deal is not checked.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> dealt, _ = deal_match(PRESETS_BY_ID["open"], 2, bytes(32), Match())
    >>> record_deal(dealt, bytes(32), [])
    Traceback (most recent call last):
    ValueError: only finished deals have a record
    """
    deal, normal = dealt, []
    for move in moves:
        normal.append(normalise_move(deal, move))
        deal, _ = apply(deal, move)
    if deal.phase is not Phase.OVER:
        raise ValueError("only finished deals have a record")
    return DealRecord(
        deal_number=dealt.match.deal_number,
        scores=dealt.match.scores,
        seed=seed,
        commitment=commitment(seed if server_seed is None else server_seed),
        moves=tuple(normal),
        ending=deal.ending,
        points=_points(deal),
        server_seed=server_seed,
        entropies=tuple(entropies),
    )


def _deal_again(record: MatchRecord, deal: DealRecord) -> Deal:
    """Return the deal as it was dealt. Raise ValueError for numbers of seats, deals or bytes that no deal has."""
    match = Match(deal.deal_number, deal.scores, record.starter, record.target_score)
    if record.seats in (2, 4):
        for path, problem in match_problems(match, record.seats):
            raise ValueError(f"{path}: {problem}")
    return deal_match(record.rules, record.seats, deal.seed, match)[0]


def replay_deal(record: MatchRecord, deal: DealRecord) -> Iterator[ReplayedMove]:
    """Yield the moves of a recorded deal, each with the deals before and after it.

    Raise IllegalMove once a move is reached that the rules refuse, ValueError at the start if the deal cannot be dealt.
    Seed, commitment and result are not checked: `record_problems` does.
    """
    before = _deal_again(record, deal)
    for move in deal.moves:
        after, events = apply(before, move)
        yield ReplayedMove(before, move, after, events)
        before = after


def normalise_record(record: MatchRecord) -> MatchRecord:
    """Return the record with its moves as `normalise_move` returns them.

    Raise IllegalMove if the rules refuse one, ValueError if a deal cannot be dealt.
    """
    deals = [
        deal._replace(moves=tuple([normalise_move(step.before, step.move) for step in replay_deal(record, deal)]))
        for deal in record.deals
    ]
    return record._replace(deals=tuple(deals))


def record_problems(record: MatchRecord) -> tuple[Problem, ...]:
    """Return all that is wrong with a record: seeds that do not match, illegal moves, another result than it states, a
    deal that does not follow from the one before.

    Paths are `deals[0].scores` or `deals[0].moves[5]`; of a deal only the first illegal move is reported.
    """
    return tuple([problem for index in range(len(record.deals)) for problem in _deal_problems(record, index)])


def _deal_problems(record: MatchRecord, index: int) -> Iterator[Problem]:
    deal, path = record.deals[index], f"deals[{index}]"
    server_seed = deal.seed if deal.server_seed is None else deal.server_seed
    for field, problem in seed_problems(deal.seed, deal.commitment, server_seed, deal.entropies):
        yield Problem(f"{path}.{field}", problem)
    try:
        end = _deal_again(record, deal)
    except ValueError as error:
        yield Problem(f"{path}.deal_number", str(error))
        return
    for place, move in enumerate(deal.moves):
        try:
            end, _ = apply(end, move)
        except IllegalMove as illegal:
            words = "; ".join([VIOLATION_TEXT[violation] for violation in illegal.violations])
            yield Problem(f"{path}.moves[{place}]", f"illegal: {words}")
            return
    if end.phase is not Phase.OVER:
        yield Problem(f"{path}.moves[{len(deal.moves)}]", "the deal is not over with its last move")
        return
    yield from _result_problems(record, index, end)


def _result_problems(record: MatchRecord, index: int, end: Deal) -> Iterator[Problem]:
    deal, path = record.deals[index], f"deals[{index}]"
    if deal.ending is not end.ending:
        yield Problem(f"{path}.ending", f"the deal ends otherwise: {end.ending.name.lower()}")
    if deal.points != _points(end):
        yield Problem(f"{path}.points", "the deal counts {} and {}".format(*_points(end)))
    if index + 1 == len(record.deals):
        return
    following, path = record.deals[index + 1], f"deals[{index + 1}]"
    if match_result(end) is not None:
        yield Problem(f"{path}.deal_number", "the match is over with the deal before (R10.1)")
        return
    due = next_match(end)
    if following.deal_number != due.deal_number:
        yield Problem(f"{path}.deal_number", f"deal {due.deal_number} follows here")
    if following.scores != due.scores:
        yield Problem(f"{path}.scores", "the scores after the deal before are {} and {}".format(*due.scores))


def _points(deal: Deal) -> tuple[int, int]:
    first, second = score_deal(deal).sides
    return first.total, second.total

"""Find all that is wrong with a position from elsewhere, before anything is done with it.

Positions that `apply` returns have no problem, and the rest of this package relies on what is checked here. How a
position came about is not checked where it left no trace: cards may have been dealt by hand.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final

from buraco_rules.cards import CARD_TEXT, FACES, RANK, deck
from buraco_rules.deal import HAND_SIZE, MAX_UNDO_STEPS, POTS, Deal, Ending, Match, Phase, Side, Turn, UndoStep
from buraco_rules.meld import Meld, MeldKind, card_points, is_winning_twos, ranks_taken
from buraco_rules.play.going_out import LastCard, judge_last_card
from buraco_rules.play.laying import legal_lays, turn_violation
from buraco_rules.problems import Problem
from buraco_rules.rule_sets import RuleSet, StockEnd
from buraco_rules.validation.melds import leads_to, meld_judge, meld_problem

MAX_DEAL_NUMBER: Final = 1_000_000
MAX_SCORE: Final = 1_000_000_000
"""Of a match score, either way: with a deal's score added it stays a 32-bit number."""
MAX_TARGET_SCORE: Final = 1_000_000

_DECKS: Final = {jokers: sorted(deck(jokers)) for jokers in (0, 4)}


def deal_problems(deal: Deal) -> tuple[Problem, ...]:
    """Return everything that is wrong with a position; () for one that play can reach. Paths are fields of the deal.

    Of a position whose seats or cards cannot be counted, only that is reported.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["open"], 2, bytes(32))
    >>> deal_problems(deal), deal_problems(deal._replace(seats=3))
    ((), (Problem(path='seats', problem='2 or 4 (R2.1), not 3'),))
    """
    shape = tuple(_shape(deal))
    if shape:
        return shape
    problems = list(_cards(deal))
    if problems and not set(_all_cards(deal)) <= set(FACES):
        return tuple(problems)
    melds = list(_melds(deal))
    for part in (melds, _pots(deal), _openings(deal), _phase(deal), _hands(deal)):
        problems += part
    if deal.phase is Phase.MELD and not melds:  # what may be laid and taken back is asked of sound melds only
        problems += _obligations(deal)
        problems += _undo(deal)
    return tuple(problems)


def match_problems(match: Match, seats: int) -> tuple[Problem, ...]:
    """Return what is wrong with a match of so many seats; paths are fields of the match.

    >>> match_problems(Match(starter=2), seats=2)
    (Problem(path='starter', problem='a seat, 0 to 1, not 2'),)
    """
    return tuple(_match(match, seats))


def _match(match: Match, seats: int) -> Iterator[Problem]:
    if not 0 <= match.starter < seats:
        yield Problem("starter", f"a seat, 0 to {seats - 1}, not {match.starter}")
    if not 1 <= match.deal_number <= MAX_DEAL_NUMBER:
        yield Problem("deal_number", f"1 to {MAX_DEAL_NUMBER}, not {match.deal_number}")
    for side, score in enumerate(match.scores):
        if not -MAX_SCORE <= score <= MAX_SCORE:
            yield Problem(f"scores[{side}]", f"{-MAX_SCORE} to {MAX_SCORE}, not {score}")
    if not 0 <= match.target_score <= MAX_TARGET_SCORE:
        yield Problem("target_score", f"0 to {MAX_TARGET_SCORE}, not {match.target_score}")


def _shape(deal: Deal) -> Iterator[Problem]:
    """Check the numbers that the rest of the checks count by."""
    seats = deal.seats
    if seats not in (2, 4):
        yield Problem("seats", f"2 or 4 (R2.1), not {seats}")
        return
    for path, problem in _match(deal.match, seats):
        yield Problem(f"match.{path}", problem)
    if len(deal.hands) != seats:
        yield Problem("hands", f"one for each of {seats} seats, not {len(deal.hands)}")
    if not 0 <= deal.seat_to_move < seats:
        yield Problem("seat_to_move", f"a seat, 0 to {seats - 1}, not {deal.seat_to_move}")


def _all_cards(deal: Deal) -> list[int]:
    cards = [*deal.stock, *deal.pile]
    for part in chain(deal.pots, deal.hands):
        cards += part
    for side in deal.sides:
        for meld in side.melds:
            cards += meld.cards
    return cards


def _cards(deal: Deal) -> Iterator[Problem]:
    """Check that every face is there as often as in the deck (R1.1)."""
    cards = _all_cards(deal)
    cards.sort()
    whole = _DECKS[deal.rules.jokers]
    if cards == whole:
        return
    there, due = Counter(cards), Counter(whole)
    for problem, wrong in (("missing", due - there), ("too many", there - due)):
        if wrong:
            faces = [f"{_face(card)} x{count}" if count > 1 else _face(card) for card, count in sorted(wrong.items())]
            yield Problem("", f"{problem} of the {len(whole)} cards (R1.1): {', '.join(faces)}")


def _face(card: int) -> str:
    return CARD_TEXT[card] if card in FACES else f"number {card}"


# ---- melds -------------------------------------------------------------------------------------------


def _melds(deal: Deal) -> Iterator[Problem]:
    rules = deal.rules
    judge = meld_judge(rules)
    for number, side in enumerate(deal.sides):
        for index, meld in enumerate(side.melds):
            problem = judge(meld)
            if problem is not None:
                yield Problem(f"sides[{number}].melds[{index}]", problem)
            taken = ranks_taken(rules, side.melds[:index])
            if taken and meld.kind is MeldKind.SET and RANK[meld.natural] in taken:
                yield Problem(f"sides[{number}].melds[{index}]", "a second set of a rank (R4.6)")
        won = rules.twos_buraco_wins and any([is_winning_twos(rules, meld) for meld in side.melds])
        if won and deal.ending is not Ending.TWOS_BURACO:
            yield Problem(f"sides[{number}].melds", "a buraco of 2s ends the match (R7.3)")


# ---- pots and openings -------------------------------------------------------------------------------


def _pots(deal: Deal) -> Iterator[Problem]:
    rules, pots = deal.rules, deal.pots
    for index, pot in enumerate(pots):
        if len(pot) != HAND_SIZE:
            yield Problem(f"pots[{index}]", f"a pot has {HAND_SIZE} cards (R2.1), not {len(pot)}")
    taken = sum([side.pots_taken for side in deal.sides])
    joined = rules.stock_end is StockEnd.POTS_JOIN and not pots and 0 <= taken <= POTS
    if len(pots) + taken != POTS and not joined:
        yield Problem("pots", f"{len(pots)} on the table and {taken} taken are not {POTS} (R2.1)")
    for number, side in enumerate(deal.sides):
        field = f"sides[{number}]"
        if not 0 <= side.pots_taken <= rules.pots_per_side:
            yield Problem(f"{field}.pots_taken", f"0 to {rules.pots_per_side} (R6.2), not {side.pots_taken}")
        elif side.pots_taken and rules.pot_needs_buraco and not _has_buraco(side):
            yield Problem(f"{field}.pots_taken", "a pot needs a buraco on the side's table (R6.2)")
        unplayed = side.unplayed_pots
        if not unplayed:
            continue
        if len(set(unplayed)) < len(unplayed) or not set(unplayed) <= set(range(number, deal.seats, 2)):
            yield Problem(f"{field}.unplayed_pots", "seats of the side, each once")
            continue
        if len(unplayed) > side.pots_taken:
            yield Problem(f"{field}.unplayed_pots", "more than the pots the side has taken (R9.1)")
        for seat in unplayed:
            if len(deal.hands[seat]) < HAND_SIZE:
                yield Problem(f"{field}.unplayed_pots", f"the hand of seat {seat} cannot hold a whole pot (R9.1)")


def _has_buraco(side: Side) -> bool:
    return any([meld.is_buraco for meld in side.melds])


def _openings(deal: Deal) -> Iterator[Problem]:
    """Check that what a side has to open with follows from its score and its failed attempts (R11.2)."""
    minimum = deal.rules.opening_minimum
    for number, side in enumerate(deal.sides):
        field = f"sides[{number}].opening"
        required, penalties = side.opening_required, side.opening_penalties
        if minimum is None or deal.match.scores[number] < minimum.threshold:
            if required or penalties:
                yield Problem(f"{field}_required", "no opening minimum binds this side (R11.2)")
            continue
        if penalties < 0 or (penalties % minimum.penalty if minimum.penalty else penalties):
            yield Problem(f"{field}_penalties", f"a multiple of {minimum.penalty} (R11.2), not {penalties}")
            continue
        if minimum.penalty:
            due = minimum.points + penalties // minimum.penalty * minimum.step
        else:
            due = max(required, minimum.points)
        if required not in (0, due) or (minimum.step and (due - minimum.points) % minimum.step):
            yield Problem(f"{field}_required", f"0, or {due} after these attempts (R11.2), not {required}")
            continue
        laid = sum([card_points(deal.rules, meld.cards) for meld in side.melds])
        attempting = deal.turn.opening_attempt and number == deal.seat_to_move & 1
        if not required and laid < due:
            yield Problem(f"{field}_required", f"opened with less than the minimum of {due} (R11.2)")
        elif required and laid >= required:
            yield Problem(f"{field}_required", f"0 once {required} points are on the table (R11.2)")
        elif required and laid and not attempting and deal.ending is not Ending.TWOS_BURACO:
            yield Problem(f"sides[{number}].melds", "none before the side has opened (R11.2)")
        if required and side.pots_taken:
            yield Problem(f"sides[{number}].pots_taken", "no pot before the side has opened (R11.2)")


# ---- the turn ----------------------------------------------------------------------------------------


def _phase(deal: Deal) -> Iterator[Problem]:
    rules, turn = deal.rules, deal.turn
    if not 1 <= turn.number <= rules.max_turns:
        yield Problem("turn.number", f"1 to {rules.max_turns} (R8.3), not {turn.number}")
    elif deal.seat_to_move != (deal.starter + turn.number - 1) % deal.seats:
        yield Problem("seat_to_move", f"another seat has turn {turn.number}: seat {deal.starter} started (R2.3)")
    if deal.phase is not Phase.MELD and turn != Turn(turn.number):
        yield Problem("turn", "nothing binds before the draw and after the end (R3.1)")
    if (deal.phase is Phase.OVER) != (deal.ending is not Ending.NONE):
        yield Problem("ending", "given if and only if the deal is over")
    elif deal.phase is Phase.OVER:
        yield from _ending(deal)
    elif deal.phase is Phase.DRAW:
        least = 3 if rules.stock_end is StockEnd.AT_TWO else 1
        if len(deal.stock) < least:
            yield Problem("stock", f"a turn begins with {least} cards or more in it (R8.1, R8.2)")
        if turn.number == 1 and len(deal.pile) != rules.upcard:
            yield Problem("pile", f"the deal begins with {int(rules.upcard)} cards in it (R2.2)")
        elif turn.number > 1 and not deal.pile:
            yield Problem("pile", "the turn before ended with a discard (R3.1)")


def _ending(deal: Deal) -> Iterator[Problem]:
    """Check that the deal can have ended as stated."""
    rules, side, ending = deal.rules, deal.side, deal.ending
    if ending is Ending.CLOSED:
        by_discard = deal.pile and judge_last_card(deal, side, discard=deal.pile[-1]) is LastCard.CLOSE
        if not by_discard and judge_last_card(deal, side) is not LastCard.CLOSE:
            yield Problem("ending", "the side of the seat that moved last may not close (R7)")
    elif ending is Ending.TWOS_BURACO:
        if not any([is_winning_twos(rules, meld) for meld in side.melds]):
            yield Problem("ending", "the side of the seat that moved last has no buraco of 2s that wins (R7.3)")
    elif not deal.pile:
        yield Problem("pile", "the last turn ended with a discard (R3.1)")
    if ending is Ending.STOCK:
        if rules.stock_end is StockEnd.AT_TWO and len(deal.stock) > 2:
            yield Problem("ending", "more than two cards are left in the stock (R8.1)")
        if rules.stock_end is StockEnd.POTS_JOIN and (deal.stock or deal.pots):
            yield Problem("ending", "there are cards left to draw (R8.2)")
    if ending is Ending.MAX_TURNS and deal.turn.number != rules.max_turns:
        yield Problem("ending", f"the limit is {rules.max_turns} turns (R8.3)")


def _obligations(deal: Deal) -> Iterator[Problem]:
    """Check what binds the seat to move, which has drawn."""
    rules, turn, hand = deal.rules, deal.turn, deal.hand
    locked, must_meld = turn.locked_card, turn.must_meld
    if locked and (not rules.single_card_lock or locked not in hand or deal.pile):
        yield Problem("turn.locked_card", "not the only card of the pile, taken and still in the hand (R3.3)")
    attempting = bool(deal.side.opening_required and deal.side.melds)
    if turn.opening_attempt != attempting:
        yield Problem("turn.opening_attempt", "runs if and only if a side has laid below its minimum (R11.2)")
    if must_meld and (not rules.closed_pile or must_meld not in hand or attempting):
        yield Problem("turn.must_meld", "not the top card of a closed pile, taken and still in the hand (R3.4)")
    elif must_meld and rules.single_card_lock and not deal.pile and locked != must_meld:
        yield Problem("turn.locked_card", f"the only card of the pile, {_face(must_meld)}, is locked (R3.3)")
    elif must_meld and not legal_lays(deal):
        yield Problem("turn.must_meld", "cannot be melded, so the pile cannot have been taken (R3.4)")
    if not must_meld and hand and turn_violation(deal) is not None:
        yield Problem("hands", "there is no legal move (R3.6)")


def _hands(deal: Deal) -> Iterator[Problem]:
    """Check that no hand is empty, but of the seat that ended the deal, and that hands are sorted."""
    for seat, hand in enumerate(deal.hands):
        if seat == deal.seat_to_move and deal.ending in (Ending.CLOSED, Ending.TWOS_BURACO):
            if hand and deal.ending is Ending.CLOSED:
                yield Problem(f"hands[{seat}]", "the hand of the seat that closed is empty (R7.1)")
        elif not hand:
            yield Problem(f"hands[{seat}]", "empty, but the deal was not closed by it (R6.1, R7.1)")
        if hand != tuple(sorted(hand)):
            yield Problem(f"hands[{seat}]", "not sorted")


# ---- what can be taken back --------------------------------------------------------------------------


def _undo(deal: Deal) -> Iterator[Problem]:
    """Check that every play of the turn can be taken back, newest first, to a possible position (R11.4)."""
    steps = deal.turn.undo
    if len(steps) > MAX_UNDO_STEPS:
        yield Problem("turn.undo", f"at most {MAX_UNDO_STEPS} steps, not {len(steps)}")
    if steps and (deal.turn.must_meld or deal.side.opening_required):
        yield Problem("turn.undo", "nothing can be taken back (R3.4, R11.2)")
    side, locked = deal.side, deal.turn.locked_card
    melds = list(side.melds)
    unplayed = deal.seat_to_move in side.unplayed_pots
    for index in range(len(steps) - 1, -1, -1):
        step, field = steps[index], f"turn.undo[{index}]"
        if not _reverts(deal.rules, melds, step):
            yield Problem(field, "the meld is not what this step made of the one before")
            return
        melds[step.meld : step.meld + 1] = [] if step.before is None else [step.before]
        must_meld = step.must_meld
        if must_meld and not (index == 0 and deal.rules.closed_pile and must_meld in step.cards and not deal.pile):
            yield Problem(f"{field}.must_meld", "not the only card of a closed pile, laid at once (R3.4)")
        if must_meld and deal.rules.single_card_lock:
            was_locked = step.locked_card == must_meld and not locked
        else:
            was_locked = step.locked_card == locked or (not locked and _lifts_lock(deal, step))
        if not was_locked:
            yield Problem(f"{field}.locked_card", "not the lock before the step (R3.3)")
        if unplayed and (step.cards or not step.unplayed_pot):
            yield Problem(f"{field}.unplayed_pot", "the seat has not played a card of its pot (R9.1)")
        if step.unplayed_pot and (not side.pots_taken or not (step.cards or unplayed)):
            yield Problem(f"{field}.unplayed_pot", "the seat has played a card of its pot (R9.1)")
        locked, unplayed = step.locked_card, step.unplayed_pot


def _reverts(rules: RuleSet, melds: list[Meld], step: UndoStep) -> bool:
    """Return True if the step can have made its meld from the one before, which must be possible itself."""
    if not 0 <= step.meld < len(melds) or (step.before is None and step.meld != len(melds) - 1):
        return False
    if step.before is not None and meld_problem(rules, step.before) is not None:
        return False
    return leads_to(rules, step.before, step.cards, melds[step.meld])


def _lifts_lock(deal: Deal, step: UndoStep) -> bool:
    """Return True if the step can have laid the locked card."""
    return deal.rules.single_card_lock and step.locked_card in step.cards and not deal.pile

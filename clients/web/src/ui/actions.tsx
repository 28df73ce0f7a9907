/** The buttons for what can be done now: every move can be made by them, without a pointer. */

import type { Move } from "@buraco/client/messages";
import type { Targets } from "../game/choices";
import { useTexts } from "./context";

interface Props {
  drawing: boolean;
  /** The moves with which a turn begins, where they are legal. */
  draw: Move | undefined;
  take: Move | undefined;
  /** Where the picked cards can go. */
  targets: Targets;
  /** How many cards are picked. */
  picked: number;
  /** A move is on its way. */
  busy: boolean;
  onPlay: (move: Move) => void;
  /** Play one of moves, of which the player chooses. */
  onDecide: (moves: readonly Move[]) => void;
  onClear: () => void;
  onExplain: () => void;
}

export function Actions({ drawing, draw, take, targets, picked, busy, onPlay, onDecide, onClear, onExplain }: Props) {
  const texts = useTexts();
  if (drawing) {
    return (
      <>
        {take && (
          <button type="button" class="main" disabled={busy} onClick={() => onPlay(take)}>
            {texts.text("move.take_pile")}
          </button>
        )}
        {draw && (
          <button type="button" class="main" disabled={busy} onClick={() => onPlay(draw)}>
            {texts.text("move.draw_stock")}
          </button>
        )}
      </>
    );
  }
  const places = [...targets.layOff];
  return (
    <>
      {picked > 0 && (
        <button type="button" class="quiet" onClick={onClear}>
          {texts.t("unpick")}
        </button>
      )}
      {places.slice(0, 2).map(([meld, fitting]) => (
        <button
          key={meld}
          type="button"
          class="main"
          disabled={busy}
          aria-label={texts.t("board.layOff", { number: meld + 1 })}
          onClick={() => onDecide(fitting)}
        >
          <span class="long">{texts.t("board.layOff", { number: meld + 1 })}</span>
          <span class="short">{texts.t("board.layOffShort", { number: meld + 1 })}</span>
        </button>
      ))}
      {targets.lay.length > 0 && (
        <button type="button" class="main" disabled={busy} onClick={() => onDecide(targets.lay)}>
          {texts.t("board.lay")}
        </button>
      )}
      {targets.discard && (
        <button type="button" class="main discard" disabled={busy} onClick={() => onPlay(targets.discard!)}>
          {texts.t("board.discard")}
        </button>
      )}
      {picked >= 3 && targets.lay.length === 0 && places.length === 0 && (
        <button type="button" onClick={onExplain}>
          {texts.t("board.whyNot")}
        </button>
      )}
    </>
  );
}

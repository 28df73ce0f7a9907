/** Asks where the wild goes when the picked cards can be laid in several ways. */

import { wildPlace } from "@buraco/client";
import type { Meld, Move } from "@buraco/client/messages";
import { useTexts } from "./context";
import { Dialog } from "./dialog";

interface Props {
  /** The moves that lay the same cards. */
  moves: readonly Move[];
  /** The melds of the player's side. */
  melds: readonly Meld[];
  onChoose: (move: Move) => void;
  onClose: () => void;
}

/** Ranks at the places of a run: ace low, 2 to king, ace high. */
const RANK_AT = ["", "A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"];

export function WildChoice({ moves, melds, onChoose, onClose }: Props) {
  const texts = useTexts();
  return (
    <Dialog title={texts.t("wild.title")} kind="choice" onClose={onClose}>
      <div class="list">
        {moves.map((move, index) => (
          <button key={`${index} ${wildPosition(move)}`} type="button" onClick={() => onChoose(move)}>
            {texts.text(`wild_place.${wildPlace(move, melds) ?? "MIDDLE"}`)}
            <small>{texts.t("wild.as", { rank: RANK_AT[wildPosition(move)] ?? "" })}</small>
          </button>
        ))}
      </div>
    </Dialog>
  );
}

function wildPosition(move: Move): number {
  return (
    ("wildPosition" in (move.move.value ?? {}) && (move.move.value as { wildPosition?: number }).wildPosition) || 0
  );
}

/** The middle of the table: stock, pile and pots. */

import type { View } from "@buraco/client/messages";
import { CardBack, CardFace } from "./card";
import { useTexts } from "./context";

interface Props {
  view: View;
  canDraw: boolean;
  canTake: boolean;
  canDiscard: boolean;
  over: string | undefined;
  onDraw: () => void;
  onTake: () => void;
  onDiscard: () => void;
}

export function Centre({ view, canDraw, canTake, canDiscard, over, onDraw, onTake, onDiscard }: Props) {
  const texts = useTexts();
  const closed = view.ruleSet?.closedPile ?? false;
  const pileLabel =
    view.pile.length > 0 ? texts.cardNames(closed ? view.pile.slice(-1) : view.pile) : texts.t("pile.empty");
  const pileState = [canTake && "open", canDiscard && "open", canDiscard && over === "pile" && "over"];
  return (
    <section class="centre" aria-label={texts.t("centre.label")}>
      <button type="button" class={`stock ${canDraw ? "open" : ""}`} disabled={!canDraw} onClick={onDraw}>
        {view.stockCount > 0 ? (
          <CardBack>
            <b>{view.stockCount}</b>
          </CardBack>
        ) : (
          <span class="void" />
        )}
        <small>{texts.t("stock")}</small>
        {canDraw && <span class="said">{texts.text("move.draw_stock")}</span>}
      </button>
      <button
        type="button"
        class={`pile ${pileState.filter(Boolean).join(" ")}`}
        data-drop="pile"
        aria-disabled={!(canTake || canDiscard)}
        onClick={canDiscard ? onDiscard : canTake ? onTake : undefined}
      >
        <span class="said">{pileLabel}</span>
        <span class="cards" style={{ "--count": Math.max(1, view.pile.length) }}>
          {view.pile.map((card, index) => (
            <span key={`${index} ${card}`} class="card">
              <CardFace card={card} small />
            </span>
          ))}
          {view.pile.length === 0 && <span class="void" />}
        </span>
        <small>
          {texts.t("pile")} · {view.pileCount}
        </small>
        {canTake && <span class="said">{texts.text("move.take_pile")}</span>}
      </button>
      <div class="pots">
        <span class="backs" role="img" aria-label={`${texts.t("pots")}: ${view.potCounts.join(", ") || 0}`}>
          {view.potCounts.map((count, index) => (
            // Pots have no identity of their own.
            <CardBack key={index}>
              <b>{count}</b>
            </CardBack>
          ))}
          {view.potCounts.length === 0 && <span class="void" />}
        </span>
        <small>{texts.t("pots")}</small>
      </div>
    </section>
  );
}

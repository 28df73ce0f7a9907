/** The melds of one side, in the order in which they were laid. */

import { BuracoKind, type Meld, MeldKind } from "@buraco/client/messages";
import { CardFace } from "./card";
import { useTexts } from "./context";

interface Props {
  melds: readonly Meld[];
  label: string;
  own: boolean;
  /** Melds on which the picked cards can be laid off, and whether a new one can be laid. */
  places?: ReadonlySet<number>;
  canLay?: boolean;
  /** Melds whose wild can be moved. */
  movable?: ReadonlySet<number>;
  over?: string | undefined;
  /** The meld that changed last. */
  fresh?: number | undefined;
  onLayOff?: (meld: number) => void;
  onLay?: () => void;
  onMoveWild?: (meld: number) => void;
}

export function Melds({ melds, label, own, places, canLay, movable, over, fresh, onLayOff, onLay, onMoveWild }: Props) {
  const texts = useTexts();
  return (
    <section
      class={`melds ${own ? "own" : "theirs"}`}
      aria-label={label}
      data-drop={own ? "new" : undefined}
      tabIndex={0}
    >
      <h2>{label}</h2>
      <ol>
        {melds.map((meld, index) => {
          const kind = BuracoKind[meld.buraco]?.toLowerCase();
          const open = places?.has(index);
          const place = `meld:${index}`;
          const classes = ["meld", kind, open && "open", over === place && open && "over", fresh === index && "fresh"];
          return (
            // Melds keep their places, so the index is their identity.
            <li
              key={index}
              class={classes.filter(Boolean).join(" ")}
              data-drop={own ? place : undefined}
              style={{ "--count": meld.cards.length }}
            >
              <span class="said">{meldName(texts, meld)}</span>
              <span class="cards" aria-hidden="true">
                {meld.cards.map((card, at) => (
                  <span key={`${at} ${card}`} class={`card ${at === meld.wildIndex ? "wild" : ""}`}>
                    <CardFace card={card} small />
                  </span>
                ))}
              </span>
              {meld.buraco !== BuracoKind.UNSPECIFIED && (
                <span class="chip" aria-hidden="true">
                  {texts.buraco(meld.buraco)}
                </span>
              )}
              {open && (
                <button
                  type="button"
                  class="target"
                  aria-label={texts.t("meld.layOff", { number: index + 1 })}
                  onClick={() => onLayOff?.(index)}
                />
              )}
              {movable?.has(index) && !open && (
                <button
                  type="button"
                  class="move-wild"
                  aria-label={texts.text("move.move_wild", { number: index + 1 })}
                  title={texts.text("move.move_wild", { number: index + 1 })}
                  onClick={() => onMoveWild?.(index)}
                >
                  ⇄
                </button>
              )}
            </li>
          );
        })}
        {own && (
          <li class={`slot ${canLay ? "open" : ""} ${canLay && over === "new" ? "over" : ""}`} data-drop="new">
            {canLay && (
              <button type="button" class="target" onClick={onLay}>
                {texts.t("meld.layHere")}
              </button>
            )}
          </li>
        )}
      </ol>
    </section>
  );
}

function meldName(texts: ReturnType<typeof useTexts>, meld: Meld): string {
  const kind = meld.buraco === BuracoKind.UNSPECIFIED ? "" : `, ${texts.buraco(meld.buraco)}`;
  return `${texts.text(`meld_kind.${MeldKind[meld.kind]}`)}${kind}: ${texts.cardNames(meld.cards)}`;
}

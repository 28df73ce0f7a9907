/** The finished deals of a match: score, moves, and whether the shuffle was fair. */

import { useEffect, useState } from "preact/hooks";
import { checkDeal, type FairDeal } from "../game/fair";
import type { TableSession } from "../net/session";
import { type DealRecord, Ending } from "../net/wire";
import { CardFace } from "./card";
import { useShared } from "./context";
import { Dialog } from "./dialog";
import { ScoreSheet } from "./score";

interface Props {
  session: TableSession;
  names: readonly string[];
  onClose: () => void;
}

export function Deals({ session, names, onClose }: Props) {
  const { texts, attempt } = useShared();
  const [deals, setDeals] = useState<DealRecord[]>();
  useEffect(() => {
    void attempt(async () => {
      const found: DealRecord[] = [];
      for (let more = true; more; ) {
        const page = await session.records(found.at(-1)?.dealNumber ?? 0);
        found.push(...page.deals);
        more = page.more;
        if (page.cutOff) found.push(page.cutOff);
      }
      setDeals(found);
    });
  }, [session]);
  return (
    <Dialog title={texts.t("deals.title")} kind="deals" onClose={onClose}>
      {deals === undefined ? <p class="hint">{texts.t("loading")}</p> : null}
      {deals?.length === 0 ? <p class="hint">{texts.t("deals.none")}</p> : null}
      {deals?.map((deal) => (
        <details key={deal.dealNumber} class="deal">
          <summary>
            <b>{texts.t("deal", { number: deal.dealNumber })}</b>
            <span>{deal.score?.sides.map((side) => side.total).join(" : ") ?? "–"}</span>
            <small>
              {deal.ending === Ending.UNSPECIFIED
                ? texts.t("deals.cutOff")
                : texts.text(`ending.${Ending[deal.ending]}`)}
            </small>
          </summary>
          {deal.score && <ScoreSheet score={deal.score} names={names} />}
          <Fairness deal={deal} />
          <details>
            <summary>{texts.t("deals.moves", { count: deal.moves.length })}</summary>
            <ol class="moves">
              {deal.moves.map(({ seat, move }, index) => (
                // Moves have no identity of their own.
                <li key={index}>
                  <b>{names[seat] ?? texts.seat(seat)}</b> {move ? texts.move(move) : ""}
                </li>
              ))}
            </ol>
          </details>
        </details>
      ))}
    </Dialog>
  );
}

/** Recompute the shuffle from what the service revealed, here in the browser. */
function Fairness({ deal }: { deal: DealRecord }) {
  const { texts, attempt } = useShared();
  const [found, setFound] = useState<FairDeal>();
  if (!found) {
    return (
      <p>
        <button type="button" onClick={() => attempt(async () => setFound(await checkDeal(deal)))}>
          {texts.t("fair.check")}
        </button>
      </p>
    );
  }
  const line = (good: boolean, key: "fair.committed" | "fair.mixed") => (
    <li class={good ? "good" : "bad"}>
      {good ? "✓" : "✗"} {texts.t(key)}
    </li>
  );
  return (
    <div class="fair" role="status">
      <ul>
        {line(found.committed, "fair.committed")}
        {line(found.mixed, "fair.mixed")}
      </ul>
      <p class="hint">{texts.t("fair.deck")}</p>
      <div class="deck" role="img" aria-label={texts.t("fair.deck")}>
        {[...found.deck].reverse().map((card, index) => (
          // A deck has two of each card.
          <CardFace key={index} card={card} small />
        ))}
      </div>
    </div>
  );
}

/** The finished deals of a match: score, moves, and whether the shuffle was fair. */

import { type DealCheck, verifyDeal } from "@buraco/client";
import { type DealRecord, Ending } from "@buraco/client/messages";
import { useEffect, useState } from "preact/hooks";
import type { KnownDeal } from "../game/state";
import { keptEntropy } from "../net/keep";
import type { TableSession } from "../net/session";
import { useShared } from "./context";
import { Dialog } from "./dialog";
import { ScoreSheet } from "./score";

interface Props {
  session: TableSession;
  names: readonly string[];
  known: ReadonlyMap<number, KnownDeal>;
  isOver: boolean;
  onClose: () => void;
}

export function Deals({ session, names, known, isOver, onClose }: Props) {
  const { texts, attempt } = useShared();
  const entropy = keptEntropy(session.tableId);
  const [deals, setDeals] = useState<DealRecord[]>();
  useEffect(() => {
    void attempt(async () => setDeals(await session.deals(isOver)));
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
          <Fairness deal={deal} seat={session.seat} entropy={entropy} known={known.get(deal.dealNumber)} />
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

interface FairnessProps {
  deal: DealRecord;
  seat: number | undefined;
  entropy: Uint8Array | undefined;
  known: KnownDeal | undefined;
}

/** Recompute the shuffle from what the service revealed, here in the browser, and compare it with what was seen. */
function Fairness({ deal, seat, entropy, known }: FairnessProps) {
  const { texts } = useShared();
  const [found, setFound] = useState<DealCheck>();
  if (!found) {
    const check = () => {
      const hand = known && known.hand.length > 0 && seat !== undefined ? known.hand : undefined;
      setFound(verifyDeal(deal, { seat, entropy, commitment: known?.commitment, hand }));
    };
    return (
      <p>
        <button type="button" onClick={check}>
          {texts.t("fair.check")}
        </button>
      </p>
    );
  }
  const { cards } = found;
  return (
    <div class="fair" role="status">
      <p class={found.isFair ? "good" : "bad"}>
        <b>{texts.t(found.isFair ? "fair.good" : "fair.bad")}</b>
      </p>
      <ul>
        {found.problems.map((problem) => (
          <li key={problem} class="bad" lang="en">
            {problem}
          </li>
        ))}
      </ul>
      <p class="hint">{texts.t(known ? "fair.seen" : "fair.unseen")}</p>
      {cards && (
        <dl class="dealt">
          {cards.hands.map((hand, at) => (
            <div key={`${at} ${hand.join()}`}>
              <dt>{names(at)}</dt>
              <dd>{texts.cards(hand)}</dd>
            </div>
          ))}
          {cards.pots.map((pot, at) => (
            <div key={`${at} ${pot.join()}`}>
              <dt>{texts.t("pots")}</dt>
              <dd>{texts.cards(pot)}</dd>
            </div>
          ))}
          <div>
            <dt>{texts.t("stock")}</dt>
            <dd>{texts.cards([...cards.stock].reverse())}</dd>
          </div>
        </dl>
      )}
    </div>
  );

  function names(at: number): string {
    return texts.seat(at);
  }
}

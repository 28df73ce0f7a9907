/** The score of a deal, line by line: to be confirmed, or looked at in the history. */

import {
  BuracoKind,
  type DealScore,
  type ScoreLine,
  ScoreLineKind,
  type SideScore,
  type Table,
} from "@buraco/client/messages";
import { useTexts } from "./context";
import { Dialog } from "./dialog";
import { minutes } from "./players";

export function sideName(names: readonly string[], side: number): string {
  return names.filter((_, seat) => seat % 2 === side).join(" & ");
}

export function ScoreSheet({ score, names }: { score: DealScore; names: readonly string[] }) {
  const texts = useTexts();
  return (
    <div class="sheets">
      {score.sides.map((side) => (
        <table key={side.side} class={`sheet side-${side.side}`}>
          <caption>{sideName(names, side.side)}</caption>
          <tbody>
            {side.lines.map((line, index) => (
              // Lines have no identity of their own.
              <tr key={index} class={ScoreLineKind[line.kind]?.toLowerCase()}>
                <th scope="row">
                  {lineTitle(texts, line, names)}
                  {lineCards(texts, line, side)}
                </th>
                <td>{signed(line.points)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{texts.t("score.total")}</th>
              <td>{signed(side.total)}</td>
            </tr>
            <tr class="match">
              <th scope="row">{texts.t("score.match")}</th>
              <td>{side.matchTotal}</td>
            </tr>
          </tfoot>
        </table>
      ))}
    </div>
  );
}

function lineTitle(texts: ReturnType<typeof useTexts>, line: ScoreLine, names: readonly string[]): string {
  if (line.kind === ScoreLineKind.BURACO && line.buraco !== BuracoKind.UNSPECIFIED) return texts.buraco(line.buraco);
  const title = texts.text(`score_line_kind.${ScoreLineKind[line.kind]}`);
  return line.seat === undefined ? title : `${title} · ${names[line.seat] ?? texts.seat(line.seat)}`;
}

function lineCards(texts: ReturnType<typeof useTexts>, line: ScoreLine, side: SideScore) {
  const meld = line.kind === ScoreLineKind.MELD_CARDS && line.meld !== undefined ? side.melds[line.meld] : undefined;
  return meld ? <small>{texts.cards(meld.cards)}</small> : null;
}

function signed(points: number): string {
  return points < 0 ? `−${-points}` : `${points}`;
}

interface Props {
  dealNumber: number;
  score: DealScore;
  names: readonly string[];
  table: Table | undefined;
  seat: number | undefined;
  /** Milliseconds until the next deal comes in any case. */
  remaining: number | undefined;
  onConfirm: () => void;
  onClose: () => void;
}

export function ScoreWindow({ dealNumber, score, names, table, seat, remaining, onConfirm, onClose }: Props) {
  const texts = useTexts();
  const awaiting = table?.awaitingConfirmation?.dealNumber === dealNumber ? table.awaitingConfirmation : undefined;
  const confirmed = seat !== undefined && awaiting?.confirmedSeats.includes(seat);
  const missing = names.filter((_, at) => awaiting && !awaiting.confirmedSeats.includes(at));
  return (
    <Dialog title={texts.t("score.title", { number: dealNumber })} kind="score" onClose={onClose}>
      <ScoreSheet score={score} names={names} />
      <footer>
        {awaiting && (
          <p class="hint">
            {confirmed ? texts.t("score.waiting", { names: missing.join(", ") }) : null}
            {remaining !== undefined ? ` ${texts.t("score.next", { time: minutes(remaining) })}` : null}
          </p>
        )}
        <button
          type="button"
          class="main"
          disabled={Boolean(confirmed)}
          onClick={() => (awaiting && seat !== undefined ? onConfirm() : onClose())}
        >
          {texts.t(awaiting && seat !== undefined ? "score.confirm" : "close")}
        </button>
      </footer>
    </Dialog>
  );
}

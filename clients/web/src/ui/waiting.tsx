/** A table that waits for players: seats, partners, and the link to invite others. */

import { type Table, TableAccess } from "@buraco/client/messages";
import { useState } from "preact/hooks";
import { keptCode, keptPlayer } from "../net/keep";
import type { TableSession } from "../net/session";
import { useShared } from "./context";
import { tableLink } from "./route";
import { SignIn } from "./sign-in";

interface Props {
  table: Table;
  session: TableSession;
  code: string;
}

export function Waiting({ table, session, code }: Props) {
  const { texts, attempt, notify } = useShared();
  const [invitation, setInvitation] = useState(code);
  const [asked, setAsked] = useState<number>();
  const own = session.seat;
  const sideOf = (seat: number) => texts.t("waiting.side", { side: (seat % 2) + 1 });
  const needsCode = table.options?.access === TableAccess.INVITATION && own === undefined;
  const knownCode = keptCode(table.id) ?? code;
  const link = `${location.origin}${location.pathname}${tableLink(table.id, knownCode)}`;
  const isCreator = Boolean(table.creatorPlayerId && table.creatorPlayerId === keptPlayer()?.id);
  const sit = (seat: number) => {
    const name = keptPlayer()?.name;
    if (!name) return setAsked(seat);
    void attempt(() => session.join(name, seat, invitation));
  };
  const copy = async () => {
    await navigator.clipboard?.writeText(link);
    notify(texts.t("waiting.copied"));
  };
  return (
    <section class="waiting" aria-labelledby="waiting-title">
      <h2 id="waiting-title">{texts.t("waiting.title")}</h2>
      <p class="hint">
        {table.ruleSet?.displayName} ·{" "}
        {table.targetScore ? texts.t("points", { count: table.targetScore }) : texts.t("oneDeal")}
        {table.stake > 0n ? ` · ${texts.t("stake", { amount: String(table.stake) })}` : ""}
      </p>
      {needsCode && (
        <label>
          {texts.t("waiting.code")}
          <input value={invitation} onInput={(event) => setInvitation(event.currentTarget.value)} autocomplete="off" />
        </label>
      )}
      <ul class="places">
        {[...table.seats]
          .sort((a, b) => (a.seat % 2) - (b.seat % 2) || a.seat - b.seat)
          .map((seat) => (
            <li key={seat.seat} class={`side-${seat.seat % 2} ${seat.seat === own ? "own" : ""}`}>
              <small>{sideOf(seat.seat)}</small>
              {seat.playerName ? (
                <b>{seat.playerName}</b>
              ) : seat.botLevel ? (
                <span>{texts.t("waiting.bot", { level: seat.botLevel })}</span>
              ) : own === undefined ? (
                <button type="button" class="main" onClick={() => sit(seat.seat)}>
                  {texts.t("waiting.sit", { number: seat.seat + 1 })}
                </button>
              ) : (
                <span class="hint">{texts.t("seat.free")}</span>
              )}
              {isCreator && seat.playerName && seat.seat !== own && (
                <button type="button" class="quiet" onClick={() => attempt(() => session.removePlayer(seat.seat))}>
                  {texts.t("waiting.remove")}
                </button>
              )}
            </li>
          ))}
      </ul>
      <div class="invite">
        <label>
          {texts.t("waiting.link")}
          <input readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
        </label>
        <button type="button" onClick={copy}>
          {texts.t("waiting.copy")}
        </button>
      </div>
      {knownCode && (
        <p>
          {texts.t("waiting.code")} <b class="code">{knownCode}</b>
        </p>
      )}
      {own !== undefined && (
        <button
          type="button"
          class="quiet"
          onClick={() =>
            attempt(async () => {
              await session.leave();
              location.hash = "#/";
            })
          }
        >
          {texts.t("leave")}
        </button>
      )}
      {asked !== undefined && (
        <SignIn
          onClose={() => setAsked(undefined)}
          onDone={(name) => {
            setAsked(undefined);
            void attempt(() => session.join(name, asked, invitation));
          }}
        />
      )}
    </section>
  );
}

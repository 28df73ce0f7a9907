/** A new table, with all that its creator can choose. */

import { AbsencePolicy, ChatMode, type RuleSet, SpectatorPolicy, TableAccess } from "@buraco/client/messages";
import { useState } from "preact/hooks";
import { canBeAbsent, DEFAULT_LEVEL, describeLevel, LEVELS, optionsOf } from "../game/options";
import { client, newEntropy } from "../net/client";
import { keepCode, keepSeat, keptPlayer } from "../net/keep";
import { useShared } from "./context";
import { Dialog } from "./dialog";
import { tableLink } from "./route";

const MORE_TARGETS = [0, 1005, 1505, 2005, 3005];

export function CreateTable({ presets, onClose }: { presets: readonly RuleSet[]; onClose: () => void }) {
  const { texts, attempt } = useShared();
  const [busy, setBusy] = useState(false);
  const [chosen, setChosen] = useState({
    rules: "",
    seats: 4,
    target: -1,
    stake: 0,
    access: TableAccess.PUBLIC,
    players: "",
    spectators: SpectatorPolicy.ALLOWED,
    delay: 0,
    turn: 60,
    reserve: 120,
    confirmation: 60,
    chat: ChatMode.ALL,
    bots: [] as readonly string[],
    absence: AbsencePolicy.WAIT,
    absentAfter: 0,
    substitute: DEFAULT_LEVEL,
  });
  // The list may come after the window.
  const preset = presets.find((rule) => rule.id === chosen.rules) ?? presets[0];
  const targets = [...new Set([...(preset?.usualTargets ?? []), ...MORE_TARGETS])];
  const target = chosen.target >= 0 ? chosen.target : (targets[0] ?? 0);
  const set = (part: Partial<typeof chosen>) => setChosen({ ...chosen, ...part });

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await attempt(async () => {
      const { table, invitationCode } = await client.createTable({
        rules: preset?.id ?? "",
        seats: chosen.seats,
        targetScore: target,
        stake: BigInt(chosen.stake),
        options: optionsOf(chosen),
      });
      if (invitationCode) keepCode(table.id, invitationCode);
      const entropy = newEntropy();
      const seat = await client.joinTable(table.id, { playerName: keptPlayer()?.name, entropy, invitationCode });
      keepSeat(table.id, seat.save(), entropy);
      location.hash = tableLink(table.id);
    });
    setBusy(false);
  };

  const seconds = (
    key: "turn" | "reserve" | "confirmation" | "delay" | "absentAfter",
    label: Parameters<typeof texts.t>[0],
    choices: number[],
  ) => (
    <label>
      {texts.t(label)}
      <select value={chosen[key]} onChange={(event) => set({ [key]: Number(event.currentTarget.value) })}>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice === 0
              ? texts.t("create.none")
              : choice < 120
                ? texts.t("seconds", { count: choice })
                : texts.t("minutes", { count: choice / 60 })}
          </option>
        ))}
      </select>
    </label>
  );
  const choice = <T extends number>(
    key: "access" | "spectators" | "chat" | "absence",
    label: Parameters<typeof texts.t>[0],
    options: [T, Parameters<typeof texts.t>[0]][],
  ) => (
    <label>
      {texts.t(label)}
      <select value={chosen[key]} onChange={(event) => set({ [key]: Number(event.currentTarget.value) })}>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {texts.t(name)}
          </option>
        ))}
      </select>
    </label>
  );
  const levels = (key: string | number, label: string, value: string, choose: (level: string) => void) => (
    <label key={key} class="wide">
      {label}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {LEVELS.map((level) => (
          <option key={level} value={level}>
            {describeLevel(level, texts)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Dialog title={texts.t("lobby.create")} kind="create" onClose={onClose}>
      <form class="fields two" onSubmit={submit}>
        <label class="wide">
          {texts.t("create.rules")}
          <select value={preset?.id} onChange={(event) => set({ rules: event.currentTarget.value, target: -1 })}>
            {presets.map((rule) => (
              <option key={rule.id} value={rule.id}>
                {rule.displayName}
              </option>
            ))}
          </select>
        </label>
        <label>
          {texts.t("create.seats")}
          <select
            value={chosen.seats}
            onChange={(event) => {
              const seats = Number(event.currentTarget.value);
              set({ seats, bots: chosen.bots.slice(0, seats - 1) });
            }}
          >
            <option value={4}>4</option>
            <option value={2}>2</option>
          </select>
        </label>
        <label>
          {texts.t("create.target")}
          <select value={target} onChange={(event) => set({ target: Number(event.currentTarget.value) })}>
            {targets.map((points) => (
              <option key={points} value={points}>
                {points ? texts.t("points", { count: points }) : texts.t("oneDeal")}
              </option>
            ))}
          </select>
        </label>
        <label>
          {texts.t("create.stake")}
          <input
            type="number"
            min={0}
            max={1e12}
            value={chosen.stake}
            onInput={(event) => set({ stake: Number(event.currentTarget.value) })}
          />
        </label>
        <label>
          {texts.t("create.bots")}
          <select
            value={chosen.bots.length}
            onChange={(event) => {
              const length = Number(event.currentTarget.value);
              set({ bots: Array.from({ length }, (_, at) => chosen.bots[at] ?? DEFAULT_LEVEL) });
            }}
          >
            {Array.from({ length: chosen.seats }, (_, count) => (
              <option key={count} value={count}>
                {count}
              </option>
            ))}
          </select>
        </label>
        {chosen.bots.map((level, at) =>
          // Bots have no identity of their own.
          levels(at, texts.t("create.levelOf", { number: at + 1 }), level, (chosenLevel) =>
            set({ bots: chosen.bots.with(at, chosenLevel) }),
          ),
        )}
        {seconds("turn", "create.turn", [0, 15, 30, 60, 90, 300])}
        {chosen.turn > 0 ? seconds("reserve", "create.reserve", [0, 30, 60, 120, 300, 600]) : null}
        {seconds("confirmation", "create.confirmation", [0, 15, 30, 60, 300])}
        {choice("access", "create.access", [
          [TableAccess.PUBLIC, "access.public"],
          [TableAccess.INVITATION, "access.invitation"],
          [TableAccess.PLAYERS, "access.players"],
        ])}
        {chosen.access === TableAccess.PLAYERS && (
          <label class="wide">
            {texts.t("create.players")}
            <input required value={chosen.players} onInput={(event) => set({ players: event.currentTarget.value })} />
          </label>
        )}
        {choice("spectators", "create.spectators", [
          [SpectatorPolicy.ALLOWED, "spectators.allowed"],
          [SpectatorPolicy.NONE, "spectators.none"],
        ])}
        {chosen.spectators === SpectatorPolicy.ALLOWED ? seconds("delay", "create.delay", [0, 15, 60, 300]) : null}
        {choice("chat", "chat", [
          [ChatMode.ALL, "chat.all"],
          [ChatMode.PHRASES, "chat.phrases"],
          [ChatMode.OFF, "chat.off"],
        ])}
        {seconds("absentAfter", "create.absentAfter", [0, 30, 60, 300])}
        {canBeAbsent(chosen) &&
          choice("absence", "create.absence", [
            [AbsencePolicy.WAIT, "absence.wait"],
            [AbsencePolicy.BOT, "absence.bot"],
          ])}
        {canBeAbsent(chosen) &&
          chosen.absence === AbsencePolicy.BOT &&
          levels("substitute", texts.t("create.substitute"), chosen.substitute, (substitute) => set({ substitute }))}
        <button type="submit" class="main wide" disabled={busy || !preset}>
          {texts.t("create.go")}
        </button>
      </form>
    </Dialog>
  );
}

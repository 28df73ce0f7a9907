/** The lobby: who plays where, tables to join or watch, and new ones. */

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type RuleSet, type Table, TableAccess, TableState } from "@buraco/client/messages";
import { useEffect, useState } from "preact/hooks";
import { client, newEntropy } from "../net/client";
import { keepSeat, keptPlayer, keptSeat } from "../net/keep";
import { credits } from "../net/player";
import { useShared } from "./context";
import { CreateTable } from "./create";
import { Icon } from "./icon";
import { tableLink } from "./route";
import { SignIn } from "./sign-in";

/** Milliseconds between two looks at the list. */
const REFRESH = 4000;
const MOST_SHOWN = 200;
const DEFAULT_RULES = "buraco-plus-classic";

interface Filter {
  state: TableState;
  ruleSet: string;
  seats: number;
  free: boolean;
  mine: boolean;
}

export function Lobby({ onSettings }: { onSettings: () => void }) {
  const { texts, attempt } = useShared();
  const [player, setPlayer] = useState(keptPlayer());
  const [presets, setPresets] = useState<RuleSet[]>([]);
  const [filter, setFilter] = useState<Filter>({ state: 0, ruleSet: "", seats: 0, free: false, mine: false });
  const [list, setList] = useState<Table[]>();
  const [available, setAvailable] = useState<bigint>();
  const [open, setOpen] = useState<"create" | "sign-in">();
  const [then, setThen] = useState<() => void>();
  const [link, setLink] = useState("");

  useEffect(() => {
    void attempt(async () => setPresets(await client.listRuleSets()));
  }, []);
  useEffect(() => {
    let ended = false;
    const look = async () => {
      if (document.hidden) return;
      const found: Table[] = [];
      const free = filter.free ? 1 : undefined;
      const asked = {
        state: filter.state,
        ruleSetId: filter.ruleSet,
        freeSeats: free,
        mine: filter.mine,
        pageSize: 100,
      };
      for await (const table of client.listTables(asked)) {
        if (!filter.seats || table.seats.length === filter.seats) found.push(table);
        if (found.length >= MOST_SHOWN) break;
      }
      if (ended) return;
      setList(found);
      // Without a stake at any table the service may keep no accounts at all. A settlement comes some time after its match.
      if (found.some((table) => table.stake > 0n)) setAvailable(await credits());
    };
    void attempt(look);
    // A look that fails is followed by the next one; the first has shown why.
    const timer = setInterval(() => void look().catch(() => undefined), REFRESH);
    return () => {
      ended = true;
      clearInterval(timer);
    };
  }, [filter, player]);

  /** Do what needs a name, after asking for it. */
  const named = (action: () => void) => {
    if (keptPlayer()?.name) return action();
    setThen(() => action);
    setOpen("sign-in");
  };
  const quickJoin = () =>
    attempt(async () => {
      const entropy = newEntropy();
      const settings = { rules: filter.ruleSet || DEFAULT_RULES, seats: filter.seats || 4 };
      const seat = await client.quickJoin(settings, { playerName: keptPlayer()?.name, entropy });
      keepSeat(seat.tableId, seat.save(), entropy);
      location.hash = tableLink(seat.tableId);
    });
  const follow = (event: Event) => {
    event.preventDefault();
    const text = link.trim();
    const hash = text.includes("#") ? text.slice(text.indexOf("#")) : tableLink(text);
    if (text) location.hash = hash;
  };

  const change = (part: Partial<Filter>) => setFilter({ ...filter, ...part });
  const isFiltered = Boolean(filter.state || filter.ruleSet || filter.seats || filter.free || filter.mine);
  const shown = list && [...list].sort((a, b) => a.state - b.state || changedAt(b) - changedAt(a));
  return (
    <div class="lobby">
      <header class="bar">
        <h1>
          <img src="/icon.svg" alt="" width="28" height="28" /> Buraco
        </h1>
        <span class="grow" />
        {available !== undefined && <span class="credit">{texts.t("credit", { amount: String(available) })}</span>}
        <button type="button" class="quiet" onClick={() => setOpen("sign-in")}>
          {player?.name || texts.t("signIn")}
        </button>
        <button type="button" class="quiet icon" aria-label={texts.t("settings")} onClick={onSettings}>
          <Icon name="settings" />
        </button>
      </header>
      <main>
        <section class="start" aria-label={texts.t("lobby.start")}>
          <button type="button" class="main" onClick={() => named(quickJoin)}>
            {texts.t("lobby.quick")}
          </button>
          <button type="button" onClick={() => named(() => setOpen("create"))}>
            {texts.t("lobby.create")}
          </button>
          <form class="line" onSubmit={follow}>
            <input
              value={link}
              aria-label={texts.t("lobby.link")}
              placeholder={texts.t("lobby.link")}
              onInput={(event) => setLink(event.currentTarget.value)}
            />
            <button type="submit">{texts.t("lobby.open")}</button>
          </form>
        </section>
        <section aria-labelledby="tables">
          <div class="filters">
            <h2 id="tables">{texts.t("lobby.tables")}</h2>
            <span class="grow" />
            <label>
              <span class="said">{texts.t("filter.state")}</span>
              <select value={filter.state} onChange={(event) => change({ state: Number(event.currentTarget.value) })}>
                <option value={0}>{texts.t("filter.allStates")}</option>
                {[TableState.WAITING, TableState.PLAYING, TableState.FINISHED].map((state) => (
                  <option key={state} value={state}>
                    {texts.text(`table_state.${TableState[state]}`)}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <span class="said">{texts.t("create.rules")}</span>
              <select value={filter.ruleSet} onChange={(event) => change({ ruleSet: event.currentTarget.value })}>
                <option value="">{texts.t("filter.allRules")}</option>
                {presets.map((preset) => (
                  <option key={preset.id} value={preset.id}>
                    {preset.displayName}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <span class="said">{texts.t("create.seats")}</span>
              <select value={filter.seats} onChange={(event) => change({ seats: Number(event.currentTarget.value) })}>
                <option value={0}>2 + 4</option>
                <option value={2}>2</option>
                <option value={4}>4</option>
              </select>
            </label>
            <label class="check">
              <input
                type="checkbox"
                checked={filter.free}
                onChange={(event) => change({ free: event.currentTarget.checked })}
              />
              {texts.t("filter.free")}
            </label>
            {player?.token && (
              <label class="check">
                <input
                  type="checkbox"
                  checked={filter.mine}
                  onChange={(event) => change({ mine: event.currentTarget.checked })}
                />
                {texts.t("filter.mine")}
              </label>
            )}
          </div>
          {shown === undefined && <p class="hint">{texts.t("loading")}</p>}
          {shown?.length === 0 && (isFiltered ? <p class="hint">{texts.t("lobby.none")}</p> : <Empty />)}
          <ul class="tables">
            {shown?.map((table) => (
              <li key={table.id}>
                <TableEntry table={table} />
              </li>
            ))}
          </ul>
        </section>
      </main>
      {open === "create" && <CreateTable presets={presets} onClose={() => setOpen(undefined)} />}
      {open === "sign-in" && (
        <SignIn
          onClose={() => setOpen(undefined)}
          onDone={() => {
            setPlayer(keptPlayer());
            setOpen(undefined);
            then?.();
            setThen(undefined);
          }}
        />
      )}
    </div>
  );
}

/** What a lobby without any table shows. */
function Empty() {
  const { texts } = useShared();
  return (
    <div class="empty">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <p>
        <b>{texts.t("lobby.empty")}</b>
      </p>
      <p class="hint">{texts.t("lobby.emptyHint")}</p>
    </div>
  );
}

function changedAt(table: Table): number {
  return table.updatedAt ? timestampMs(table.updatedAt) : 0;
}

function TableEntry({ table }: { table: Table }) {
  const { texts } = useShared();
  const free = table.seats.filter((seat) => !seat.playerName && !seat.botLevel).length;
  const seated = keptSeat(table.id) !== undefined && table.state !== TableState.FINISHED;
  const action = seated ? "lobby.back" : table.state !== TableState.FINISHED && free > 0 ? "lobby.join" : "lobby.watch";
  const access = table.options?.access ?? TableAccess.PUBLIC;
  return (
    <a class={`entry ${seated ? "seated" : ""}`} href={tableLink(table.id)}>
      <span class="what">
        <b>{table.ruleSet?.displayName}</b>
        <small>
          {texts.text(`table_state.${TableState[table.state]}`)}
          {" · "}
          {table.targetScore ? texts.t("points", { count: table.targetScore }) : texts.t("oneDeal")}
          {table.stake > 0n ? ` · ${texts.t("stake", { amount: String(table.stake) })}` : ""}
          {access > TableAccess.PUBLIC
            ? ` · ${texts.t(access === TableAccess.INVITATION ? "access.invitation" : "access.players")}`
            : ""}
        </small>
      </span>
      <span class="seats">
        {table.seats.map((seat) => (
          <span key={seat.seat} class={`side-${seat.seat % 2} ${seat.playerName ? "" : "free"}`}>
            {seat.playerName || (seat.botLevel ? texts.t("seat.bot") : texts.t("seat.free"))}
          </span>
        ))}
      </span>
      {table.match?.scores.length === 2 && table.state !== TableState.WAITING && (
        <span class="scores">{table.match.scores.join(" : ")}</span>
      )}
      <span class="go">{texts.t(action)}</span>
    </a>
  );
}

/** The page: its language and look, and which of lobby and table is shown. */

import { BuracoError } from "@buraco/client";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { languageFor, PageTexts } from "../game/texts";
import { keepPreferences, keptPreferences, type Preferences } from "../net/keep";
import { CardShapes } from "./card";
import { type Shared, SharedContext } from "./context";
import { Lobby } from "./lobby";
import { useRoute } from "./route";
import { Settings } from "./settings";
import { TablePage } from "./table";

/** Milliseconds for which a message is shown. */
const SHOWN = 5000;

export function App() {
  const [preferences, setPreferences] = useState(keptPreferences());
  const [message, setMessage] = useState("");
  const [settings, setSettings] = useState(false);
  const route = useRoute();
  const texts = useMemo(() => new PageTexts(languageFor(preferences.language)), [preferences.language]);

  useEffect(() => {
    const root = document.documentElement;
    root.lang = texts.language;
    root.dataset.theme = preferences.theme;
    root.classList.toggle("four-colours", preferences.fourColours);
  }, [texts, preferences]);
  const toast = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Shown again, so that it is above a window that was opened meanwhile.
    toast.current?.hidePopover?.();
    if (!message) return;
    toast.current?.showPopover?.();
    const timer = setTimeout(() => setMessage(""), SHOWN);
    return () => clearTimeout(timer);
  }, [message]);

  const prefer = useCallback((change: Partial<Preferences>) => {
    setPreferences((before) => {
      const after = { ...before, ...change };
      keepPreferences(after);
      return after;
    });
  }, []);
  const shared = useMemo<Shared>(
    () => ({
      texts,
      preferences,
      prefer,
      notify: setMessage,
      attempt: async (call) => {
        try {
          await call();
          return true;
        } catch (thrown) {
          setMessage(thrown instanceof BuracoError ? texts.reason(thrown) : String(thrown));
          return false;
        }
      },
    }),
    [texts, preferences, prefer],
  );
  return (
    <SharedContext.Provider value={shared}>
      <CardShapes />
      {route.table ? (
        <TablePage key={route.table} id={route.table} code={route.code} onSettings={() => setSettings(true)} />
      ) : (
        <Lobby onSettings={() => setSettings(true)} />
      )}
      {settings && <Settings onClose={() => setSettings(false)} />}
      <div ref={toast} class="toast-place" popover="manual" role="status" aria-live="polite">
        {message && (
          <p class="toast">
            <span>{message}</span>
          </p>
        )}
      </div>
    </SharedContext.Provider>
  );
}

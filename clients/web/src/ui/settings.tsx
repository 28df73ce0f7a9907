/** How the player likes the table: language, light or dark, colours of the suits. */

import { languages } from "@buraco/client";
import type { Preferences } from "../net/keep";
import { useShared } from "./context";
import { Dialog } from "./dialog";

export function Settings({ onClose }: { onClose: () => void }) {
  const { texts, preferences, prefer } = useShared();
  return (
    <Dialog title={texts.t("settings")} kind="settings" onClose={onClose}>
      <div class="fields">
        <label>
          {texts.t("settings.language")}
          <select value={texts.language} onChange={(event) => prefer({ language: event.currentTarget.value })}>
            {Object.entries(languages()).map(([code, name]) => (
              <option key={code} value={code} lang={code}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          {texts.t("settings.theme")}
          <select
            value={preferences.theme}
            onChange={(event) => prefer({ theme: event.currentTarget.value as Preferences["theme"] })}
          >
            {(["system", "light", "dark"] as const).map((theme) => (
              <option key={theme} value={theme}>
                {texts.t(`settings.theme.${theme}`)}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={preferences.fourColours}
            onChange={(event) => prefer({ fourColours: event.currentTarget.checked })}
          />
          {texts.t("settings.fourColours")}
        </label>
      </div>
    </Dialog>
  );
}

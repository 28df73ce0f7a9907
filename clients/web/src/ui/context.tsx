/** What all components share: the texts of the player's language, and the preferences. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PageTexts } from "../game/texts";
import type { Preferences } from "../net/keep";

export interface Shared {
  texts: PageTexts;
  preferences: Preferences;
  prefer: (change: Partial<Preferences>) => void;
  /** Show a short message for some seconds. */
  notify: (message: string) => void;
  /** Run a call to the service, and show why it failed if it does. */
  attempt: (call: () => Promise<unknown>) => Promise<boolean>;
}

export const SharedContext = createContext<Shared | undefined>(undefined);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error("no SharedContext");
  return shared;
}

export function useTexts(): PageTexts {
  return useShared().texts;
}

/** Asks a player for a name. */

import { useState } from "preact/hooks";
import { keptPlayer } from "../net/keep";
import { signIn } from "../net/player";
import { useShared } from "./context";
import { Dialog } from "./dialog";

export function SignIn({ onDone, onClose }: { onDone: (name: string) => void; onClose: () => void }) {
  const { texts, attempt } = useShared();
  const [name, setName] = useState(keptPlayer()?.name ?? "");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    setBusy(true);
    if (await attempt(() => signIn(name.trim()))) onDone(name.trim());
    setBusy(false);
  };
  return (
    <Dialog title={texts.t("signIn.title")} kind="sign-in" onClose={onClose}>
      <form class="fields" onSubmit={submit}>
        <label>
          {texts.t("signIn.name")}
          <input
            value={name}
            required
            maxLength={64}
            autocomplete="nickname"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <p class="hint">{texts.t("signIn.hint")}</p>
        <button type="submit" class="main" disabled={busy}>
          {texts.t("signIn.go")}
        </button>
      </form>
    </Dialog>
  );
}

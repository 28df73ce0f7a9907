/** A modal window, or a sheet on a small screen: the browser's own dialog, which keeps the focus inside. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useTexts } from "./context";
import { Icon } from "./icon";

interface Props {
  title: string;
  kind?: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, kind = "", onClose, children }: Props) {
  const texts = useTexts();
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${kind}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" class="quiet icon" aria-label={texts.t("close")} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="content">{children}</div>
    </dialog>
  );
}

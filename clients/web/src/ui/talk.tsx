/** The log of the table, and the chat. */

import { ChatAudience, type ChatMessage, ChatMode } from "@buraco/client/messages";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Line } from "../game/state";
import { useTexts } from "./context";

export function Log({ lines, names }: { lines: readonly Line[]; names: readonly string[] }) {
  const texts = useTexts();
  const end = useEnd(lines.length);
  return (
    <ol class="log" ref={end} tabIndex={0} aria-label={texts.t("log")}>
      {lines.map(({ key, event }) => {
        const text = texts.event(event, names);
        return text ? (
          <li key={key} class={event.event.case}>
            {text}
          </li>
        ) : null;
      })}
    </ol>
  );
}

interface ChatProps {
  messages: readonly ChatMessage[];
  seat: number | undefined;
  mode: ChatMode;
  hasPartner: boolean;
  onSay: (content: { text: string } | { phrase: string }, partner: boolean) => void;
}

export function Chat({ messages, seat, mode, hasPartner, onSay }: ChatProps) {
  const texts = useTexts();
  const end = useEnd(messages.length);
  const [partner, setPartner] = useState(false);
  const [text, setText] = useState("");
  const phrases = texts.phrases;
  return (
    <div class="chat">
      <ol ref={end} tabIndex={0} aria-label={texts.t("chat")}>
        {messages.map((message) => (
          <li key={String(message.number)} class={message.seat === seat ? "mine" : ""}>
            <b>
              {message.playerName}
              {message.audience === ChatAudience.PARTNER && ` → ${texts.t("seat.partner")}`}
            </b>{" "}
            {message.content.case === "phrase"
              ? (phrases[message.content.value] ?? message.content.value)
              : message.content.value}
          </li>
        ))}
        {messages.length === 0 && <li class="hint">{texts.t("chat.empty")}</li>}
      </ol>
      {seat !== undefined && mode !== ChatMode.OFF && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim()) onSay({ text: text.trim() }, partner);
            setText("");
          }}
        >
          <select
            aria-label={texts.t("chat.phrase")}
            value=""
            onChange={(event) => {
              const { value } = event.currentTarget;
              event.currentTarget.value = "";
              if (value) onSay({ phrase: value }, partner);
            }}
          >
            <option value="">{texts.t("chat.phrase")}</option>
            {Object.entries(phrases).map(([code, phrase]) => (
              <option key={code} value={code}>
                {phrase}
              </option>
            ))}
          </select>
          {hasPartner && (
            <label class="check">
              <input type="checkbox" checked={partner} onChange={(event) => setPartner(event.currentTarget.checked)} />
              {texts.t("chat.partner")}
            </label>
          )}
          {mode !== ChatMode.PHRASES && (
            <span class="line">
              <input
                value={text}
                maxLength={500}
                aria-label={texts.t("chat.text")}
                placeholder={texts.t("chat.text")}
                onInput={(event) => setText(event.currentTarget.value)}
              />
              <button type="submit">{texts.t("chat.send")}</button>
            </span>
          )}
        </form>
      )}
    </div>
  );
}

/** Keep a list at its end while it grows. */
function useEnd(length: number) {
  const element = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (element.current && length > 0) element.current.scrollTop = element.current.scrollHeight;
  }, [length]);
  return element;
}

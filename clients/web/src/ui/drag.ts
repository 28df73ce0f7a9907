/** Dragging cards with mouse, finger or pen. A press that does not move stays a click. */

import { useEffect, useRef, useState } from "preact/hooks";

/** Pixels that a press must move to become a drag. */
const SLOP = 7;

export interface Drag {
  /** Keys of the cards that are dragged. */
  keys: readonly string[];
  x: number;
  y: number;
  /** The place under the pointer: the value of its `data-drop`. */
  over: string | undefined;
}

interface Options {
  /** The cards that are dragged when one of them is: all that are picked, or that one. */
  grab: (key: string) => readonly string[];
  drop: (keys: readonly string[], place: string) => void;
}

/** Return the running drag, and what begins one. */
export function useDrag({ grab, drop }: Options): [Drag | undefined, (event: PointerEvent, key: string) => void] {
  const [drag, setDrag] = useState<Drag>();
  const latest = useRef({ grab, drop });
  latest.current = { grab, drop };
  const stop = useRef<(() => void) | undefined>(undefined);
  useEffect(() => () => stop.current?.(), []);

  const begin = (event: PointerEvent, key: string) => {
    if (event.button !== 0 || !event.isPrimary) return;
    stop.current?.();
    const from = { x: event.clientX, y: event.clientY };
    let keys: readonly string[] | undefined;
    let over: string | undefined;
    const move = (moved: PointerEvent) => {
      if (!keys && Math.hypot(moved.clientX - from.x, moved.clientY - from.y) < SLOP) return;
      keys ??= latest.current.grab(key);
      over = placeAt(moved.clientX, moved.clientY);
      setDrag({ keys, x: moved.clientX, y: moved.clientY, over });
    };
    const end = (ended: PointerEvent) => {
      stop.current?.();
      if (!keys || ended.type === "pointercancel") return;
      // The click that follows a drag picks nothing.
      addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", swallow, { capture: true }));
      if (over) latest.current.drop(keys, over);
    };
    const controller = new AbortController();
    stop.current = () => {
      controller.abort();
      setDrag(undefined);
      stop.current = undefined;
    };
    addEventListener("pointermove", move, { signal: controller.signal });
    addEventListener("pointerup", end, { signal: controller.signal });
    addEventListener("pointercancel", end, { signal: controller.signal });
  };
  return [drag, begin];
}

function placeAt(x: number, y: number): string | undefined {
  const place = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-drop]");
  return place?.dataset.drop;
}

function swallow(event: Event): void {
  event.stopPropagation();
  event.preventDefault();
}

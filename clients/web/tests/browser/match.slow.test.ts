import { test } from "vitest";
import type { Size } from "./browser";
import { browser, server, useStage } from "./stage";
import { playWholeMatch } from "./whole-match";

useStage();

test.each([
  ["tablet", "dark"],
  ["wide", "light"],
] as [Size, "light" | "dark"][])(
  "on a %s screen, %s, two people and two bots play a whole match, without errors, barriers or requests to elsewhere",
  async (size, theme) => playWholeMatch(server, browser, size, theme),
);

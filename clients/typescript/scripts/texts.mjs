// Writes the texts for players, which all languages of code share, as a module.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const source = join(import.meta.dirname, "..", "..", "texts");
const target = join(import.meta.dirname, "..", "src", "generated");
const files = readdirSync(source).filter((name) => name.endsWith(".json"));
const texts = Object.fromEntries(
  files.sort().map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(join(source, name), "utf8"))]),
);
mkdirSync(target, { recursive: true });
writeFileSync(join(target, "texts.ts"), `export const TEXTS = ${JSON.stringify(texts, null, 2)} as const;\n`);

import { defineConfig } from "vitest/config";

// Each file has a server and browsers of its own, and a machine may have two cores.
const BROWSER = {
  environment: "node",
  testTimeout: 240_000,
  hookTimeout: 60_000,
  fileParallelism: false,
} as const;

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"], environment: "node" } },
      {
        test: {
          ...BROWSER,
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          exclude: ["tests/browser/*.slow.test.ts"],
        },
      },
      { test: { ...BROWSER, name: "slow", include: ["tests/browser/*.slow.test.ts"] } },
      { test: { name: "picture", include: ["tests/browser/*.picture.ts"], environment: "node", testTimeout: 120_000 } },
    ],
  },
});

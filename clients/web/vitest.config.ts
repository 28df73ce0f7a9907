import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"], environment: "node" } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          environment: "node",
          testTimeout: 240_000,
          hookTimeout: 60_000,
          // Each file has a server and browsers of its own, and a machine may have two cores.
          fileParallelism: false,
        },
      },
      { test: { name: "picture", include: ["tests/browser/*.picture.ts"], environment: "node", testTimeout: 120_000 } },
    ],
  },
});

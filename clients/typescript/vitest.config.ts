import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/**/*.test.ts"], testTimeout: 180_000, hookTimeout: 180_000, maxWorkers: 2 },
});

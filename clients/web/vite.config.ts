import { defineConfig } from "vite";

/** Where the dev server finds the service's web port; the built page is served by the service itself. */
const service = process.env.BURACO_WEB ?? "http://127.0.0.1:8080";

export default defineConfig({
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    port: 5173,
    strictPort: true,
    proxy: { "/buraco.v1.": { target: service, changeOrigin: false } },
  },
});

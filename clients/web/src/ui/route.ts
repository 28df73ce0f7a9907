/** Where in the page the player is, by the fragment of the address: nothing of it reaches a server. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The table shown; none in the lobby. */
  table: string | undefined;
  /** An invitation code of a link. */
  code: string;
}

/** Return the route of a fragment. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [area, id] = path.split("/");
  const code = new URLSearchParams(query).get("code") ?? "";
  return { table: area === "table" && id ? decodeURIComponent(id) : undefined, code };
}

export function tableLink(id: string, code = ""): string {
  return `#/table/${encodeURIComponent(id)}${code ? `?code=${encodeURIComponent(code)}` : ""}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}

import { join } from "node:path";

/** The checkout. */
export const ROOT = join(import.meta.dirname, "..", "..", "..", "..");
/** Python with the service and its Python client. */
export const PYTHON = join(ROOT, ".venv", "bin", "python");

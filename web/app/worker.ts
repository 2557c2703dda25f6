// The Worker of a page. Before it stands Go's wasm_exec.js.
import { decompress } from "fzstd";
import initSqlJs from "sql.js";

interface Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

const scope = globalThis as unknown as {
  Go: new () => Go;
  dpsqlSQL?: unknown;
  dpsqlOpen(card: string, payloads: Uint8Array[]): string;
  dpsqlAsk(sql: string): string;
  dpsqlComplete(sql: string, at: number): string;
};

// unpack reads base64 of gzip.
async function unpack(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = atob(base64.trim()), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

interface Page { engine: string; sqlite: string; card: string; payloads: string[] }
let opened: Page;

const functions: Record<string, (...args: never[]) => string | Promise<string>> = {
  async open(page: Page) {
    opened = page;
    const go = new scope.Go(), sqlite = page.sqlite && unpack(page.sqlite).then((wasmBinary) => initSqlJs({ wasmBinary, useOldExtensionFunctions: false }));
    const engine = unpack(page.engine).then((bytes) => WebAssembly.instantiate(decompress(bytes) as Uint8Array<ArrayBuffer>, go.importObject));
    const [{ instance }, library, ...payloads] = await Promise.all([engine, sqlite, ...page.payloads.map(unpack)]);
    if (library) scope.dpsqlSQL = library;
    void go.run(instance); // it never ends
    return scope.dpsqlOpen(page.card, payloads);
  },
  ask: (sql: string) => scope.dpsqlAsk(sql),
  complete: (sql: string, at: number) => scope.dpsqlComplete(sql, at),
};

onmessage = async (e: MessageEvent<{ id: number; name: string; args: never[] }>) => {
  const { id, name, args } = e.data;
  let text: string;
  try {
    text = await functions[name](...args);
  } catch (fault) {
    const open = name === "open"; // what cannot be unpacked is not what was written
    text = JSON.stringify({ error: open ? { code: "damaged", message: String(fault) } :
      { code: "unsupported", message: `this statement needs more than the browser has: ${fault}`, hint: "the settings are those of a new page" } });
    if (!open) await (functions.open as (page: Page) => Promise<string>)(opened); // such a fault ends the engine
  }
  postMessage({ id, text });
};

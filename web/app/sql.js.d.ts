declare module "sql.js" {
  export default function initSqlJs(config: { wasmBinary: Uint8Array<ArrayBuffer>; useOldExtensionFunctions: boolean }): Promise<unknown>;
}

// For the tests: answers in, as lines of JSON, and what the page makes of them out.
import { parseHTML } from "linkedom";

declare const process: { stdin: AsyncIterable<Uint8Array>; stdout: { write(text: string): void } };

let text = "";
const decoder = new TextDecoder();
for await (const chunk of process.stdin) text += decoder.decode(chunk, { stream: true });
const { document } = parseHTML("<html><body></body></html>");
Object.assign(globalThis, { document, window: { document } });
const { line } = await import("../../app/answer"), { chart } = await import("../../app/chart"), { table } = await import("../../app/table");
const out = (JSON.parse(text) as { answer: never; options: object }[]).map(({ answer, options }) => {
  const drawn = chart(answer, { width: 640, ...options });
  return { svg: drawn?.svg.outerHTML ?? "", summary: drawn?.summary ?? "", notes: drawn?.notes ?? [], line: line(answer), table: table(answer).outerHTML };
});
process.stdout.write(JSON.stringify(out));

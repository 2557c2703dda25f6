// For the tests: answers in, as lines of JSON, and what the page makes of them out.
import { parseHTML } from "linkedom";
import { line } from "./answer";
import { chart } from "./chart";
import { table } from "./table";

declare const process: { stdin: AsyncIterable<Uint8Array>; stdout: { write(text: string): void } };

let text = "";
const decoder = new TextDecoder();
for await (const chunk of process.stdin) text += decoder.decode(chunk, { stream: true });
const { document } = parseHTML("<html><body></body></html>");
const out = (JSON.parse(text) as { answer: never; options: object }[]).map(({ answer, options }) => {
  const drawn = chart(answer, { width: 640, document: document as never, ...options });
  return { svg: drawn?.svg.outerHTML ?? "", summary: drawn?.summary ?? "", notes: drawn?.notes ?? [], line: line(answer), table: table(answer, document as never).outerHTML };
});
process.stdout.write(JSON.stringify(out));

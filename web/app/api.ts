// The engine of a page: dpsql and SQLite in a Worker that is made of the page's own text.
import type { Answer, Refusal } from "./answer";

export interface Completion {
  text: string;
  kind: string;
  from: number; // in characters
}

export interface Card {
  title: string;
  digest: string;
  made?: string;
  examples?: string[];
  tables: { name: string; unit?: string; columns: { name: string; type: string; shown?: string; place?: number }[] }[];
}

const text = (id: string) => document.getElementById(id)?.textContent ?? "";
const all = (prefix: string) => [...document.querySelectorAll(`script[id^="${prefix}"]`)].map((e) => e.textContent!);

const texts = new WeakMap<object, string>();

// textOf returns the JSON of what parse has read, as it came.
export const textOf = (x: object): string => texts.get(x) ?? JSON.stringify(x);

// parse reads JSON. A whole number that JavaScript would round stays a text.
export function parse<T>(json: string): T {
  const exact = (_: string, v: unknown, context?: { source?: string }) =>
    typeof v === "number" && !Number.isSafeInteger(v) && /^-?\d+$/.test(context?.source ?? "") ? context!.source : v;
  const read = JSON.parse(json, exact as never);
  if (typeof read === "object" && read !== null) texts.set(read, json);
  return read as T;
}

export class Engine {
  private worker!: Worker;
  private waiting = new Map<number, (text: string) => void>();
  private calls = 0;

  // open starts the engine, or starts it anew where stop has ended it.
  async open(): Promise<Refusal | { names: string[][] }> {
    const url = URL.createObjectURL(new Blob([text("dpsql-worker")], { type: "text/javascript" }));
    this.worker = new Worker(url);
    this.worker.onmessage = (e: MessageEvent<{ id: number; text: string }>) => {
      this.waiting.get(e.data.id)?.(e.data.text);
      this.waiting.delete(e.data.id);
    };
    this.worker.onerror = (e) => this.end("internal", e.message);
    const opened = await this.call("open", { engine: text("dpsql-engine"), sqlite: text("dpsql-sqlite"), card: text("dpsql-card"), payloads: [...all("dpsql-release-"), ...all("dpsql-public-")] });
    URL.revokeObjectURL(url);
    return parse(opened);
  }

  ask = async (sql: string) => parse<Answer | Refusal>(await this.call("ask", sql));
  complete = async (sql: string, at: number) => parse<Completion[]>(await this.call("complete", sql, at));

  stop() {
    this.worker.terminate();
    this.end("canceled", "stopped");
  }

  private call(name: string, ...args: unknown[]): Promise<string> {
    return new Promise((done) => {
      this.waiting.set(++this.calls, done);
      this.worker.postMessage({ id: this.calls, name, args });
    });
  }

  private end(code: string, message: string) {
    for (const done of this.waiting.values()) done(JSON.stringify({ error: { code, message } }));
    this.waiting.clear();
  }
}

// The console's API. A session has two halves: a cookie, which no script reads, and a token, which
// login returns and sessionStorage keeps.
import type { Answer, Refusal } from "./answer";
import { parse } from "./api";

export interface Session {
  user: string; // "" is the curator
  role: "analyst" | "curator";
  database: string;
  port?: number; // of the wire
}

export interface Column {
  name: string;
  sql: string; // the name as SQL has it
  type: string;
  domain: string;
  values: string[] | null; // as SQL has them
}

// listed returns the values of a column whose declaration lists them.
export const listed = (c: Column): string[] => (c.domain.startsWith("BETWEEN") ? [] : c.values ?? []);

export interface Table {
  name: string;
  sql: string;
  kind: "private" | "public";
  unit: string | null;
  limits: string | null;
  columns: Column[];
}

export interface Release {
  name: string;
  sql: string;
  table: string;
  columns: string;
  method: string;
  epsilon: string | null;
  delta: string | null;
  created: string;
}

export interface Schema {
  tables: Table[];
  releases: Release[];
}

export interface Price {
  rho: string | null; // "0" is free; null is not known
  left: string | null; // before the statement
  words: string;
}

export interface Candidate {
  name: string;
  margin: number | string | null;
  cost: string | null; // ρ
  refusal: string;
  chosen: boolean;
}

export interface Plan {
  candidates: Candidate[];
  price: Price;
}

export interface Account {
  table: string;
  account: "releases" | "interactive" | "quota";
  unit: "ε" | "δ" | "ρ";
  total: string;
  spent: string;
  left: string;
  words: string;
}

export interface Budget {
  accounts: Account[];
  purchases?: { at: string; table: string; action: string; rho: string | null }[];
  ledger?: { at: string; rows_of: string; who: string | null; action: string; object: string; epsilon: string | null; delta: string | null; rho: string | null }[];
}

// Step is a line of what a statement of the curator tells while it runs.
export interface Step extends Partial<Refusal> {
  id?: string;
  progress?: number;
  result?: Answer & { note?: string; paid?: string };
}

// Failure is a refusal, with the price of now where that is why.
export type Failure = Refusal & { price?: Price };

export const refused = (x: unknown): x is Failure => typeof x === "object" && x !== null && "error" in x;

// short returns an amount with three digits.
export const short = (amount: string | null): string => (amount === null || amount === "" || Number.isNaN(+amount) ? amount ?? "" : String(+(+amount).toPrecision(3)));

// gone is a reply that did not come.
const gone = (fault: unknown, signal?: AbortSignal): Failure =>
  ({ error: signal?.aborted ? { code: "cancelled", message: "stopped" } : { code: "closed", message: "the server cannot be reached", hint: `is it running? (${fault})` } });

export class Client {
  // login makes a session; it ends when there is one.
  constructor(private login: () => Promise<void>) {}

  // call asks a route: with a body by POST, else by GET. If the session is lost, it asks again once there is one.
  async call<T>(route: string, body?: unknown, signal?: AbortSignal): Promise<T | Failure> {
    const reply = await this.send(route, body, signal);
    return refused(reply) ? reply : reply.text().then(parse<T | Failure>, (fault) => gone(fault, signal));
  }

  // bytes returns what a route replies that is not JSON.
  async bytes(route: string, body: unknown): Promise<Blob | Failure> {
    const reply = await this.send(route, body);
    return refused(reply) ? reply : reply.ok ? reply.blob() : parse<Failure>(await reply.text());
  }

  // lines returns the lines of a reply as they come.
  async *lines(route: string, body: unknown): AsyncGenerator<Step> {
    const reply = await this.send(route, body);
    if (refused(reply)) return yield reply;
    let text = "";
    for (const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
      const all = (text + (value ?? "")).split("\n");
      text = done ? "" : all.pop()!;
      for (const line of all) if (line.trim() !== "") yield parse<Step>(line);
      if (done) return;
    }
  }

  private async send(route: string, body?: unknown, signal?: AbortSignal): Promise<Response | Failure> {
    const file = body instanceof Blob, headers: Record<string, string> = { "X-Dpsql-Token": sessionStorage.getItem("token") ?? "" };
    if (body !== undefined) headers["Content-Type"] = file ? "application/octet-stream" : "application/json";
    try {
      const reply = await fetch(`/api/v1/${route}`, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined || file ? body as Blob : JSON.stringify(body), signal });
      const lost = reply.status === 401 || (reply.status === 403 && parse<Failure>(await reply.clone().text()).error.code === "token");
      if (!lost || route === "login") return reply;
    } catch (fault) {
      return gone(fault, signal);
    }
    if (headers["X-Dpsql-Token"] === (sessionStorage.getItem("token") ?? "")) await this.login(); // else another request has, since
    return this.send(route, body, signal);
  }
}

// Page is one of the pages, made once: what is written in it stays while others are shown.
export interface Page {
  element: HTMLElement;
  show(): unknown; // is called each time
}

// Console is what the pages share.
export interface Console {
  client: Client;
  session: Session;
  left(b?: Budget): unknown; // says what is left; asks for it if it is not there
  go(path: string): void;
}

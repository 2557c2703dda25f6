// Ask: a statement, what each way to answer it would give and cost, and the answer.
import type { Answer } from "./answer";
import type { Completion } from "./api";
import { listed, refused, short, type Candidate, type Column, type Console, type Failure, type Page, type Plan, type Price, type Schema, type Table } from "./client";
import { button, make, question, root, state } from "./dom";
import { editor } from "./editor";
import { present } from "./result";

const delay = 300; // ms from a key to its plan
const free: Price = { rho: "0", left: null, words: "" };

export function askPage(c: Console): Page {
  const area = make("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off", rows: "5" });
  const run = button("Answer · free", () => ask(), { id: "run", class: "main" });
  const within = make("input", { id: "within", type: "number", min: "1", step: "any", inputmode: "decimal" });
  const at = make("input", { id: "at", type: "number", min: "50", max: "99.9999", step: "any", value: "95" });
  const status = make("p", { id: "status", role: "status" }), result = make("div", { id: "result" }), object = make("script", { type: "application/json", id: "answer" });
  const candidates = make("div", { id: "candidates", role: "group", "aria-label": "Ways to answer" });
  const columns = make("nav", { id: "columns", "aria-label": "Columns and history" }), past = make("ul"), tables = make("div");
  const before = history(`dpsql ${c.session.database} ${c.session.user}`, past, (sql) => (field.set(sql), field.focus()));
  const copies = Object.entries(copying(c)).map(([name, text]) => button(name, async () => {
    await navigator.clipboard.writeText(text(request()));
    status.textContent = `${name} copied`;
  }, { class: "link" }));
  columns.append(make("h2", {}, "Columns"), tables, make("h2", {}, "History"), past, button("Forget", () => before.forget(), { id: "forget", class: "link" }));
  const element = make("div", { id: "app" }, columns, make("div", { id: "ask" },
    make("h2", {}, make("label", { for: "sql" }, "Ask in SQL")), area,
    make("p", { class: "row" }, run, make("label", {}, "within ± ", within, " people"), make("label", {}, "at ", at, " %"), make("span", { class: "mute" }, "copy: ", ...copies)),
    candidates, status, result, object));

  const simple = new URLSearchParams(location.search).has("plain") || matchMedia("(pointer: coarse)").matches;
  const field = editor(area, simple, {
    run: () => void ask(),
    back: () => field.set(before.back(field.text())),
    complete: async (sql, at) => {
      const found = await c.client.call<Completion[]>("complete", { sql, at });
      return refused(found) ? [] : found;
    },
    changed: () => later(),
  });
  const view = {
    result, status, object,
    origin: (sql: string) => ({ title: c.session.database, sql, date: new Date().toISOString().slice(0, 10) }),
    ask: (sql: string, together: number) => ask(sql, together),
    clamp: (sql: string) => ask(sql, 0, true),
  };

  const request = (sql = field.text(), together = 0, clamp = false) => {
    const confidence = +at.value / 100;
    return { sql, settings: { ...(+within.value > 0 ? { accuracy: +within.value } : {}), confidence: together ? 1 - (1 - confidence) / together : confidence, ...(clamp ? { clamp: "on" } : {}) } };
  };
  let planned = { of: "", price: free }, planning = new AbortController(), timer = 0, held = "";
  const later = () => {
    clearTimeout(timer);
    run.textContent = "Answer · free";
    candidates.setAttribute("aria-busy", "true");
    timer = setTimeout(plan, delay);
  };
  for (const input of [within, at]) input.addEventListener("input", later);

  async function plan() {
    const wanted = request(), of = JSON.stringify(wanted);
    candidates.setAttribute("aria-busy", "true");
    planning.abort();
    planning = new AbortController();
    const p = wanted.sql.trim() === "" ? null : await c.client.call<Plan>("plan", wanted, planning.signal);
    if (of !== JSON.stringify(request()) || (refused(p) && p.error.code === "cancelled")) return;
    candidates.removeAttribute("aria-busy");
    if (!p) return candidates.replaceChildren();
    if (refused(p)) return candidates.replaceChildren(make("p", { class: "mute" }, p.error.message, p.error.hint ? ` · ${p.error.hint}` : ""));
    planned = { of, price: p.price };
    run.textContent = costs(p.price) ? `Buy · ${p.price.words}` : "Answer · free";
    const open = p.candidates.filter((x) => !x.refusal || offered(x)), closed = p.candidates.filter((x) => !open.includes(x));
    candidates.replaceChildren(make("ul", {}, ...open.map((x) => make("li", x.chosen ? { class: "chosen" } : {}, ...way(x, p.price)))),
      ...(closed.length ? [make("details", {}, make("summary", {}, `why not ${closed.map((x) => x.name).join(", ")}`), make("ul", {}, ...closed.map((x) => make("li", {}, `${x.name}: ${x.refusal}`))))] : []),
      ...(p.price.rho === null && p.price.words ? [make("p", { class: "mute" }, p.price.words)] : []));
  }

  // way says what an answer of a candidate would be. What is only to be had for a price is offered.
  function way(x: Candidate, price: Price): (Node | string)[] {
    const margin = x.margin === null ? "no margin" : `± ${x.margin}`;
    if (offered(x)) return [button(`${x.name} ${margin} ${takes(x, price)}`, () => ((within.value = String(x.margin)), plan()), { class: "link" })];
    return [`${x.name} ${margin} ${x.cost === "0" ? "free" : x.chosen && costs(price) ? price.words : takes(x, price)}${x.chosen ? " ✓" : ""}`];
  }

  async function ask(sql = field.text(), together = 0, clamp = false) {
    if (root.dataset.state === "answering" || sql.trim() === "") return;
    field.set(sql);
    field.mark(0);
    const wanted = request(sql, together, clamp);
    let price = planned.of === JSON.stringify(wanted) ? planned.price : free, answer: Answer | Failure;
    for (let agreed = false; ; agreed = true) {
      if (costs(price) && !(await agree(price))) return agreed ? state("ready") : undefined;
      state("answering");
      run.disabled = true;
      result.setAttribute("aria-busy", "true");
      status.textContent = costs(price) ? held : "";
      answer = await c.client.call<Answer>("ask", { ...wanted, buy: costs(price) ? price.rho : "0" });
      run.disabled = false;
      result.removeAttribute("aria-busy");
      if (!refused(answer) || answer.error.code !== "price" || !answer.price || !costs(answer.price)) break;
      price = answer.price;
      state("ready");
    }
    before.add(sql);
    if (refused(answer)) field.mark(answer.error.position ?? 0);
    present(refused(answer) || !together ? answer : { ...answer, confidence: +at.value / 100 }, sql, together, view);
    if (costs(price)) void c.left(), void plan();
  }

  async function describe() {
    const s = await c.client.call<Schema>("schema");
    if (refused(s)) return;
    const own = s.tables.filter((t) => t.kind === "private"), every = own.map((t) => /answer_time = '([^']+)'/.exec(t.limits ?? "")?.[1]).find(Boolean);
    held = every ? `rows are read; answers come every ${every}` : "rows are read";
    const put = (text: string) => {
      field.set(`${field.text().trimEnd()} ${text}`.trimStart());
      field.focus();
    };
    tables.replaceChildren(...s.tables.map((t, i) => tableOf(t, i === 0, put)));
    if (own.length === 0) tables.prepend(make("p", {}, c.session.role === "curator" ? button("There is no table yet: Curate makes one.", () => c.go("/curate"), { class: "link" }) : "No table is granted to you: ask the curator for GRANT SELECT"));
    if (field.text() !== "" || result.childNodes.length) return;
    const sql = example(s);
    if (sql) field.set(sql), void ask();
  }
  return { element, show: describe };
}

const costs = (p: Price) => p.rho !== null && +p.rho > 0;
const offered = (x: Candidate) => x.refusal.includes("buys it") && x.margin !== null && x.cost !== null;

const takes = (x: Candidate, { left }: Price) => (left !== null && +left >= +x.cost! ? `takes ${+((100 * +x.cost!) / +left).toPrecision(2)} % of what is left` : `takes ρ ${short(x.cost)}`);

// agree asks whether to pay. Enter says no.
function agree(p: Price): Promise<boolean> {
  const after = p.left === null ? "" : ` ρ ${short(String(Math.max(0, +p.left - +p.rho!)))} is left after.`;
  return question("Buy this answer?", [`It ${p.words || "takes a part of what is left, for good"}: ρ ${short(p.rho)}${p.left === null ? "" : ` of ρ ${short(p.left)}`}.${after}`, "Asking the same again is free."], "Buy");
}

function tableOf(t: Table, open: boolean, put: (text: string) => void): HTMLElement {
  const column = (col: Column) => {
    const range = /^BETWEEN (\S+) AND (\S+)/.exec(col.domain), values = listed(col);
    const size = values.length ? String(values.length) : range ? `${range[1]} … ${range[2]}` : "";
    return make("details", {}, make("summary", {}, col.name, " ", make("span", { class: "mute" }, size)),
      make("p", { class: "values" }, button(col.name, () => put(col.sql), { class: "link" }), make("span", { class: "mute" }, `${col.type} ${values.length ? "" : col.domain}`), ...values.slice(0, 200).map((v) => button(v, () => put(v), { class: "link value" }))));
  };
  return make("details", { class: "table", ...(open ? { open: "" } : {}) }, make("summary", {}, t.name, t.kind === "public" ? " (public)" : ""), ...t.columns.map(column));
}

// example is a count by a column that a release has.
function example(s: Schema): string {
  for (const r of s.releases) {
    const table = s.tables.find((t) => t.name === r.table);
    const by = table?.columns.find((col) => listed(col).length && (r.columns === "all" || r.columns.split(", ").includes(col.name)));
    if (by) return `SELECT ${by.sql}, COUNT(*) AS n FROM ${table!.sql} GROUP BY ${by.sql}`;
  }
  return "";
}

// history keeps statements in this browser alone, the latest first, without answers.
function history(key: string, list: HTMLElement, pick: (sql: string) => void) {
  const most = 200;
  let all = JSON.parse(localStorage.getItem(key) ?? "[]") as string[], at = -1;
  const keep = (statements: string[]) => {
    [all, at] = [statements.slice(0, most), -1];
    localStorage.setItem(key, JSON.stringify(all));
    list.replaceChildren(...all.map((sql) => make("li", {}, button(sql, () => pick(sql), { class: "link value" }))));
  };
  keep(all);
  return {
    add: (sql: string) => keep([sql, ...all.filter((s) => s !== sql)]),
    forget: () => keep([]),
    back: (now: string) => {
      at = Math.min(at + 1, all.length - 1);
      if (all[at] === now && at < all.length - 1) at++;
      return all[at] ?? now;
    },
  };
}

// copying is a statement as other programs take it.
function copying(c: Console): Record<string, (r: { sql: string; settings: object }) => string> {
  const shell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`, { user, database, port } = c.session, wire = `host=${location.hostname} port=${port} user=${user || "USER"} dbname=${database}`;
  const sets = (r: { settings: object }) => Object.entries(r.settings).filter(([k, v]) => k !== "confidence" || v !== 0.95).map(([k, v]) => `SET ${k} = ${v};\n`).join("");
  return {
    SQL: (r) => `${sets(r)}${r.sql}`,
    curl: (r) => `curl -b cookies -H 'Content-Type: application/json' -H "X-Dpsql-Token: $TOKEN" -d ${shell(JSON.stringify(r))} ${location.origin}/api/v1/ask`,
    ...(port && {
      psql: (r) => `psql '${wire}' -c ${shell(`${sets(r)}${r.sql}`)}`,
      pandas: (r) => `import pandas, psycopg\npandas.read_sql(${JSON.stringify(r.sql)}, psycopg.connect("${wire}"))`,
    }),
  };
}

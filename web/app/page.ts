// The page of a release: asks its engine, and shows what comes back. What programs read of it:
// <html data-state>, script#answer, textarea#sql, button#run, #result table.
import { amount, count, line, measured, plain, type Answer, type Ends, type Refusal } from "./answer";
import { Engine, parse, type Card } from "./api";
import { belowZero, chart, type Chart } from "./chart";
import { editor } from "./editor";
import { csv, download, png, svg } from "./save";
import { table } from "./table";

type State = "loading" | "ready" | "answering" | "answered" | "refused" | "damaged";

const card = parse<Card>(document.getElementById("dpsql-card")!.textContent!);
const engine = new Engine();
const app = document.getElementById("app")!;
const state = (s: State) => (document.documentElement.dataset.state = s);
const hash = () => new URLSearchParams(location.hash.slice(1));

// make returns an element with attributes and what is in it. Data comes in as text alone.
function make<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string> = {}, ...inner: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...inner);
  return e;
}

function button(text: string, act: () => unknown, attributes: Record<string, string> = {}): HTMLButtonElement {
  const e = make("button", { type: "button", ...attributes }, text);
  e.addEventListener("click", act);
  return e;
}

const area = make("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off", rows: "5" });
const run = button("Answer · free", () => ask(), { id: "run", class: "main" });
const stop = button("Stop", () => restart(), { id: "stop", disabled: "" });
const status = make("p", { id: "status", role: "status" }, "loading …");
const result = make("div", { id: "result" });
const object = make("script", { type: "application/json", id: "answer" });
const asked: string[] = []; // what was asked before, in this page alone

const columns = card.tables.map((t) => make("details", { open: "" }, make("summary", {}, t.name),
  make("ul", {}, ...t.columns.map((c) => make("li", {}, button(c.name, () => insert(c.name)), " ", make("span", { class: "mute" }, c.shown ?? c.type))))));
const examples = (card.examples ?? []).map((sql) => make("li", {}, button(sql, () => ask(sql), { class: "example" })));
app.replaceChildren(
  make("nav", { id: "columns", "aria-label": "Columns" }, make("h2", {}, "Columns"), ...columns),
  make("div", { id: "ask" },
    make("h2", {}, make("label", { for: "sql" }, "Ask in SQL")), area,
    make("p", { class: "row" }, run, stop, make("span", { class: "mute" }, "Ctrl-Enter answers · Ctrl-Space completes · Alt-↑ the statement before · Esc, then Tab leaves")),
    status, result,
    ...(examples.length ? [make("details", { id: "examples" }, make("summary", {}, "Examples"), make("ul", {}, ...examples))] : []),
    make("p", { class: "mute" }, "Nothing you ask leaves this page."), object));

const simple = new URLSearchParams(location.search).has("plain") || matchMedia("(pointer: coarse)").matches;
const field = editor(area, simple, {
  run: () => void ask(),
  back: () => field.set(asked.at(-1) === field.text() ? asked.at(-2) ?? field.text() : asked.at(-1) ?? field.text()),
  complete: (sql, at) => engine.complete(sql, at),
});

function insert(name: string) {
  const word = /^[a-z_]\w*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
  field.set(`${field.text().trimEnd()} ${word}`.trimStart());
  field.focus();
}

let turn = 0; // of the answer that is awaited: an older one is dropped

async function ask(sql = field.text(), together = 0) {
  field.set(sql);
  field.mark(0);
  if (!["ready", "answered", "refused"].includes(document.documentElement.dataset.state!) || sql.trim() === "") return;
  const mine = ++turn;
  if (asked.at(-1) !== sql) asked.push(sql);
  state("answering");
  run.disabled = true;
  stop.disabled = false;
  result.setAttribute("aria-busy", "true");
  const answer = await (together ? allAtOnce(sql, together) : engine.ask(sql));
  if (mine !== turn) return;
  run.disabled = false;
  stop.disabled = true;
  result.removeAttribute("aria-busy");
  link(sql);
  if ("error" in answer) refuse(answer, sql);
  else show(answer, sql, together);
  object.textContent = JSON.stringify(answer);
  object.dataset.sql = sql;
  state("error" in answer ? "refused" : "answered");
}

// allAtOnce asks for intervals that hold for k numbers together: each has 1/k of what may fail.
async function allAtOnce(sql: string, k: number): Promise<Answer | Refusal> {
  const before = await engine.ask(sql);
  if ("error" in before || !before.confidence) return before;
  const set = (c: number) => engine.ask(`SET confidence = ${c}`);
  const refused = await set(1 - (1 - before.confidence) / k);
  if ("error" in refused) return refused;
  const answer = await engine.ask(sql);
  await set(before.confidence);
  return "error" in answer ? answer : { ...answer, confidence: before.confidence };
}

// link puts the statement into the page's address, so that it can be given on.
function link(sql: string) {
  const all = hash();
  all.set("sql", sql);
  const text = all.toString().replaceAll("bare=&", "bare&");
  try {
    history.replaceState(null, "", `#${text}`);
  } catch { /* a frame without an address of its own */ }
}

function refuse({ error }: Refusal, sql: string) {
  field.mark(error.position ?? 0);
  const parts: Node[] = [make("p", { class: "message" }, `${error.code}: ${error.message}`)];
  if (error.position) parts.push(make("pre", { "aria-label": "the place in the statement", tabindex: "0" }, caret(sql, error.position)));
  if (error.hint) parts.push(make("p", {}, `Hint: ${error.hint}`));
  result.replaceChildren(make("div", { class: "refused" }, ...parts));
  status.textContent = `refused: ${error.message}`;
}

// caret returns the line of a character, from 1, with a mark below it.
function caret(sql: string, position: number): string {
  const before = [...sql].slice(0, position - 1).join("").split("\n");
  return `${sql.split("\n")[before.length - 1]}\n${" ".repeat([...before.at(-1)!].length)}^`;
}

function show(a: Answer, sql: string, together: number) {
  const figure = make("figure"), inner: Node[] = [];
  const ordered = /\border\s+by\b/i.test(sql.replace(/'[^']*'|--.*|\/\*[^]*?\*\//g, ""));
  let drawn: Chart | null = null, width = 0;
  const draw = () => {
    if (width === result.clientWidth) return; // a chart is laid out for its width
    width = result.clientWidth;
    drawn = width > 0 ? chart(a, { width, ordered, together }) : null;
    if (drawn) figure.replaceChildren(drawn.svg, make("figcaption", { class: "mute" }, drawn.notes.join(" · ")));
  };
  result.replaceChildren();
  draw();
  const points = together || a.rows.length;
  if (drawn) inner.push(figure);
  if (drawn && a.confidence && points > 1) {
    const offers = [button(together ? "each number by itself" : "all numbers together", () => ask(sql, together ? 0 : points), { id: "together" })];
    if ((drawn as Chart).notes.includes(belowZero)) offers.push(button("SET clamp = on", async () => "error" in (await engine.ask("SET clamp = on")) || ask(sql), { id: "clamp" }));
    inner.push(make("p", { class: "row" }, ...offers));
  }
  inner.push(...(a.columns.length ? [table(a)] : []), make("p", { class: "line" }, line(a)));
  const meaning = sentence(a);
  if (meaning) inner.push(make("p", { class: "mute" }, meaning));
  inner.push(...(a.warnings ?? []).map((w) => make("p", { class: "message" }, `warning: ${w}`)));
  if (a.columns.length) inner.push(saves(a, sql, () => drawn));
  result.replaceChildren(...inner);
  status.textContent = a.columns.length ? `${count(a.rows.length, "row")}, ${line(a)}` : "done";
  watch.disconnect();
  redraw = draw;
  watch.observe(result);
}

let redraw = () => {};
const watch = new ResizeObserver(() => redraw());

// sentence says what a margin means, of the first number that has one.
function sentence(a: Answer): string {
  for (let i = 0; i < a.rows.length; i++) {
    for (let j = 0; j < a.columns.length; j++) {
      const ends = a.intervals?.[i]?.[j] as Ends | null | undefined, value = a.rows[i][j];
      if (typeof value !== "number" || !ends || ends[0] === null || ends[1] === null || !measured(a, j)) continue;
      const round = (x: number, to: (x: number) => number) => (Number.isInteger(x) ? x : +to(x * 100).toFixed(0) / 100);
      return `${amount(value, ends)}: the true number is between ${round(ends[0] as number, Math.floor)} and ${round(ends[1] as number, Math.ceil)}; so it is in ${plain((a.confidence ?? 0) * 100)} of 100 such answers.`;
    }
  }
  return "";
}

function saves(a: Answer, sql: string, drawn: () => Chart | null): HTMLElement {
  const origin = { title: card.title, sql, date: card.made ?? "", digest: card.digest };
  const picture = () => svg(drawn()!.svg, a, drawn()!.notes, origin);
  const list = [button("CSV", () => download("answer.csv", csv(a), "text/csv")), button("JSON", () => download("answer.json", JSON.stringify(a), "application/json"))];
  if (drawn()) list.push(button("SVG", () => download("answer.svg", picture(), "image/svg+xml")), button("PNG", async () => download("answer.png", await png(picture()), "image/png")));
  return make("p", { class: "row", id: "save" }, "Save: ", ...list);
}

async function start() {
  const opened = await engine.open();
  if ("error" in opened) {
    const { error } = opened as Refusal;
    status.textContent = "";
    result.replaceChildren(make("p", { class: "message", role: "alert" }, `${error.code}: ${error.message}. This page answers nothing.`));
    run.disabled = true;
    return state(error.code === "canceled" ? "loading" : "damaged");
  }
  status.textContent = "ready";
  state("ready");
}

async function restart() {
  turn++;
  state("loading");
  status.textContent = "stopped; loading …";
  result.removeAttribute("aria-busy");
  engine.stop();
  stop.disabled = true;
  await start();
  run.disabled = document.documentElement.dataset.state === "damaged";
}

// follow does what the page's address says.
function follow() {
  document.documentElement.toggleAttribute("data-bare", hash().has("bare"));
  const sql = hash().get("sql");
  if (sql !== null) void ask(sql);
}

field.set(hash().get("sql") ?? card.examples?.[0] ?? "");
document.documentElement.toggleAttribute("data-bare", hash().has("bare"));
addEventListener("hashchange", follow);
void start().then(() => ask());

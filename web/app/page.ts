// The page of a release: asks its engine, and shows what comes back. What programs read of it:
// <html data-state>, script#answer, textarea#sql, button#run, #result table.
import type { Answer, Refusal } from "./answer";
import { Engine, parse, type Card } from "./api";
import { button, make, root, state } from "./dom";
import { editor } from "./editor";
import { present } from "./result";

const card = parse<Card>(document.getElementById("dpsql-card")!.textContent!);
const engine = new Engine();
const app = document.getElementById("app")!;
const hash = () => new URLSearchParams(location.hash.slice(1));

const area = make("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off", rows: "5" });
const run = button("Answer · free", () => ask(), { id: "run", class: "main" });
const stop = button("Stop", () => restart(), { id: "stop", disabled: "" });
const status = make("p", { id: "status", role: "status" }, "loading …");
const result = make("div", { id: "result" });
const object = make("script", { type: "application/json", id: "answer" });
const asked: string[] = []; // what was asked before, in this page alone

let names: string[][] = []; // of the columns of each table, as SQL has them
const columns = card.tables.map((t, i) => make("details", { open: "" }, make("summary", {}, t.name),
  make("ul", {}, ...t.columns.map((c, at) => ({ ...c, at })).sort((a, b) => (a.place ?? 0) - (b.place ?? 0)).map((c) =>
    make("li", {}, button(c.name, () => insert(names[i]?.[c.at] ?? c.name)), " ", make("span", { class: "mute" }, c.shown ?? c.type))))));
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
  field.set(`${field.text().trimEnd()} ${name}`.trimStart());
  field.focus();
}

const view = {
  result, status, object,
  origin: (sql: string) => ({ title: card.title, sql, date: card.made ?? "", digest: card.digest }),
  ask: (sql: string, together: number) => ask(sql, together),
  clamp: async (sql: string) => "error" in (await engine.ask("SET clamp = on")) || ask(sql),
};

let turn = 0; // of the answer that is awaited: an older one is dropped
let before: Promise<unknown> = Promise.resolve(); // the statement that the engine answers

async function ask(sql = field.text(), together = 0) {
  field.set(sql);
  field.mark(0);
  if (["loading", "damaged"].includes(root.dataset.state!) || sql.trim() === "") return;
  const mine = ++turn;
  if (asked.at(-1) !== sql) asked.push(sql);
  state("answering");
  run.disabled = true;
  stop.disabled = false;
  result.setAttribute("aria-busy", "true");
  await before;
  if (mine !== turn) return;
  const answering = together ? allAtOnce(sql, together) : engine.ask(sql);
  before = answering;
  const answer = await answering;
  if (mine !== turn) return;
  run.disabled = false;
  stop.disabled = true;
  result.removeAttribute("aria-busy");
  link(sql);
  field.mark("error" in answer ? answer.error.position ?? 0 : 0);
  present(answer, sql, together, view);
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

async function start() {
  const opened = await engine.open();
  if ("error" in opened) {
    const { error } = opened as Refusal;
    status.textContent = "";
    result.replaceChildren(make("p", { class: "message", role: "alert" }, `${error.code}: ${error.message}. This page answers nothing.`));
    run.disabled = true;
    return state(error.code === "canceled" ? "loading" : "damaged");
  }
  ({ names } = opened);
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
  run.disabled = root.dataset.state === "damaged";
}

// follow does what the page's address says.
function follow() {
  root.toggleAttribute("data-bare", hash().has("bare"));
  const sql = hash().get("sql");
  if (sql !== null) void ask(sql);
}

field.set(card.examples?.[0] ?? "");
follow(); // it asks nothing yet: the engine is not there
addEventListener("hashchange", follow);
void start().then(() => ask());

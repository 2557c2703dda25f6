// An answer as people see it: chart, table, line, the meaning of a margin, files to take away.
import { amount, count, line, measured, plain, type Answer, type Ends, type Refusal } from "./answer";
import { textOf } from "./api";
import { belowZero, chart, type Chart } from "./chart";
import { button, make, state } from "./dom";
import { csv, download, png, svg, type Origin } from "./save";
import { table } from "./table";

// View is the place of answers in a page, and what the offers below an answer do.
export interface View {
  result: HTMLElement;
  status: HTMLElement; // the live region
  object: HTMLScriptElement; // the answer as it came, for programs
  origin(sql: string): Origin;
  ask(sql: string, together: number): unknown;
  clamp(sql: string): unknown;
}

// present shows an answer, or why there is none, and tells programs so.
export function present(a: Answer | Refusal, sql: string, together: number, v: View) {
  if ("error" in a) refuse(a, sql, v);
  else show(a, sql, together, v);
  v.object.textContent = data(textOf(a));
  v.object.dataset.sql = sql;
  state("error" in a ? "refused" : "answered");
}

// data lets JSON into a <script type="application/json">, which never runs, where Trusted Types refuse texts.
const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createScript(text: string): string } } };
const policy = trustedTypes?.createPolicy("answer", { createScript: (text: string) => text });
const data = (json: string) => policy?.createScript(json) ?? json;

function refuse({ error }: Refusal, sql: string, v: View) {
  const parts: Node[] = [make("p", { class: "message" }, `${error.code}: ${error.message}`)];
  if (error.position) parts.push(make("pre", { "aria-label": "the place in the statement", tabindex: "0" }, caret(sql, error.position)));
  if (error.hint) parts.push(make("p", {}, `Hint: ${error.hint}`));
  v.result.replaceChildren(make("div", { class: "refused" }, ...parts));
  v.status.textContent = `refused: ${error.message}`;
}

// caret returns the line of a character, from 1, with a mark below it.
function caret(sql: string, position: number): string {
  const before = [...sql].slice(0, position - 1).join("").split("\n");
  return `${sql.split("\n")[before.length - 1]}\n${" ".repeat([...before.at(-1)!].length)}^`;
}

function show(a: Answer, sql: string, together: number, v: View) {
  const figure = make("figure"), inner: Node[] = [];
  const ordered = /\border\s+by\b/i.test(sql.replace(/'[^']*'|--.*|\/\*[^]*?\*\//g, ""));
  let drawn: Chart | null = null, width = 0;
  const draw = () => {
    if (width === v.result.clientWidth || v.result.clientWidth === 0) return; // a chart is laid out for its width
    width = v.result.clientWidth;
    drawn = chart(a, { width, ordered, together });
    if (drawn) figure.replaceChildren(drawn.svg, make("figcaption", { class: "mute" }, drawn.notes.join(" · ")));
  };
  v.result.replaceChildren();
  draw();
  const points = together || a.rows.length;
  if (drawn) inner.push(figure);
  if (drawn && a.confidence && points > 1) {
    const offers = [button(together ? "each number by itself" : "all numbers together", () => v.ask(sql, together ? 0 : points), { id: "together" })];
    if ((drawn as Chart).notes.includes(belowZero)) offers.push(button("SET clamp = on", () => v.clamp(sql), { id: "clamp" }));
    inner.push(make("p", { class: "row" }, ...offers));
  }
  inner.push(...(a.columns.length ? [table(a)] : []), make("p", { class: "line" }, line(a)));
  const meaning = sentence(a);
  if (meaning) inner.push(make("p", { class: "mute" }, meaning));
  inner.push(...(a.warnings ?? []).map((w) => make("p", { class: "message" }, `warning: ${w}`)));
  if (a.columns.length) inner.push(saves(a, v.origin(sql), () => drawn));
  v.result.replaceChildren(...inner);
  v.status.textContent = a.columns.length ? `${count(a.rows.length, "row")}, ${line(a).replace("±", widest(a))}` : "done";
  watch.disconnect();
  redraw = draw;
  watch.observe(v.result);
}

let redraw = () => {};
const watch = new ResizeObserver(() => redraw());

// widest returns ± and the largest margin.
function widest(a: Answer): string {
  const all = (a.margins ?? []).flat().filter((m) => m !== null), most = Math.max(...all);
  return all.length ? `±${Math.min(...all) < most ? " at most" : ""} ${plain(most)}` : "±";
}

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
  return a.cost && a.mechanism !== "constant" && a.columns.some((_, j) => measured(a, j)) ? "No margin: this answer may be wrong by any amount." : "";
}

function saves(a: Answer, origin: Origin, drawn: () => Chart | null): HTMLElement {
  const picture = () => svg(drawn()!.svg, a, drawn()!.notes, origin);
  const list = [button("CSV", () => download("answer.csv", csv(a), "text/csv")), button("JSON", () => download("answer.json", textOf(a), "application/json"))];
  if (drawn()) list.push(button("SVG", () => download("answer.svg", picture(), "image/svg+xml")), button("PNG", async () => download("answer.png", await png(picture()), "image/png")));
  return make("p", { class: "row", id: "save" }, "Save: ", ...list);
}

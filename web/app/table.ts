// The table of an answer, below its chart: all rows, each number with its margin.
import { cell, measured, numeric, type Answer } from "./answer";
import { make, type Attributes } from "./dom";

const most = 1000; // rows that are shown; what is saved has all

export function table(a: Answer, name = "rows of the answer"): HTMLElement {
  const right = a.columns.map((_, j): Attributes => (numeric(a, j) ? { class: "number" } : {})), noisy = a.columns.map((_, j) => measured(a, j));
  const head = a.columns.map((name, j) => make("th", { ...right[j], scope: "col" }, name));
  const body = a.rows.slice(0, most).map((row, i) => make("tr", {}, ...row.map((_, j) => make("td", right[j], cell(a, i, j, noisy[j])))));
  const wide = make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, // scrolls by itself, so it can be reached by keyboard
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
  if (a.rows.length > most) wide.append(make("p", {}, `the first ${most} of ${a.rows.length} rows`));
  return wide;
}

// The table of an answer, below its chart: all rows, each number with its margin.
import { cell, measured, numeric, type Answer } from "./answer";

const most = 1000; // rows that are shown; what is saved has all

export function table(a: Answer, doc: Document = document): HTMLElement {
  const make = (tag: string, text?: string, right = false) => {
    const e = doc.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (right) e.className = "number";
    return e;
  };
  const right = a.columns.map((_, j) => numeric(a, j)), noisy = a.columns.map((_, j) => measured(a, j));
  const head = make("tr");
  a.columns.forEach((name, j) => {
    const th = make("th", name, right[j]);
    th.setAttribute("scope", "col");
    head.append(th);
  });
  const body = make("tbody");
  a.rows.slice(0, most).forEach((row, i) => {
    const tr = make("tr");
    row.forEach((_, j) => tr.append(make("td", cell(a, i, j, noisy[j]), right[j])));
    body.append(tr);
  });
  const thead = make("thead"), all = make("table"), wide = make("div");
  thead.append(head);
  all.append(thead, body);
  wide.className = "wide"; // scrolls by itself, so it can be reached by keyboard
  wide.tabIndex = 0;
  wide.setAttribute("role", "region");
  wide.setAttribute("aria-label", "rows of the answer");
  wide.append(all);
  if (a.rows.length > most) wide.append(make("p", `the first ${most} of ${a.rows.length} rows`));
  return wide;
}

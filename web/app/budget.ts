// Budget: what is left, what was spent, and what came of it.
import { refused, short, type Account, type Budget, type Console, type Page } from "./client";
import { make } from "./dom";
import type { Answer, Value } from "./answer";
import { table } from "./table";

// words says what is left of an account.
export function words(a: Account): string {
  if (a.unit === "ε") return `Privacy loss of releases: ${short(a.spent)} of ${short(a.total)} used.`;
  if (a.unit === "δ") return `δ of releases: ${short(a.spent)} of ${short(a.total)} used.`;
  const pays = /^(about )?(\d+) more direct answers? within (±\d+)/.exec(a.words);
  if (pays) return `Left for direct answers: pays for ${pays[1] ?? ""}${pays[2]} within ${pays[3]}.`;
  return `Left for direct answers: ${a.words || short(a.left)}.`;
}

const meaning = { ε: "More is more exact and less private; nothing comes back.", δ: "", ρ: "" };

function account(a: Account): HTMLElement {
  const bar = make("progress", { max: "1", value: String(+a.total > 0 ? Math.min(1, +a.spent / +a.total) : 1), "aria-label": `${a.table}: ${a.account} ${a.unit}, used` });
  const name = a.account === "quota" ? "your quota" : a.account === "interactive" ? "answers" : "releases";
  return make("div", { class: "account" }, make("span", {}, `${a.table} · ${name} ${a.unit}`), bar, make("span", {}, words(a), " ", make("span", { class: "mute" }, meaning[a.unit])));
}

// strip shows the periods of a table: a cell each, filled as far as its ε is used, and their ranges.
async function strip(c: Console, a: Account): Promise<Node[]> {
  const [, statement] = /(SHOW BUDGET FOR .*) lists them/.exec(a.words) ?? [], all = statement ? await c.client.call<Answer>("ask", { sql: statement }) : null;
  if (!all || refused(all)) return [];
  const at = (row: Value[], name: string) => row[all.columns.indexOf(name)];
  const cells = all.rows.filter((row) => at(row, "state") !== null).flatMap((row) => Array.from({ length: Math.min(+at(row, "number")!, 400) }, () => {
    const used = +(at(row, "epsilon") ?? 0), share = (100 * used) / (used + +(at(row, "epsilon left") ?? 0) || 1), cell = make("span", { title: `${row[0]}: ε ${short(String(used))} used` });
    cell.style.background = `linear-gradient(to top, var(--bar-edge) ${share}%, var(--ground) ${share}%)`;
    return cell;
  }));
  return [make("div", { class: "strip", role: "img", "aria-label": `${a.table}: ${cells.length} periods, a cell each, filled as far as ε is used` }, ...cells),
    make("details", {}, make("summary", {}, `periods of ${a.table}`), table(all, `periods of ${a.table}`))];
}

export function budgetPage(c: Console): Page {
  const element = make("div", { id: "budget" }), listed = (title: string, columns: string[], rows: string[][]) =>
    [make("h2", {}, title), rows.length ? table({ columns, rows }, title) : make("p", { class: "mute" }, "Nothing yet.")];
  const show = async () => {
    element.setAttribute("aria-busy", "true");
    const b = await c.client.call<Budget>("budget"), strips = refused(b) ? [] : await Promise.all(b.accounts.map((a) => strip(c, a)));
    element.removeAttribute("aria-busy");
    if (refused(b)) return element.replaceChildren(make("p", { class: "message", role: "alert" }, b.error.message));
    const charge = (e: { epsilon: string | null; delta: string | null; rho: string | null }) =>
      ([["ε", e.epsilon], ["δ", e.delta], ["ρ", e.rho]] as const).filter(([, x]) => x && x !== "0").map(([unit, x]) => `${unit} ${short(x)}`).join(", ");
    const when = (at: string) => at.slice(0, 16).replace("T", " ");
    element.replaceChildren(make("h2", {}, "What is left"), ...b.accounts.flatMap((a, i) => [account(a), ...strips[i]]),
      ...(b.accounts.length ? [] : [make("p", {}, "No table is granted to you: ask the curator for GRANT SELECT")]),
      ...(b.ledger ? listed("Ledger", ["when", "who", "rows of", "what", "charge", "what came of it"], b.ledger.map((e) => [when(e.at), e.who ?? "", e.rows_of, e.action, charge(e), e.object]))
        : listed("What you bought", ["when", "table", "what", "charge"], (b.purchases ?? []).map((p) => [when(p.at), p.table, p.action, p.rho ? `ρ ${short(p.rho)}` : ""]))));
    c.left(b);
  };
  return { element, show };
}

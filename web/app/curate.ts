// Curate: from a file to a release. What is made is SQL, which stands beside its fields: a field is a
// clause of it, and what is typed into the SQL is read back into the fields.
import type { Answer } from "./answer";
import { listed, refused, short, type Console, type Failure, type Page, type Schema, type Step } from "./client";
import { button, make, question, root, state } from "./dom";

const name = String.raw`"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{M}\p{N}_$]*`;
const columnLine = new RegExp(`^ +(-- )?(${name}) +([A-Z].*?),?(| -- .*)$`, "u");

interface Line { kept: boolean; name: string; clause: string; note: string }

// columnsOf reads the columns of a declaration, a line each, as a draft writes them.
function columnsOf(sql: string): { before: string; lines: Line[]; after: string } {
  const [, before, inner, after] = /^([^]*?CREATE PRIVATE TABLE [^\n]*\(\n)([^]*?)(\n\)[^]*)$/.exec(sql) ?? ["", sql, "", ""];
  return { before, after, lines: inner.split("\n").flatMap((l) => { const m = columnLine.exec(l); return m ? [{ kept: !m[1], name: m[2], clause: m[3].trim(), note: m[4].trim() }] : []; }) };
}

function withColumns(sql: string, change: (lines: Line[]) => void): string {
  const { before, lines, after } = columnsOf(sql);
  change(lines);
  const last = lines.findLastIndex((l) => l.kept);
  return before + lines.map((l, i) => `    ${l.kept ? "" : "-- "}${l.name} ${l.clause}${l.kept && i < last ? "," : ""}${l.note ? ` ${l.note}` : ""}`).join("\n") + after;
}

const optionOf = (sql: string, key: string) => new RegExp(`\\n(?:(?!--)[^\\n])*?\\b${key} = (${name}|[\\d.e-]+)`, "u").exec(sql)?.[1] ?? "";

// withUnit says who is a person: a line of its own, the first of the options. How many rows the draft's comment proposes.
function withUnit(sql: string, unit: string, rows: string): string {
  const without = sql.replace(/\n *unit = [^\n]*/, "");
  return unit ? without.replace(/(\n\) FROM [^\n]* WITH \()/, (head) => `${head}\n    unit = ${unit}, max_rows = ${rows || parseInt(sql.split(`unit = ${unit}, max_rows = `)[1]) || 1},`) : without;
}

const typed = (text: string) => (new RegExp(`^(?:${name})$`, "u").test(text) ? text : `"${text.replaceAll('"', '""')}"`); // in quotes unless it is a name

const labelled = (text: string, field: HTMLElement, after = "") => make("label", {}, `${text} `, field, after);
const number = (id: string, value = "") => make("input", { id, type: "number", min: "0", step: "any", value });

export function curatePage(c: Console): Page {
  const file = make("input", { id: "file", type: "file" }), table = make("input", { id: "table", size: "16" }), switches = make("input", { id: "switches", size: "16" }), notes = make("div", { id: "notes", role: "status" });
  const unit = make("select", { id: "unit" }), most = number("max_rows"), beyond = make("span"), epsilon = number("epsilon"), delta = number("delta");
  const columns = make("div", { id: "declared" }), sql = make("textarea", { id: "declaration", rows: "14", spellcheck: "false" });
  const of = make("select", { id: "of" }), by = make("div", { class: "row", role: "group", "aria-label": "columns of the release" }), exact = make("input", { id: "exact", type: "range", min: "0", max: "3", step: "0.05", value: "1.1" });
  const means = make("p", { id: "means", role: "status" }), release = make("textarea", { id: "release", rows: "3", spellcheck: "false" }), made = make("input", { id: "made", value: "mine" });
  const declare = button("Declare", () => run(sql.parentElement!, sql.value, "the table is declared: 5 makes releases of it", new RegExp(`CREATE PRIVATE TABLE (${name})`, "u").exec(sql.value)?.[1]), { id: "declare", class: "main" });
  const build = button("Build", () => run(release.parentElement!, release.value, "the release is built: Ask answers from it, Publish makes a page of it"), { id: "build", class: "main", disabled: "" });
  const progress = make("div", { id: "progress" }), releases = make("ul", { id: "releases" });
  let last = "", rows = 0, said = false, others: string[] = [], lost = new Map<string, number>(), schema: Schema = { tables: [], releases: [] };

  const say = (box: HTMLElement, ...inner: (Node | string)[]) => box.replaceChildren(...inner);
  const fault = (box: HTMLElement, { error }: Failure) => say(box, make("p", { class: "message", role: "alert" }, `${error.code}: ${error.message}`), ...(error.hint ? [make("p", {}, `Hint: ${error.hint}`)] : []));

  // 1: the file becomes a table that no analyst sees. Read again it is made anew.
  async function read(more = ""): Promise<unknown> {
    [switches.value, sql.value, lost] = [`${switches.value} ${more}`.trim(), "", new Map()];
    fields();
    const raw = `raw_${table.value}`, chosen = file.files?.[0];
    if (chosen) {
      say(notes, `reading ${chosen.name} …`);
      const how = new URLSearchParams({ table: raw, name: chosen.name, ...(raw === last ? { replace: "" } : {}) });
      for (const [, key, value] of switches.value.matchAll(/--([a-z-]+)(?: +(?!--)('[^']*'|\S+))?/g)) how.append(key, (value ?? "").replace(/^'|'$/g, ""));
      const reply = await c.client.call<{ rows: number; columns: { sql: string }[]; notes: string[] }>(`import?${how}`, chosen);
      const told = refused(reply) ? [reply.error.hint ?? ""] : reply.notes ?? [];
      const offers = new Set(told.flatMap((n) => n.match(/--numbers|--replace|--skip-last \d+|--(?:encoding|null|date) (?:'[^']*'|[^\s;,:]+)|--decimal [,.]/g) ?? []).filter((offer) => !switches.value.includes(offer)));
      for (const reading of (reply as { readings?: string[] }).readings ?? []) offers.add(`--date '${reading}'`);
      if (refused(reply)) fault(notes, reply);
      else say(notes, make("p", {}, `${reply.rows} rows are read into ${raw}.`), ...told.map((n) => make("p", { class: "mute" }, n)));
      if (offers.size) notes.append(make("p", { class: "row" }, ...[...offers].map((offer) => button(`Read with ${offer}`, () => read(offer)))));
      if (refused(reply)) return;
      [last, rows, others] = [raw, reply.rows, reply.columns.map((x) => x.sql)];
    }
    const draft = await c.client.call<{ sql: string }>("draft", { table: raw });
    if (refused(draft)) return fault(notes, draft);
    sql.value = draft.sql;
    said = optionOf(sql.value, "unit") !== "";
    fields();
    void check();
  }

  // fields shows the clauses of the declaration.
  function fields() {
    const { lines } = columnsOf(sql.value), chosen = optionOf(sql.value, "unit"), names = new Set([...others, ...lines.map((l) => l.name), ...(chosen ? [chosen] : [])]);
    for (const later of element.querySelectorAll<HTMLElement>(".drafted")) later.hidden = sql.value === "";
    say(unit, ...(said ? [] : [make("option", { value: "?" }, "choose …")]), make("option", { value: "" }, "each row is a person"), ...[...names].map((n) => make("option", { value: n }, n)));
    declare.disabled = !said;
    [unit.value, most.value, epsilon.value, delta.value] = [said ? chosen : "?", optionOf(sql.value, "max_rows"), optionOf(sql.value, "epsilon"), optionOf(sql.value, "delta")];
    const says = (n?: number) => (n === undefined ? "" : `${rows ? `${+((100 * n) / rows).toPrecision(2)} % of rows` : `${n} rows`} (exact, for your eyes)`), cut = lost.get(`max_rows = ${most.value}`);
    [beyond.className, beyond.textContent] = [cut ? "message" : "mute", cut === undefined ? "" : `beyond: ${says(cut)}`];
    say(columns, ...lines.map((l, i) => {
      const put = (change: (l: Line) => void) => ((sql.value = withColumns(sql.value, (all) => change(all[i]))), fields(), void check());
      const kept = make("input", { type: "checkbox", ...(l.kept ? { checked: "" } : {}) }), clause = make("input", { value: l.clause, "aria-label": `${l.name}: type and domain` });
      kept.addEventListener("change", () => put((x) => (x.kept = kept.checked)));
      clause.addEventListener("change", () => put((x) => (x.clause = clause.value)));
      const offers = ["NULL", "OTHER"].map((word) => {
        const box = make("input", { type: "checkbox", ...(l.clause.includes(` OR ${word}`) ? { checked: "" } : {}) });
        box.addEventListener("change", () => put((x) => (x.clause = box.checked ? `${x.clause} OR ${word}` : x.clause.replace(` OR ${word}`, ""))));
        return make("label", {}, box, ` ${word}`);
      });
      const n = lost.get(l.name), share = n === undefined ? "" : `outside: ${says(n)}`;
      return make("div", { class: "column", role: "group", "aria-label": l.name }, make("label", {}, kept, ` ${l.name}`), clause, make("span", { class: "row" }, ...offers), make("span", { class: n ? "message" : "mute" }, share));
    }));
  }

  async function check() {
    const asked = sql.value, reply = await c.client.call<{ text: string }>("check", { sql: asked });
    if (asked !== sql.value) return;
    if (refused(reply)) return fault(notes, reply);
    lost = new Map([...reply.text.matchAll(/^(.*?): (\d+) rows? lost/gm)].map((m) => [m[1], +m[2]]));
    fields();
  }

  // follow shows what a statement tells while it runs, and returns its result.
  async function follow(steps: AsyncGenerator<Step>, what: string): Promise<Answer | null> {
    const bar = make("progress", { max: "1", "aria-label": what }), cancel = button("Cancel", () => {}, { id: "cancel" });
    const share = make("span");
    say(progress, make("p", { class: "row" }, bar, share, cancel));
    state("answering");
    for await (const step of steps) {
      if (step.id) cancel.onclick = () => c.client.call("cancel", { id: step.id });
      if (step.progress !== undefined) [bar.value, share.textContent] = [step.progress, `${Math.floor(100 * step.progress)} %`];
      if (step.error) fault(progress, step as Failure);
      if (step.result) say(progress, make("p", { role: "status" }, step.result.note || `Done: ${what}`), ...(step.result.warnings ?? []).map((w) => make("p", { class: "message" }, `warning: ${w}`)));
      if (step.error || step.result) state(step.error ? "refused" : "answered");
      if (step.result) return (void c.left(), step.result);
    }
    if (root.dataset.state === "answering") state("ready"); // the connection ended: a reload finds it
    return null;
  }
  const run = (from: HTMLElement, text: string, what: string, table = of.value) => (from.after(progress), follow(c.client.lines("run", { sql: text }), what).then((a) => a && describe(table)));

  // describe shows what can be released, and what is.
  async function describe(table = of.value) {
    const s = await c.client.call<Schema>("schema");
    if (refused(s)) return;
    schema = s;
    const tables = s.tables.filter((t) => t.kind === "private");
    say(of, ...tables.map((t) => make("option", { value: t.sql }, t.name)));
    of.closest("section")!.hidden = tables.length === 0;
    for (let i = 2; s.releases.some((r) => r.name === made.value); i++) made.value = `${made.value.replace(/_\d+$/, "")}_${i}`;
    of.value = tables.some((t) => t.sql === table) ? table : tables.at(-1)?.sql ?? "";
    say(releases, ...s.releases.map((r) => make("li", {}, `${r.name} ON ${r.table} (${r.columns}), ε ${short(r.epsilon)} `, button("Drop", async () => {
      if (await question(`DROP RELEASE ${r.name}?`, ["What was paid for it does not come back. Type its name:"], "Drop", r.name)) void run(releases, `DROP RELEASE ${r.sql}`, `${r.name} is dropped`);
    }, { class: "link", "aria-label": `Drop ${r.name}` }))));
    choose();
  }
  function choose() {
    const table = schema.tables.find((t) => t.sql === of.value), first = table?.columns.filter((col) => listed(col).length).slice(0, 2) ?? []; // more cells would have more noise
    say(by, ...(table?.columns ?? []).map((col) => make("label", {}, make("input", { type: "checkbox", value: col.sql, ...(first.includes(col) ? { checked: "" } : {}) }), ` ${col.name}`)));
    void price(true);
  }

  // price finds the ε whose counts are as exact as is asked for. It reads no row.
  let turn = 0;
  async function price(proposed = false) {
    const mine = ++turn, chosen = [...by.querySelectorAll<HTMLInputElement>("input:checked")].map((x) => x.value);
    build.disabled = true;
    if (!chosen.length) return say(means, "Choose columns.");
    const create = (e: number) => `CREATE RELEASE ${typed(made.value)} ON ${of.value} (${chosen.join(", ")}) WITH (epsilon = ${e})`;
    const explained = async (e: number) => {
      const reply = await c.client.call<Answer>("ask", { sql: `EXPLAIN ${create(e)}` }), { rows, columns } = refused(reply) ? { rows: [], columns: [] } : reply;
      return { error: refused(reply) ? reply.error : null, note: String(rows[0]?.[columns.indexOf("note")] ?? ""), margin: Number(rows.map((r) => r[columns.indexOf("margin")]).find((m) => m !== null) ?? NaN) };
    };
    const first = await explained(0.01), [, left] = /leave ε ([\d.]+)/.exec(first.note) ?? [];
    if (mine !== turn) return;
    if (proposed && left) exact.value = String(Math.log10((0.01 * first.margin) / (+left / 2))); // half of what is left
    const e = +Math.min(Math.max((0.01 * first.margin) / 10 ** +exact.value, 0.001), 100).toPrecision(2), then = first.error ? first : await explained(e);
    if (mine !== turn) return;
    build.disabled = Boolean(then.error) || then.note.startsWith("refused");
    if (then.error) return fault(means, then as Failure);
    release.value = `${create(e)};`;
    say(means, `± ${then.margin} for 95 % of counts → ε = ${e}, on invented rows; ${then.note}`);
  }

  file.addEventListener("change", () => ((switches.value = ""), (table.value = (file.files?.[0]?.name ?? "").replace(/\..*$/, "").normalize("NFC").replace(/[^\p{L}\p{M}\p{N}]+/gu, "_").replace(/^_|_$/g, "").toLowerCase())));
  sql.addEventListener("change", () => (fields(), void check()));
  for (const x of [unit, most]) x.addEventListener("change", () => {
    said = unit.value !== "?";
    if (said) sql.value = withUnit(withColumns(sql.value, (all) => all.forEach((l) => l.name === unit.value && x === unit && (l.kept = false))), unit.value, most.value);
    fields();
    void check();
  });
  for (const [x, key] of [[epsilon, "epsilon"], [delta, "delta"]] as const) x.addEventListener("change", () => ((sql.value = sql.value.replace(new RegExp(`(\\n *${key} = )[\\d.e-]+`), `$1${x.value}`)), fields()));
  of.addEventListener("change", choose);
  release.addEventListener("input", () => (turn++, (build.disabled = false))); // what is typed stays
  for (const x of [by, exact, made]) x.addEventListener("change", () => void price());
  const step = (title: string, ...inner: (Node | string)[]) => make("section", /^[234]/.test(title) ? { class: "drafted", hidden: "" } : {}, make("h2", {}, title), ...inner);
  const element = make("div", { id: "curate" },
    step("1 File", make("p", { class: "row" }, labelled("CSV or Parquet: choose it, or drop it here", file), labelled("table", table), labelled("switches", switches), button("Read", () => read(), { id: "read", class: "main" })), notes),
    step("2 Who is a person?", make("p", {}, "Who is a person here? All rows of a person are protected together."), make("p", { class: "row" }, unit, labelled("at most", most, " rows each"), beyond)),
    step("3 Columns", columns),
    step("4 Budget", make("p", { class: "row" }, labelled("ε of everything that is ever answered", epsilon), labelled("δ, far below 1 / rows", delta)),
      labelled("SQL", sql), declare),
    step("5 Releases", make("p", { class: "row" }, labelled("of", of), labelled("named", made)), by, labelled("How exact?", exact), means, labelled("SQL", release), build, progress, releases));
  unit.setAttribute("aria-label", "Who is a person?");

  const show = async () => {
    void describe();
    const running = await c.client.call<{ id: string; sql: string; done: boolean }[]>("runs");
    if (refused(running) || root.dataset.state === "answering") return;
    const found = running.find((r) => !r.done);
    if (found) void follow(c.client.lines("watch", { id: found.id }), found.sql).then((a) => a && describe());
  };
  return { element, show };
}

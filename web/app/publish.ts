// Publish: releases as one page, with the card that its readers see.
import { refused, short, type Console, type Page, type Release, type Schema, type Table } from "./client";
import { button, make } from "./dom";
import { download } from "./save";

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

export function publishPage(c: Console): Page {
  const list = make("div", { role: "group", "aria-label": "releases" }), beside = make("div", { role: "group", "aria-label": "public tables" }), said = make("p", { id: "said", role: "status" }), sql = make("textarea", { id: "export", rows: "5", spellcheck: "false" });
  const card = make("div", { id: "preview", role: "region", "aria-label": "preview of the card" }), entries = ["title", "about", "cite", "doi", "publisher", "contact", "licence"].map((key) => make("input", { id: `card-${key}`, name: key }));
  let releases: Release[] = [], tables: Table[] = [];

  function compose() {
    const chosen = releases.filter((r) => list.querySelector<HTMLInputElement>(`input[value="${CSS.escape(r.name)}"]`)!.checked), filled = entries.filter((e) => e.value.trim() !== "");
    const options = filled.map((e) => `${e.name} = ${literal(e.value.trim())}`), publics = [...beside.querySelectorAll<HTMLInputElement>("input:checked")].map((x) => x.value);
    if (publics.length) options.push(`public = (${publics.join(", ")})`);
    const file = `${(entries[0].value || "release").replace(/[^\p{L}\p{M}\p{N}]+/gu, "_").toLowerCase()}.html`;
    sql.value = chosen.length ? `EXPORT RELEASE ${chosen.map((r) => r.sql).join(", ")} TO ${literal(file)}${options.length ? ` WITH (${options.join(", ")})` : ""};` : "";
    card.replaceChildren(make("h3", {}, entries[0].value || "(title)"), ...(entries[1].value ? [make("p", {}, entries[1].value)] : []),
      make("dl", {}, ...filled.filter((e) => e !== entries[0] && e !== entries[1]).flatMap((e) => [make("dt", {}, e.name), make("dd", {}, e.value)]),
        ...tables.filter((t) => chosen.some((r) => r.table === t.name)).flatMap((t) => [make("dt", {}, t.name), make("dd", {}, t.unit ? `all rows of a person are protected together: ${t.unit}` : "each row is protected by itself"),
          ...t.columns.flatMap((col) => [make("dt", {}, col.name), make("dd", {}, col.domain || col.type)])]),
        ...chosen.flatMap((r) => [make("dt", {}, r.name), make("dd", {}, `${r.table}: ${r.columns} · ${r.method} · privacy loss ε = ${short(r.epsilon)}${r.delta && r.delta !== "0" ? `, δ = ${short(r.delta)}` : ""} · built ${r.created.slice(0, 10)}`)])));
    return file;
  }

  async function makePage() {
    const file = compose();
    said.textContent = "making the page …";
    const page = await c.client.bytes("export", { sql: sql.value });
    said.className = refused(page) ? "message" : "";
    if (refused(page)) return (said.textContent = `${page.error.code}: ${page.error.message}${page.error.hint ? `. ${page.error.hint}` : ""}`);
    download(file, page, "text/html");
    said.textContent = `${file}: ${(page.size / 1e6).toFixed(1)} MB. It answers in any browser, without a server.`;
  }

  const element = make("div", { id: "publish" }, make("section", {}, make("h2", {}, "Releases"), list, make("h2", {}, "Card"), ...entries.map((e) => make("label", {}, e.name, e)), beside, make("label", {}, "SQL", sql),
    make("p", {}, button("Make the page", makePage, { id: "make", class: "main" })), said), make("section", {}, make("h2", {}, "As readers see it"), card));
  element.addEventListener("input", (e) => e.target === sql || compose());
  const show = async () => {
    const s = await c.client.call<Schema>("schema");
    if (refused(s)) return;
    const cancelled = (r: Release) => +r.method.includes("not fitted yet");
    releases = s.releases.sort((x, y) => cancelled(x) - cancelled(y) || y.created.localeCompare(x.created)); // the latest first
    tables = s.tables;
    beside.replaceChildren(...tables.filter((t) => t.kind === "public").map((t) => make("label", {}, make("input", { type: "checkbox", value: t.sql }), ` with the public table ${t.name}, for joins`)));
    list.replaceChildren(...releases.map((r, i) => make("label", {}, make("input", { type: "checkbox", value: r.name, ...(i === 0 ? { checked: "" } : {}) }), ` ${r.name} (${r.columns})`)), ...(releases.length ? [] : [make("p", {}, "There is no release yet: Curate builds one.")]));
    compose();
  };
  return { element, show };
}

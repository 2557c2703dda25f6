// The editor of SQL: CodeMirror over a <textarea>, which holds the text and serves alone where
// CodeMirror does not: on phones, for screen readers that read by lines, and with ?plain.
import { acceptCompletion, autocompletion, type CompletionContext } from "@codemirror/autocomplete";
import { SQLite, sql } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import type { Completion } from "./api";

export interface Editor {
  text(): string;
  set(text: string): void;
  mark(position: number): void; // underlines the word at a character, from 1; 0 underlines nothing
  focus(): void;
}

export interface Hooks {
  run(): void;
  back(): void; // to the statement before
  complete(sql: string, at: number): Promise<Completion[]>;
  changed?(): void; // the text
}

// units and characters are places in a text: JavaScript counts UTF-16, dpsql characters.
const units = (text: string, characters: number) => [...text].slice(0, characters).join("").length;
const characters = (text: string, units: number) => [...text.slice(0, units)].length;

export function editor(area: HTMLTextAreaElement, plain: boolean, hooks: Hooks): Editor {
  return plain ? simple(area, hooks) : rich(area, hooks);
}

function simple(area: HTMLTextAreaElement, hooks: Hooks): Editor {
  area.addEventListener("keydown", (e) => {
    const run = e.key === "Enter" && (e.ctrlKey || e.metaKey), back = e.key === "ArrowUp" && e.altKey;
    if (run || back) e.preventDefault();
    if (run) hooks.run();
    if (back) hooks.back();
  });
  area.addEventListener("input", () => hooks.changed?.());
  return {
    text: () => area.value,
    set: (text) => {
      if (text !== area.value) (area.value = text), hooks.changed?.();
    },
    mark: (position) => {
      if (position > 0) area.setSelectionRange(units(area.value, position - 1), units(area.value, position));
    },
    focus: () => area.focus(),
  };
}

const setFault = StateEffect.define<number>();
const fault = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(setFault)) continue;
      const all = change.state.doc.toString(), from = units(all, effect.value - 1);
      const to = from + (/^\w+|^[^]/u.exec(all.slice(from))?.[0].length ?? 0);
      return effect.value > 0 && to > from ? Decoration.set(Decoration.mark({ class: "fault" }).range(from, to)) : Decoration.none;
    }
    return change.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--ground)", fontSize: "15px", border: "1px solid var(--edge)", borderRadius: "6px" },
  "&.cm-focused": { outline: "3px solid var(--accent)" },
  ".cm-content": { minHeight: "5.5rem", caretColor: "var(--text)", fontFamily: "var(--mono)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--mute)", borderRadius: "6px 0 0 6px", borderRight: "1px solid var(--edge)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--band)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--ground)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--ground)" },
  ".fault": { textDecoration: "underline wavy var(--warn)" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "bold" },
  { tag: [tags.string, tags.number], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--mute)" },
]);

// rich puts CodeMirror into a shadow root: there its rules are a sheet of the script, which the
// page's policy lets in, and not a <style>, which it does not.
function rich(area: HTMLTextAreaElement, hooks: Hooks): Editor {
  const host = document.createElement("div");
  host.id = "editor";
  area.after(host);
  area.hidden = true;
  const root = host.attachShadow({ mode: "open" });
  const complete = async (c: CompletionContext) => {
    const text = c.state.doc.toString();
    if (!c.explicit && !c.matchBefore(/\w+/)) return null;
    const found = await hooks.complete(text, characters(text, c.pos));
    if (!Array.isArray(found) || found.length === 0) return null;
    return { from: units(text, found[0].from), options: found.map((f) => ({ label: f.text, detail: f.kind })), filter: false };
  };
  const key = (run: () => void) => () => (run(), true);
  const view = new EditorView({
    root,
    parent: root,
    doc: area.value,
    extensions: [
      Prec.highest(keymap.of([
        { key: "Mod-Enter", run: key(hooks.run) },
        { key: "Alt-ArrowUp", run: key(hooks.back) },
        { key: "Tab", run: acceptCompletion }, // else Tab leaves the editor
      ])),
      basicSetup, sql({ dialect: SQLite }), autocompletion({ override: [complete] }),
      theme, syntaxHighlighting(colours), fault, EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "SQL" }),
      EditorView.updateListener.of((u) => {
        if (!u.docChanged) return;
        area.value = u.state.doc.toString();
        hooks.changed?.();
      }),
    ],
  });
  const set = (text: string) => {
    if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    area.value = text;
  };
  area.addEventListener("input", () => set(area.value));
  return {
    text: () => (set(area.value), area.value), // a program may have written into the textarea
    set,
    mark: (position) => { if (position || view.state.field(fault).size) view.dispatch({ effects: setFault.of(position) }); },
    focus: () => view.focus(),
  };
}

// Elements. Data comes into a page as text alone: nothing here reads markup.
export type Attributes = Record<string, string>;

export const make = <K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...inner: (Node | string)[]) => filled(document.createElement(tag), attributes, inner);

// draw makes an element of a picture.
export const draw = (tag: string, attributes: Attributes, ...inner: (Node | string)[]) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement, attributes, inner);

function filled<E extends Element>(e: E, attributes: Attributes, inner: (Node | string)[]): E {
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...inner);
  return e;
}

export function button(text: string, act: () => unknown, attributes: Attributes = {}): HTMLButtonElement {
  const e = make("button", { type: "button", ...attributes }, text);
  e.addEventListener("click", act);
  return e;
}

export type State = "loading" | "login" | "ready" | "answering" | "answered" | "refused" | "damaged";

export const root = document.documentElement;
export const state = (s: State) => (root.dataset.state = s);

// question asks something once. Enter says no: the button for that has the focus. Where a text is to be
// typed, yes waits for it.
export function question(title: string, lines: string[], yes: string, typed = ""): Promise<boolean> {
  const no = button("Not now", () => box.close(), { autofocus: "" }), input = make("input", { "aria-label": typed, autocomplete: "off" });
  const go = button(yes, () => box.close("yes"), { id: "yes" });
  const box = make("dialog", { "aria-label": title }, make("h2", {}, title), ...lines.map((l) => make("p", {}, l)), ...(typed ? [input] : []), make("p", { class: "row" }, no, go));
  go.disabled = typed !== "";
  input.addEventListener("input", () => (go.disabled = input.value !== typed));
  return open(box).then((value) => value === "yes");
}

// open shows a dialog until it is closed, and returns what it was closed with.
export function open(box: HTMLDialogElement): Promise<string> {
  document.body.append(box);
  box.showModal();
  return new Promise((done) => box.addEventListener("close", () => (box.remove(), done(box.returnValue))));
}

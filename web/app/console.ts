// The console: four pages over one session. What programs read of it: <html data-state>, form#login,
// textarea#sql, button#run, script#answer, #result table.
import { askPage } from "./ask";
import { budgetPage, words } from "./budget";
import { Client, refused, type Budget, type Console, type Page, type Session } from "./client";
import { curatePage } from "./curate";
import { button, make, open, root, state, type State } from "./dom";
import { publishPage } from "./publish";

const curators = ["/curate", "/publish"];
const makers: Record<string, [string, (c: Console) => Page]> = { "/ask": ["Ask", askPage], "/budget": ["Budget", budgetPage], "/curate": ["Curate", curatePage], "/publish": ["Publish", publishPage] };
const pages = new Map<string, Page>();
const main = make("main", { id: "main", tabindex: "-1" }), links = make("nav", { "aria-label": "Pages" }), leftWords = make("p", { id: "left" }), who = make("p", { class: "row", id: "who" });
const client = new Client(() => (logging ??= login().finally(() => (logging = null))));
let logging: Promise<void> | null = null;
let shared: Console;

// Tabs have one cookie, so they have one token: a new tab asks the others for it, and a login tells them.
const tabs = new BroadcastChannel("dpsql");
const others = () => new Promise<void>((done) => (tabs.postMessage("token?"), tabs.addEventListener("message", () => done(), { once: true }), setTimeout(done, 200)));
tabs.addEventListener("message", ({ data }: MessageEvent<"token?" | { token: string; user: string }>) => {
  const token = sessionStorage.getItem("token");
  if (data === "token?") return token && shared && tabs.postMessage({ token, user: shared.session.user });
  sessionStorage.setItem("token", data.token);
  if (shared && shared.session.user !== data.user) location.reload(); // what stands here is another one's
});

// login asks for a password over the page, or takes the key of the curator's link.
async function login() {
  const before = (root.dataset.state ?? "loading") as State, key = new URLSearchParams(location.hash.slice(1)).get("key");
  const enter = async (body: object) => {
    const reply = await client.call<Session & { token: string }>("login", body);
    if (refused(reply)) return reply.error.message;
    sessionStorage.setItem("token", reply.token);
    tabs.postMessage({ token: reply.token, user: reply.user });
    if (shared && shared.session.user !== reply.user) location.reload();
    return "";
  };
  let fault = "";
  if (key) {
    history.replaceState(null, "", location.pathname);
    fault = await enter({ key });
    if (!fault) return;
  } else if (!sessionStorage.getItem("token")) {
    await others();
    if (sessionStorage.getItem("token")) return;
  }
  sessionStorage.removeItem("token");
  const user = make("input", { id: "user", autocomplete: "username", required: "", value: shared?.session.user ?? "" });
  const password = make("input", { id: "password", type: "password", autocomplete: "current-password", required: "" });
  const message = make("p", { class: "message", role: "alert" }, fault);
  const form = make("form", { id: "login" }, make("h2", {}, "Log in"), make("label", {}, "User", user), make("label", {}, "Password", password), message,
    make("p", { class: "row" }, make("button", { class: "main" }, "Log in")), make("p", { class: "mute" }, "The curator comes by the link that dpsql web prints."));
  const box = make("dialog", { closedby: "none", "aria-label": "Log in" }, form);
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    message.textContent = await enter({ user: user.value, password: password.value });
    if (message.textContent === "") box.close();
  });
  const closes = ({ data }: MessageEvent) => data !== "token?" && box.close();
  tabs.addEventListener("message", closes);
  state("login");
  await open(box);
  tabs.removeEventListener("message", closes);
  state(before === "login" ? "loading" : before);
}

const shown = (path: string, s: Session) => path in makers && (s.role === "curator" || !curators.includes(path));

function go(path: string) {
  const known = shown(path, shared.session) ? path : "/ask";
  if (location.pathname !== known) history.pushState(null, "", known);
  for (const link of links.children) {
    if (link.getAttribute("href") === known) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!pages.has(known)) pages.set(known, makers[known][1](shared));
  document.title = `${makers[known][0]} · ${shared.session.database} · dpsql`;
  main.replaceChildren(pages.get(known)!.element);
  pages.get(known)!.show();
}

async function left(b?: Budget) {
  const budget = b ?? (await client.call<Budget>("budget"));
  if (refused(budget)) return;
  const own = budget.accounts.filter((a) => a.account === "quota"), all = (own.length ? own : budget.accounts).filter((a) => a.unit !== "δ");
  leftWords.replaceChildren(...all.slice(0, 3).map((a) => make("span", {}, `${a.table}: ${words(a)}`)), ...(all.length > 3 ? ["…"] : []));
}

const keys = [["Ctrl-Enter", "answers; never buys without asking"], ["Ctrl-Space", "completes"], ["Alt-↑", "the statement before"], ["Esc, then Tab", "leaves the editor"], ["?", "this list"]];
const help = () => open(make("dialog", { "aria-label": "Keys" }, make("h2", {}, "Keys"), make("dl", {}, ...keys.flatMap(([k, what]) => [make("dt", {}, k), make("dd", {}, what)])), make("form", { method: "dialog" }, make("button", {}, "Close"))));

async function start() {
  state("loading");
  if (location.hash.startsWith("#key=")) await login();
  const session = await client.call<Session>("session");
  if (refused(session)) return document.body.replaceChildren(make("main", {}, make("h1", {}, "dpsql"), make("p", { class: "message", role: "alert" }, session.error.message)));
  shared = { client, session, left, go };
  for (const [path, [name]] of Object.entries(makers)) if (shown(path, session)) links.append(make("a", { href: path }, name));
  const out = async () => (await client.call("logout", {}), sessionStorage.removeItem("token"), location.reload());
  who.replaceChildren(make("span", { class: "mute" }, session.role === "curator" ? "curator" : session.user), button("?", help, { "aria-label": "Keys" }), button("Log out", out, { id: "logout" }));
  const skip = make("a", { href: "#main", class: "skip" }, "Skip to the page");
  document.body.replaceChildren(skip, make("header", { id: "top" }, make("h1", {}, session.database), links, who, leftWords), main);
  document.body.addEventListener("click", (e) => {
    const link = (e.target as Element).closest("nav a");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    go(link.getAttribute("href")!);
  });
  skip.addEventListener("click", (e) => (e.preventDefault(), main.focus()));
  addEventListener("popstate", () => go(location.pathname));
  addEventListener("keydown", (e) => {
    if (e.key === "?" && !(e.composedPath()[0] as Element).closest("input, textarea, select, [contenteditable], dialog")) void help();
  });
  state("ready");
  go(location.pathname);
  void left();
}

void start();

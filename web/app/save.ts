// What people take with them: the answer as CSV and JSON, and its chart as SVG and PNG with all that
// it takes to say where a number is from.
import { line, measured, type Answer, type Ends } from "./answer";
import { draw, make } from "./dom";

export interface Origin {
  title: string;
  sql: string;
  date: string;
  digest?: string;
}

// csv has three columns more for each private one: its margin, and both ends of its interval.
export function csv(a: Answer): string {
  const quote = (v: unknown) => (v === null || v === undefined ? "" : /[",\r\n]|^\s|\s$/.test(String(v)) || v === "" ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  const wide = a.columns.map((_, j) => measured(a, j));
  const head = a.columns.flatMap((name, j) => (wide[j] ? [name, `${name}_margin`, `${name}_low`, `${name}_high`] : [name]));
  const rows = a.rows.map((row, i) => row.flatMap((v, j) => (wide[j] ? [v, a.margins?.[i]?.[j], ...(a.intervals?.[i]?.[j] ?? ([null, null] as Ends))] : [v])));
  return [head, ...rows].map((cells) => cells.map(quote).join(",") + "\r\n").join("");
}

// svg returns a chart that stands alone: its colours in it, in the light, and its origin below.
export function svg(chart: SVGSVGElement, a: Answer, notes: string[], o: Origin): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const width = +copy.getAttribute("width")!, height = +copy.getAttribute("height")!;
  const lines = [o.title, ...wrap(o.sql.replace(/\s+/g, " "), width / 6.4), line(a), ...notes, o.digest ? `${o.date} · digest ${o.digest.slice(0, 16)}` : o.date].flatMap((text) => wrap(text, width / 6.4));
  const full = height + 16 * lines.length + 12;
  for (const [k, v] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", height: full, viewBox: `0 0 ${width} ${full}`, color: "#1b1f24" })) copy.setAttribute(k, String(v));
  copy.prepend(draw("style", {}, `.chart{font:12px system-ui,sans-serif;${colours()}} text{white-space:pre}`), draw("rect", { width: "100%", height: "100%", fill: "#fff" }));
  copy.append(...lines.map((text, i) => draw("text", { x: "8", y: String(height + 16 * (i + 1)), "text-anchor": "start", "font-size": "12" }, text)));
  return new XMLSerializer().serializeToString(copy);
}

// colours are the light ones of the page's sheet.
function colours(): string {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "text", "mute", "axis", "bar", "bar-edge", "whisker", "band", "band-edge", "line", "noise"];
  return names.map((n) => `--${n}:${style.getPropertyValue(`--${n}`).replace(/light-dark\((.*?),.*\)/, "$1")}`).join(";");
}

function wrap(text: string, letters: number): string[] {
  const out: string[] = [""];
  for (const word of text.split(" ")) {
    if (out.at(-1) !== "" && out.at(-1)!.length + word.length >= letters) out.push("");
    out.push((out.pop()! + " " + word).trim());
  }
  return out;
}

// png draws an SVG at twice its size.
export async function png(text: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = make("canvas", { width: String(2 * image.width), height: String(2 * image.height) });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture")))));
}

export function download(name: string, content: Blob | string, type: string) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}

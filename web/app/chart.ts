// Charts of an answer. Observable Plot draws; what is here decides what may be seen: every number
// with its interval, from the intervals of the answer and never from a margin.
import * as Plot from "@observablehq/plot";
import { amount, count, measured, numeric, percent, plain, type Answer, type Ends, type Value } from "./answer";
import { draw } from "./dom";

export interface Options {
  width: number;
  ordered?: boolean; // ORDER BY says where OTHER and NULL stand
  together?: number; // how many points the confidence holds for at once
}

export interface Chart {
  svg: SVGSVGElement;
  summary: string; // of the picture, for whoever does not see it
  notes: string[]; // what its marks mean
}

// point is a number of the column that is drawn.
interface Point {
  key: string; // of the last label column, which is an axis
  panel: string;
  at: number; // the key as a number, for a line
  value: number;
  low: number | null;
  high: number | null;
  open: number; // bits: 1 has no lower end, 2 has no upper end
  known: boolean; // there is an interval
  noise: boolean; // the margin is over half the number
  text: string;
}

export const belowZero = "less than zero is noise"; // SET clamp = on takes it away

const most = { bars: 40, panels: 6, each: 20, keys: 12, label: 40 };
const row = 26, letter = 7.2; // pixels of a row, and of a character of 12 px
const apart = ["(other)", "(no value)"];
const gap = "\u0000", head = "\u0001"; // rows without a bar: before what stands apart, and for a panel's name

// chart draws the first private column of numbers; null if there is nothing to compare.
export function chart(a: Answer, o: Options): Chart | null {
  const drawn = a.columns.findIndex((_, j) => numeric(a, j) && measured(a, j));
  if (drawn < 0 || a.mechanism === "constant") return null;
  const labels = a.columns.map((_, j) => j).filter((j) => j !== drawn && !measured(a, j) && !fraction(a, j));
  let points = a.rows.flatMap((cells, i) => (typeof cells[drawn] === "number" ? [pointOf(a, i, drawn, labels)] : []));
  if (points.length < 2 || labels.length === 0) return null;
  const panels = distinct(points.map((p) => p.panel)), keys = distinct(points.map((p) => p.key));
  const inner = keys.filter((key) => !apart.includes(key)), places = labels.length > 2 ? null : order(inner);
  const line = places !== null && inner.length > most.keys && points.length === distinct(points.map((p) => p.panel + gap + p.key)).length;
  const notes: string[] = [];
  if (line) {
    points.forEach((p) => (p.at = places.get(p.key) ?? NaN));
    points = keep(points, panels, most.panels, "panel", notes);
  } else {
    points = cut(points, panels, keys, notes);
    if (!o.ordered) points = [...points.filter((p) => !apart.includes(p.key)), ...points.filter((p) => p.key === apart[0]), ...points.filter((p) => p.key === apart[1])];
  }
  const scene = sceneOf(points, a, o);
  notes.push(...legend(points, a, o, line, scene.noise));
  const svg = line ? lines(points, scene, inner, places!) : bars(points, scene, o.ordered === true, steps(inner.length === keys.length ? places : null));
  const names = labels.map((j) => a.columns[j]).join(" and ");
  const noisy = points.filter((p) => p.noise).length;
  const summary = `${a.columns[drawn]} by ${names}: ${count(points.length, "number")} from ${plain(Math.min(...points.map((p) => p.value)))} to ${plain(Math.max(...points.map((p) => p.value)))}` +
    (a.confidence && points.some((p) => p.known) ? `, with margins at ${percent(a.confidence)}` : ", no margins") + (noisy ? `; ${noisy} of ${points.length} mostly noise` : "");
  for (const style of svg.querySelectorAll("style")) style.remove(); // its rules are in the page's sheet
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // it is one image
  for (const [name, value] of [["role", "img"], ["aria-label", summary]]) svg.setAttribute(name, value);
  return { svg, summary, notes };
}

function pointOf(a: Answer, i: number, drawn: number, labels: number[]): Point {
  const ends = (a.intervals?.[i]?.[drawn] ?? null) as [number | null, number | null] | null;
  const value = a.rows[i][drawn] as number, [low, high] = ends ?? [null, null];
  const names = labels.map((j) => name(a.rows[i][j]));
  const panel = names.length === 2 ? names[0] : "", key = names.length === 2 ? names[1] : names.join(" · ");
  const wide = ends !== null && (low === null || high === null || Math.max(value - low, high - value) > Math.abs(value) / 2);
  const text = ends ? (wide ? "≈ " : "") + amount(value, ends as Ends) : `${plain(value)} no margin`;
  return { key, panel, at: i, value, low, high, open: ends ? +(low === null) + 2 * +(high === null) : 0, known: ends !== null, noise: wide, text };
}

// name is a value as a chart has it; the empty text is ''.
const name = (v: Value): string => (v === null ? "(no value)" : v === "OTHER" ? "(other)" : String(v) || "''");
const fraction = (a: Answer, j: number) => a.rows.some((cells) => typeof cells[j] === "number" && !Number.isInteger(cells[j]));
const distinct = <T>(all: T[]): T[] => [...new Set(all)];

// order returns the places of keys that are numbers, months or days; null for others.
function order(keys: string[]): Map<string, number> | null {
  const place = (key: string): number => {
    const month = /^(\d{4})-(\d\d)$/.exec(key);
    if (month) return +month[1] * 12 + +month[2] - 1;
    if (/^\d{4}-\d\d-\d\d/.test(key)) return Date.parse(key.length === 10 ? key : key.replace(" ", "T") + "Z") / 86400e3;
    return /^-?\d+(\.\d+)?$/.test(key) ? +key : NaN;
  };
  const shapes = distinct(keys.map((key) => key.replace(/\d/g, "0").replace(/^-?0+(\.0+)?$/, "0")));
  const places = new Map(keys.map((key) => [key, place(key)]));
  return shapes.length === 1 && ![...places.values()].some(Number.isNaN) ? places : null;
}

// least is the smallest distance of two places.
function least(places: number[]): number {
  const sorted = [...places].sort((x, y) => x - y);
  return Math.min(...sorted.slice(1).map((x, i) => x - sorted[i]));
}

// steps reports whether keys are steps of more than one: their bars touch.
function steps(places: Map<string, number> | null): boolean {
  if (!places || places.size < 2 || [...places.keys()].some((key) => /^\d{4}-/.test(key))) return false;
  const all = [...places.values()], step = least(all);
  return step > 1 && all.every((x) => Number.isInteger((x - all[0]) / step));
}

// cut keeps what can be read: the largest.
function cut(points: Point[], panels: string[], keys: string[], notes: string[]): Point[] {
  if (panels.length > 1) return keep(keep(points, panels, most.panels, "panel", notes), keys, most.each, "key", notes);
  if (points.length <= most.bars) return points;
  notes.push(`the largest ${most.bars} of ${points.length}; the table has all`);
  const largest = new Set([...points].sort((x, y) => y.value - x.value).slice(0, most.bars));
  return points.filter((p) => largest.has(p));
}

// keep keeps the panels, or the keys, of the largest numbers.
function keep(points: Point[], all: string[], n: number, what: "panel" | "key", notes: string[]): Point[] {
  if (all.length <= n) return points;
  notes.push(`the largest ${n} ${what}s of ${all.length}; the table has all`);
  const sum = new Map<string, number>();
  for (const p of points) sum.set(p[what], (sum.get(p[what]) ?? 0) + p.value);
  const largest = new Set([...all].sort((x, y) => sum.get(y)! - sum.get(x)!).slice(0, n));
  return points.filter((p) => largest.has(p[what]));
}

// Scene is what both kinds of charts need.
interface Scene {
  options: Plot.PlotOptions;
  domain: [number, number];
  panels: string[];
  simulated: boolean;
  noise: boolean; // what is below zero is noise
}

function sceneOf(points: Point[], a: Answer, o: Options): Scene {
  const all = points.flatMap((p) => [p.value, p.low ?? p.value, p.high ?? p.value]);
  const domain: [number, number] = [Math.min(...all), Math.max(...all)];
  // A sum, or a difference, can be less than zero: then an interval says so.
  const noise = domain[0] < 0 && !points.some((p) => (p.high !== null && p.high < 0) || (!p.known && p.value < 0));
  const panels = distinct(points.map((p) => p.panel));
  return { domain, panels, noise, simulated: a.simulated === true, options: { width: o.width, className: "chart" } };
}

function legend(points: Point[], a: Answer, o: Options, line: boolean, noise: boolean): string[] {
  const n = points.filter((p) => p.noise).length, out: string[] = [], at = percent(a.confidence ?? 0);
  if (points.some((p) => p.known)) out.push(o.together ? `the true numbers of all ${o.together} points are within, at ${at}` : line ? `band: each point by itself, at ${at}` : `whisker: the true number is within, at ${at}`);
  if (a.simulated) out.push("simulated");
  if (points.some((p) => !p.known)) out.push("hatched, dashed: no margin");
  if (n) out.push(`≈: ${n} of ${points.length} ${n === 1 ? "is" : "are"} mostly noise: the margin is over half the number`);
  if (noise) out.push(belowZero);
  if (points.some((p) => p.open)) out.push("arrow: no end is known");
  return out;
}

// bars draws a bar from 0 to each number, and its interval as a whisker.
function bars(points: Point[], s: Scene, ordered: boolean, touch: boolean): SVGSVGElement {
  const [low, high] = [Math.min(0, s.domain[0]), Math.max(0, s.domain[1]) || 1];
  const keys = distinct(points.map((p) => p.key)), first = keys.findIndex((key) => apart.includes(key));
  if (!ordered && first > 0) keys.splice(first, 0, gap);
  if (s.panels.length > 1) keys.unshift(head);
  const width = s.options.width!, letters = Math.floor((width * 0.38) / letter);
  const left = Math.min(Math.max(...keys.map((k) => k.length)), most.label, letters) * letter + 20;
  const right = Math.min(Math.max(...points.map((p) => p.text.length)) * letter + 10, width * 0.4);
  const many = s.panels.length > 1, panel = (p: Point) => (many ? p.panel : undefined);
  const place = { y: "key", fy: many ? panel : undefined } as const;
  const end = (p: Point, side: 1 | 2) => (side === 1 ? p.low ?? (p.open & 1 ? low : null) : p.high ?? (p.open & 2 ? high : null));
  const known = points.filter((p) => p.known), solid = (p: Point) => (p.noise ? 0.45 : 1);
  const whisker = { stroke: "var(--whisker)", strokeWidth: 2 };
  const tick = (side: 1 | 2): Plot.Markish =>
    Plot.tickX(s.simulated ? [] : known.filter((p) => !(p.open & side)), { ...place, x: side === 1 ? "low" : "high", ...whisker, insetTop: 4, insetBottom: 4 });
  const arrow = (side: 1 | 2): Plot.Markish =>
    Plot.dot(known.filter((p) => p.open & side), { ...place, x: (p: Point) => end(p, side), symbol: "triangle", rotate: side === 1 ? -90 : 90, r: 4, fill: "var(--whisker)" });
  return Plot.plot({
    ...s.options,
    marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 26,
    height: s.panels.length * keys.length * row + 40,
    x: { domain: [low, high], label: null, ticks: Math.max(2, Math.floor((width - left - right) / 80)), tickFormat: plain, insetLeft: 6, insetRight: 6 },
    y: { domain: keys, label: null, tickSize: 0, padding: touch ? 0 : 0.28, tickFormat: (k: string) => shorten(k, Math.min(most.label, letters)) },
    fy: many ? { domain: s.panels, axis: null, padding: 0 } : undefined,
    marks: [
      hatch,
      s.noise ? Plot.rect([0], { x1: low, x2: 0, fill: "var(--noise)", insetLeft: -6 }) : null,
      Plot.barX(points, tagged(points, { ...place, x1: 0, x2: "value", fill: (p: Point) => (p.known ? "var(--bar)" : "url(#hatch)"), fillOpacity: solid, stroke: (p: Point) => (p.known ? "none" : "var(--bar-edge)"), strokeDasharray: "4 3", insetTop: touch ? 0.5 : 0 })),
      Plot.ruleX([0], { stroke: "var(--axis)" }),
      Plot.ruleY(known, tagged(known, { ...place, x1: (p: Point) => end(p, 1), x2: (p: Point) => end(p, 2), ...whisker })),
      tick(1), tick(2), arrow(1), arrow(2), Plot.dot(known.filter(outside), { ...place, x: "value", r: 4, fill: "var(--whisker)" }),
      Plot.text(points, { ...place, text: "text", frameAnchor: "right", textAnchor: "start", dx: 6, fill: (p: Point) => (p.noise || !p.known ? "var(--mute)" : "var(--text)") }),
      many ? title(s, left, { y: () => head }) : null,
    ],
  }) as SVGSVGElement;
}

const outside = (p: Point) => p.known && ((p.low !== null && p.value < p.low) || (p.high !== null && p.value > p.high));
const shorten = (text: string, n: number) => (text === gap || text === head ? "" : text.length > n ? text.slice(0, Math.max(1, n - 1)) + "…" : text);

// lines draws numbers over ordered keys, with a band of their intervals. Where keys lack, both have a gap. What stands apart
// is a point with its whisker behind the end.
function lines(all: Point[], s: Scene, keys: string[], places: Map<string, number>): SVGSVGElement {
  const points = all.filter((p) => !apart.includes(p.key)), beside = apart.filter((key) => all.some((p) => p.key === key));
  const step = least([...places.values()]), [low, high] = s.domain, many = s.panels.length > 1;
  const month = /^\d{4}-\d\d$/.test(keys[0]), day = !month && /^\d{4}-/.test(keys[0]);
  const date = (x: number) => new Date(month ? Date.UTC(Math.floor(x / 12), x % 12) : x * 86400e3);
  const x = (p: Point) => (month || day ? date(p.at) : p.at);
  const path: Point[] = s.panels.flatMap((panel) => {
    const sorted = points.filter((p) => p.panel === panel).sort((p, q) => p.at - q.at);
    return sorted.flatMap((p, i) => (i > 0 && p.at - sorted[i - 1].at > step * (day && step >= 28 ? 1.2 : 1.01) ? [{ ...p, value: NaN, low: null, high: null, known: false, open: 0 }, p] : [p]));
  });
  const place = { x, fy: many ? (p: Point) => p.panel : undefined, z: "panel" } as const;
  const from = (p: Point) => (p.known ? p.low ?? low : NaN), to = (p: Point) => (p.known ? p.high ?? high : NaN);
  const dots = (p: Point[], at: object): Plot.Markish => [
    Plot.dot(p, tagged(p, { ...at, y: "value", r: 2.5, stroke: "var(--line)", fill: (p: Point) => (p.known ? "var(--line)" : "var(--ground)"), fillOpacity: 1 })),
    ...([1, 2] as const).map((side) => Plot.dot(p.filter((q) => q.open & side), { ...at, y: side === 1 ? low : high, symbol: "triangle", rotate: side === 1 ? 180 : 0, r: 4, fill: "var(--whisker)" })),
  ];
  const width = s.options.width!, left = Math.max(plain(low).length, plain(high).length, 4) * letter + 14;
  const alone = points.filter((p) => p.known && !path.some((q) => q.panel === p.panel && q.known && Math.abs(q.at - p.at) > 0 && Math.abs(q.at - p.at) <= step * 1.2));
  return Plot.plot({
    ...s.options,
    marginLeft: left, marginRight: 16 + beside.length * 84, marginBottom: 30,
    height: s.panels.length * (many ? 170 : 280) + 40,
    x: { label: null, ticks: Math.max(2, Math.floor((width - left) / 90)), type: month || day ? "utc" : "linear", ...(month || day ? {} : { tickFormat: plain }) },
    y: { domain: [low, high], label: null, tickFormat: plain, ticks: many ? 4 : 6, grid: true, insetTop: many ? 24 : 8, insetBottom: 8 },
    fy: many ? { domain: s.panels, axis: null, padding: 0 } : undefined,
    marks: [
      hatch,
      s.noise ? Plot.rect([0], { y1: low, y2: 0, fill: "var(--noise)", insetBottom: -8 }) : null,
      low < 0 && high > 0 ? Plot.ruleY([0], { stroke: "var(--axis)" }) : null,
      Plot.areaY(path, { ...place, y1: from, y2: to, fill: "var(--band)" }),
      Plot.ruleX(alone, { ...place, y1: from, y2: to, stroke: "var(--band-edge)", strokeWidth: 2 }),
      ...[from, to].map((end) => Plot.lineY(path, { ...place, y: end, stroke: "var(--band-edge)", strokeDasharray: s.simulated ? "2 3" : undefined })),
      Plot.lineY(path, { ...place, y: "value", stroke: "var(--line)", strokeWidth: 2 }),
      dots(points, place),
      ...beside.flatMap((key, i) => {
        const those = all.filter((p) => p.key === key), at = { x: () => x({ at: Math.max(...places.values()) } as Point), fy: place.fy, dx: 50 + 84 * i };
        return [Plot.ruleX(those, { ...at, y1: from, y2: to, stroke: "var(--band-edge)", strokeWidth: 2 }), dots(those, at), Plot.text([key], { ...at, fy: undefined, text: () => key, frameAnchor: "bottom", lineAnchor: "top", dy: 9 })];
      }),
      many ? title(s, left, { frameAnchor: "top-left", lineAnchor: "top" }) : null,
    ],
  }) as SVGSVGElement;
}

// title is the name of each panel.
const title = (s: Scene, left: number, where: Plot.TextOptions) =>
  Plot.text(s.panels, { fy: (p: string) => p, text: (p: string) => shorten(p, Math.floor(s.options.width! / letter) - 2), frameAnchor: "left", textAnchor: "start", dx: 4 - left, fontWeight: "bold", ...where });

// tagged puts the ends of the intervals on the marks.
function tagged<T extends object>(points: Point[], options: T): T & { render: Plot.RenderFunction } {
  return {
    ...options,
    render(index, scales, values, dimensions, context, next) {
      const g = next!(index, scales, values, dimensions, context)!;
      index.forEach((i, n) => {
        for (const [end, x] of [["data-low", points[i].low], ["data-high", points[i].high]] as const) if (x !== null) g.children[n]?.setAttribute(end, String(x));
      });
      return g;
    },
  };
}

// hatch is the pattern of bars without a margin.
const hatch: Plot.RenderFunction = () =>
  draw("defs", {}, draw("pattern", { id: "hatch", width: "6", height: "6", patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("path", { d: "M0 0V6", stroke: "var(--bar-edge)", "stroke-width": "2" })));

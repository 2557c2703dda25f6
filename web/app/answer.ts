// The object of dpsql -json, and what people read of it: numbers beside their margins, and the line
// below the rows. Numbers are rounded as in the shell, so that what is shown holds what is meant.

export type Value = string | number | null;
export type Ends = [Value, Value]; // of a number or a date; null where there is no end

export interface Answer {
  columns: string[];
  rows: Value[][];
  margins?: (number | null)[][];
  intervals?: (Ends | null)[][];
  simulated?: boolean;
  apart?: number;
  unknown?: string[];
  confidence?: number | null;
  via?: string;
  mechanism?: string;
  cost?: { epsilon: number | null; rho: number | null };
  as_of?: string;
  kept?: { table: string; unit: string; max_rows: number; period?: string }[];
  warnings?: string[];
}

export interface Refusal {
  error: { code: string; message: string; hint?: string; position?: number };
}

const fuzz = 1e-9; // the error of binary fractions that rounding ignores

// places returns how many places a number of some margin has: those up to the margin's first digit,
// or its second where the first is below 4.
function places(margin: number): number {
  let first = Math.floor(Math.log10(margin));
  if (margin / 10 ** first < 4) first--;
  return Math.min(Math.max(0, -first), 12);
}

// amount returns a number with its margin, or with its interval if the sides differ by over a tenth.
export function amount(value: number, ends: Ends): string {
  const [low, high] = ends as [number | null, number | null];
  if (low === null || high === null) return `${plain(value)} (${low === null ? "−∞" : plain(low)} … ${high === null ? "∞" : plain(high)})`;
  const below = value - low, above = high - value, margin = Math.max(below, above);
  if (margin === 0) return `${plain(value)} ± 0`;
  const n = places(margin), unit = 10 ** n;
  const whole = Number.isInteger(value), shown = whole ? value : Math.round(value * unit) / unit;
  const text = (x: number) => (x + 0).toFixed(whole && Number.isInteger(x) ? 0 : n);
  if (Math.abs(below - above) <= margin / 10) return `${text(shown)} ± ${text(Math.ceil((margin + Math.abs(shown - value)) * unit - fuzz) / unit)}`;
  return `${text(shown)} (${text(Math.floor(low * unit + fuzz) / unit)} … ${text(Math.ceil(high * unit - fuzz) / unit)})`;
}

export const plain = (x: number): string => String(Math.round(x * 1000) / 1000 + 0);

// cell returns a value as a table has it. A value of a measured column without an interval says so.
export function cell(a: Answer, row: number, column: number, measured: boolean): string {
  const value = a.rows[row][column], ends = a.intervals?.[row]?.[column];
  if (value === null) return "NULL";
  if (!ends) return typeof value === "number" && a.mechanism !== "constant" && measured ? `${plain(value)} no margin` : String(value);
  if (typeof value === "number") return amount(value, ends);
  return ends[0] === value && ends[1] === value ? `${value} ± 0 days` : `${value} (${ends[0]} … ${ends[1]})`;
}

// measured reports whether a column holds private numbers: one of them has an interval, or none of the
// answer has and it is the last column of numbers.
export function measured(a: Answer, column: number): boolean {
  if (!a.intervals) return false;
  if (a.intervals.some((row) => row[column])) return true;
  return !a.intervals.some((row) => row.some(Boolean)) && column === lastNumbers(a);
}

const lastNumbers = (a: Answer) => a.columns.findLastIndex((_, j) => numeric(a, j));

export const numeric = (a: Answer, column: number): boolean =>
  a.rows.some((row) => typeof row[column] === "number") && a.rows.every((row) => row[column] === null || typeof row[column] === "number");

export const percent = (share: number): string => `${plain(share * 100)} %`;

const known = (a: Answer) => (a.intervals ?? []).some((row) => row.some(Boolean));

// line is what stands below the rows of an answer: its confidence, the rows it is about, its origin, its cost.
export function line(a: Answer): string {
  if (!a.cost) return count(a.rows.length, "row");
  const parts = [a.mechanism === "constant" ? "exact" : known(a) ? [`± at ${percent(a.confidence ?? 0)}`, ...marks(a)].join(", ") : marks(a)[0] ?? "no margin"];
  if (a.kept && a.mechanism !== "constant") parts.push(`of kept rows, at most ${a.kept.map((k) => `${k.max_rows} a ${k.unit}${k.period ? ` and ${k.period}` : ""}${a.kept!.length > 1 ? ` of ${k.table}` : ""}`).join(", ")}`);
  parts.push(a.mechanism === "constant" ? "public values only" : a.mechanism === "direct" ? "direct" : `release ${a.via}`);
  if (a.as_of) parts.push(`as of ${a.as_of.slice(0, 16).replace("T", " ")}`);
  const costs = ([["ε", a.cost.epsilon], ["ρ", a.cost.rho]] as const).filter(([, x]) => x !== 0).map(([name, x]) => (x === null ? `${name} ∞` : `${name} ${+x.toPrecision(2)}`));
  return [...parts, `cost ${costs.join(" and ") || "0"}`].join(" · ");
}

// marks are the notes behind the margins.
export function marks(a: Answer): string[] {
  const all: string[] = [];
  if (a.simulated) all.push("simulated");
  if (a.apart) all.push(`fit and proof disagree in ${count(a.apart, "answer")}`);
  if (a.unknown) all.push(`no margin where ${a.unknown.join(" or ")}`);
  return all;
}

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

// Package render writes what people and programs read: results as tables, CSV,
// JSON and Markdown, the line below an answer, errors, and drawings. It gets
// results that are already public and knows nothing of privacy but what a
// margin is.
package render

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/internal/exporter"
	"dpsql/sqlerr"
)

// Format is how results are written.
type Format string

// The formats.
const (
	Table    Format = "table"
	CSV      Format = "csv"
	JSON     Format = "json"
	Markdown Format = "markdown"
)

// briefWidth is the width of brief tables that are not written to a terminal.
const briefWidth = 100

// Parquet is for a file that has one result.
const Parquet Format = "parquet"

// Formats lists the formats that may follow each other.
var Formats = []Format{Table, CSV, JSON, Markdown}

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		if string(f) == name {
			return f, nil
		}
		names[i] = string(f)
	}
	return "", sqlerr.New(sqlerr.Invalid, "there is no format %q", name).
		WithHint("the formats are %s", strings.Join(names, ", "))
}

// OfFile returns the format that a file's ending names, or otherwise the given one.
func OfFile(path string, otherwise Format) Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return CSV
	case ".json", ".jsonl", ".ndjson":
		return JSON
	case ".md":
		return Markdown
	case ".parquet":
		return Parquet
	}
	return otherwise
}

// ForPeople reports whether people read the format. They see footers and
// confirmations between results; programs do not.
func (f Format) ForPeople() bool { return f == Table || f == Markdown }

// Rows writes the rows of a result. A table is at most width characters wide; 0
// is no limit. CSV begins with the names of the columns if header is set. Formats for people
// have the brief form of a list, at most briefWidth wide; programs get all of it.
func (f Format) Rows(w io.Writer, r *engine.Result, width int, header bool) error {
	if r.Brief != nil && f.ForPeople() {
		if r = r.Brief; width == 0 {
			width = briefWidth
		}
	}
	switch f {
	case CSV:
		var columns []exporter.Column
		if header {
			columns = exported(r, func(int) exporter.Kind { return exporter.Texts }) // as texts are all fields
		}
		return write(w, r, columns, exporter.NewCSV)
	case JSON:
		return JSONLine(w, answerjson.Of(r))
	case Markdown:
		return writeMarkdown(w, r)
	case Parquet:
		as := &engine.Result{Columns: r.Columns, Rows: answerjson.Numbered(r)}
		return write(w, as, exported(as, func(i int) exporter.Kind { return kindOf(as, i) }), exporter.NewParquet)
	}
	return writeTable(w, r, width)
}

// write writes rows in a format that an exporter has.
func write(w io.Writer, r *engine.Result, columns []exporter.Column, format func(io.Writer, []exporter.Column) (exporter.Writer, error)) error {
	out, err := format(w, columns)
	if err != nil {
		return err
	}
	for _, row := range r.Rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Close()
}

// exported returns the columns of a result, each of a kind.
func exported(r *engine.Result, kind func(column int) exporter.Kind) []exporter.Column {
	columns := make([]exporter.Column, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = exporter.Column{Name: c.Name, Kind: kind(i)}
	}
	return columns
}

// kindOf returns the kind of a column that holds all of its values: a column of SQLite may have
// values of any type, whatever its own.
func kindOf(r *engine.Result, column int) exporter.Kind {
	k := exporter.Texts
	switch r.Columns[column].Type {
	case "INTEGER":
		k = exporter.Integers
	case "REAL":
		k = exporter.Floats
	}
	for _, row := range r.Rows {
		switch row[column].(type) {
		case nil, int64:
		case float64:
			k = max(k, exporter.Floats)
		default:
			return exporter.Texts
		}
	}
	return k
}

// JSONLine writes a value on one line, see answerjson.Marshal.
func JSONLine(w io.Writer, v any) error {
	line, err := answerjson.Marshal(v)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// writeMarkdown writes a table of GitHub's Markdown.
func writeMarkdown(w io.Writer, r *engine.Result) error {
	b := bufio.NewWriter(w)
	markdownLine(b, visibleNames(r.Columns))
	rule := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		rule[i] = "---"
		if isNumber(c) {
			rule[i] = "---:"
		}
	}
	b.WriteString("| " + strings.Join(rule, " | ") + " |\n")
	for _, cells := range rowsForPeople(r) {
		markdownLine(b, cells)
	}
	return b.Flush()
}

// markdownEscaper escapes what would have a meaning inside a cell.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `&`, `&amp;`, `[`, `\[`, `~`, `\~`)

func markdownLine(b *bufio.Writer, cells []string) {
	for _, cell := range cells {
		b.WriteString("| ")
		b.WriteString(markdownEscaper.Replace(cell))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}

// isNumber reports whether the column holds numbers, which are right-aligned.
func isNumber(c engine.Column) bool { return c.Type == "INTEGER" || c.Type == "REAL" }

func visibleNames(columns []engine.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = Visible(c.Name)
	}
	return names
}

func visibleRow(row []any) []string {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = Visible(v)
	}
	return cells
}

// Visible returns a value for a terminal or a document. It is exporter.Text with
// control characters spelled out, because they could break a frame or command
// the terminal.
func Visible(v any) string {
	s := strings.ToValidUTF8(exporter.Text(v), "\ufffd")
	if strings.IndexFunc(s, answerjson.IsHidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !answerjson.IsHidden(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// VisibleLines returns a text with Visible applied to each of its lines.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Visible(line)
	}
	return strings.Join(lines, "\n")
}

// Plural returns a count with its noun: "1 row", "2 rows".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Duration returns a running time to about two digits.
func Duration(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 0.05:
		return "< 0.1 ms"
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 59_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return d.Round(time.Second).String()
}

// percent returns a confidence in percent, without the digits that binary
// fractions add.
func percent(confidence float64) string {
	return strconv.FormatFloat(100*confidence, 'g', 12, 64) + " %"
}

// Notes says what the margins of an answer are not: proven, or there at all. It stands
// beside formats that show no margins.
func Notes(a *engine.Answer) []string { return notes(a, "the margins are simulated") }

func notes(a *engine.Answer, simulated string) (all []string) {
	if a.Simulated {
		all = append(all, simulated)
	}
	if a.Apart > 0 {
		all = append(all, "fit and proof disagree in "+Plural(int64(a.Apart), "answer"))
	}
	if text := unknown(a); text != "" {
		all = append(all, text)
	}
	if text := unverified(a); text != "" {
		all = append(all, text)
	}
	return all
}

// unknown says why verified numbers have no margin, if some have none.
func unknown(a *engine.Answer) string {
	if why := a.Unknown(); len(why) > 0 {
		return "no error bar where " + strings.Join(why, " or ")
	}
	return ""
}

// unverified says that answers have no margin, if some have none.
func unverified(a *engine.Answer) string {
	switch {
	case a.Verified:
		return ""
	case known(a) == 0:
		return "unverified: no error bar"
	}
	return "some unverified: no error bar"
}

// known returns the number of margins.
func known(a *engine.Answer) (n int) {
	for _, row := range a.Margins {
		for _, v := range row {
			if _, ok := v.(float64); ok {
				n++
			}
		}
	}
	return n
}

// Package answerjson has the objects of `dpsql -json`: one for each result and each error.
// Whatever answers in JSON writes the same.
package answerjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
)

// jsonRows is a result that is not a private answer.
type jsonRows struct {
	Columns  []string           `json:"columns"`
	Rows     [][]any            `json:"rows"`
	Total    map[string]float64 `json:"total,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
}

// jsonAnswer is a private answer. The order of the keys is part of the format.
type jsonAnswer struct {
	Columns    []string        `json:"columns"`
	Rows       [][]any         `json:"rows"`
	Margins    [][]any         `json:"margins"`
	Intervals  [][]any         `json:"intervals"`           // [low, high], or null where there is no margin
	Simulated  bool            `json:"simulated,omitempty"` // no theorem stands behind the margins
	Apart      int             `json:"apart,omitempty"`     // answers of a fit that are outside their proven intervals
	Unknown    []string        `json:"unknown,omitempty"`   // why numbers that are verified have no interval
	Confidence any             `json:"confidence"`
	Via        string          `json:"via"`
	Mechanism  string          `json:"mechanism"`
	Support    json.RawMessage `json:"support"`
	Cost       jsonCost        `json:"cost"`
	AsOf       string          `json:"as_of,omitempty"`
	Kept       []jsonKept      `json:"kept,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"`
}

type jsonCost struct {
	Epsilon any `json:"epsilon"`
	Rho     any `json:"rho"`
}

type jsonKept struct {
	Table   string `json:"table"`
	Unit    string `json:"unit"`
	MaxRows int64  `json:"max_rows"`
	Period  string `json:"period,omitempty"`
}

// Of returns a result as the object that is written of it.
func Of(r *released.Result) any {
	rows := jsonRows{Columns: make([]string, len(r.Columns)), Rows: finiteRows(Numbered(r)), Total: r.Total, Warnings: r.Warnings}
	for i, c := range r.Columns {
		rows.Columns[i] = c.Name
	}
	a := r.Answer
	if a == nil {
		return rows
	}
	answer := jsonAnswer{
		Columns: rows.Columns, Rows: rows.Rows, Warnings: r.Warnings,
		Simulated: a.Simulated, Apart: a.Apart, Unknown: a.Unknown(), Confidence: finite(a.Confidence), Via: a.Via, Mechanism: a.Mechanism, Support: jsonSupport(a.Support),
		Cost: jsonCost{finite(a.Cost.Epsilon), finite(a.Cost.Rho)},
	}
	if a.Margins != nil {
		answer.Margins, answer.Intervals = finiteRows(a.Margins), make([][]any, len(a.Intervals))
		for i, row := range a.Intervals {
			answer.Intervals[i] = make([]any, len(row))
			for j, ends := range row {
				switch ends := ends.(type) {
				case released.Interval:
					answer.Intervals[i][j] = []any{finite(ends.Low), finite(ends.High)}
				case released.Span:
					answer.Intervals[i][j] = []any{ends.Low, ends.High}
				}
			}
		}
	}
	if !a.AsOf.IsZero() {
		answer.AsOf = a.AsOf.UTC().Format(time.RFC3339)
	}
	for _, k := range a.Kept {
		answer.Kept = append(answer.Kept, jsonKept(k))
	}
	return answer
}

// jsonSupport returns m as a number of any size, or as a text if it is not
// finite.
func jsonSupport(m string) json.RawMessage {
	if isNatural(m) {
		return json.RawMessage(m)
	}
	return json.RawMessage(strconv.Quote(m))
}

// isNatural reports whether a text is a natural number in JSON.
func isNatural(s string) bool {
	return s == "0" || s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

// Numbered returns the rows of a result with the numbers of lists as numbers.
func Numbered(r *released.Result) [][]any {
	if !slices.ContainsFunc(r.Columns, func(c released.Column) bool {
		return c.SQL == query.SQLText && (c.Type == "INTEGER" || c.Type == "REAL")
	}) {
		return r.Rows
	}
	rows := make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = make([]any, len(row))
		for j, v := range row {
			rows[i][j] = r.Columns[j].Value(v)
		}
	}
	return rows
}

// finiteRows copies rows, with null for numbers that JSON does not have.
func finiteRows(rows [][]any) [][]any {
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = make([]any, len(row))
		for j, v := range row {
			out[i][j] = v
			if x, ok := v.(float64); ok {
				out[i][j] = finite(x)
			}
		}
	}
	return out
}

func finite(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return x
}

// Failure is an error as programs read it.
type Failure struct {
	Error struct {
		Code     sqlerr.Code `json:"code"`
		Message  string      `json:"message"`
		Hint     string      `json:"hint,omitempty"`
		Position int         `json:"position,omitempty"`
		File     string      `json:"file,omitempty"`
		Line     int         `json:"line,omitempty"`
		Column   int         `json:"column,omitempty"`
	} `json:"error"`
}

// FailureOf returns an error as the object that is written of it.
func FailureOf(err error) (f Failure) {
	e := Public(err)
	f.Error.Code, f.Error.Message, f.Error.Hint, f.Error.Position = e.Code, e.Message, e.Hint, e.Position
	return f
}

// Public returns the error that may be shown. An error of another kind loses its
// text, which could hold a private value.
func Public(err error) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
}

// Marshal returns a value as JSON on one line, with escapes for what is hidden and without those that are
// meant for web pages.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return Spelled(strings.TrimSuffix(b.String(), "\n")), nil
}

// Spelled returns a text with \u and four digits for each character that IsHidden, but for the ends of lines.
func Spelled(text string) (out []byte) {
	for _, r := range text {
		if r != '\n' && IsHidden(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// IsHidden reports whether a character is spelled out where people may see it: a control character,
// which could command a terminal, or a mark that reorders the text around it.
func IsHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

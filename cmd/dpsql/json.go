package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"dpsql/engine"
)

// jsonRows is a result that is no private answer.
type jsonRows struct {
	Columns  []string `json:"columns"`
	Rows     [][]any  `json:"rows"`
	Warnings []string `json:"warnings,omitempty"`
}

// jsonAnswer is a private answer. The order of the keys is part of the format.
type jsonAnswer struct {
	Columns    []string        `json:"columns"`
	Rows       [][]any         `json:"rows"`
	Margins    [][]any         `json:"margins"`
	Confidence any             `json:"confidence"`
	Via        string          `json:"via"`
	Mechanism  string          `json:"mechanism"`
	Support    json.RawMessage `json:"support"`
	Cost       jsonCost        `json:"cost"`
	Warnings   []string        `json:"warnings,omitempty"`
}

type jsonCost struct {
	Epsilon any `json:"epsilon"`
	Rho     any `json:"rho"`
}

// writeJSON writes one object on one line.
func writeJSON(w io.Writer, r *engine.Result) error {
	rows := jsonRows{Columns: make([]string, len(r.Columns)), Rows: finiteRows(r.Rows), Warnings: r.Warnings}
	for i, c := range r.Columns {
		rows.Columns[i] = c.Name
	}
	if r.Answer == nil {
		return writeLine(w, rows)
	}
	a := r.Answer
	return writeLine(w, jsonAnswer{
		Columns: rows.Columns, Rows: rows.Rows, Margins: margins(a),
		Confidence: finite(a.Confidence), Via: a.Via, Mechanism: a.Mechanism, Support: support(a.Support),
		Cost: jsonCost{finite(a.Cost.Epsilon), finite(a.Cost.Rho)}, Warnings: r.Warnings,
	})
}

// writeLine writes a value without the escapes that are meant for web pages.
func writeLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// margins returns the answer's margins, nil when there are none at all.
func margins(a *engine.Answer) [][]any {
	if a.Margins == nil {
		return nil
	}
	return finiteRows(a.Margins)
}

// support writes m as a number of any size when it is finite.
func support(m string) json.RawMessage {
	if isDigits(m) {
		return json.RawMessage(m)
	}
	return json.RawMessage(strconv.Quote(m))
}

func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != "" && (s[0] != '0' || s == "0")
}

// finiteRows copies rows, with null for the numbers that JSON does not have.
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

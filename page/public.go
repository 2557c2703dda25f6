package page

import (
	"encoding/json"
	"slices"
	"strconv"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/around"
)

// Public is a public table without its rows, which are its payload.
type Public struct {
	Name    string         `json:"name"`
	Columns []PublicColumn `json:"columns"`
	Rows    int            `json:"rows"`
}

// PublicColumn is a column of a public table.
type PublicColumn struct {
	around.Column
	Steps *Steps `json:"steps,omitempty"` // of one that was declared REAL
}

// Steps are query.Steps in decimals.
type Steps struct {
	Low    string `json:"low"`
	High   string `json:"high"`
	Step   string `json:"step"`
	OrNull bool   `json:"or_null,omitempty"`
}

// StepsOf returns steps in decimals.
func StepsOf(s query.Steps) *Steps {
	low, high, step := s.Texts()
	return &Steps{low, high, step, s.HasNull()}
}

// cell is a value of a public table: NULL, an INTEGER, a TEXT, or {"real": digits} or {"blob": base64}.
type cell struct{ value any }

type otherCell struct {
	Real string `json:"real,omitempty"`
	Blob []byte `json:"blob,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c cell) MarshalJSON() ([]byte, error) {
	switch v := c.value.(type) {
	case float64:
		return json.Marshal(otherCell{Real: strconv.FormatFloat(v, 'g', -1, 64)})
	case []byte:
		return json.Marshal(otherCell{Blob: v})
	case string:
		return json.Marshal(query.Exact(v))
	}
	return json.Marshal(c.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *cell) UnmarshalJSON(text []byte) (err error) {
	switch {
	case string(text) == "null":
		return nil
	case text[0] != '{' && text[0] != '"':
		c.value, err = strconv.ParseInt(string(text), 10, 64)
		return err
	}
	var other otherCell
	if text[0] == '{' {
		if err := json.Unmarshal(text, &other); err != nil {
			return err
		}
	}
	var exact query.Exact
	switch {
	case other.Real != "":
		c.value, err = strconv.ParseFloat(other.Real, 64)
	case other.Blob != nil:
		c.value = other.Blob
	case string(text) == "{}": // an empty BLOB
		c.value = []byte{}
	default:
		err = json.Unmarshal(text, &exact)
		c.value = string(exact)
	}
	return err
}

// Rows writes the rows of a public table as a payload.
func Rows(rows [][]any) ([]byte, error) {
	cells := make([][]cell, len(rows))
	for i, row := range rows {
		for _, v := range row {
			cells[i] = append(cells[i], cell{v})
		}
	}
	return json.Marshal(cells)
}

// public is a public table in memory.
type public struct {
	Public
	rows   [][]any
	joined *sqlfront.PublicRows
}

// open reads the rows of a public table. Errors: Corrupt.
func (p Public) open(payload []byte) (*public, error) {
	var cells [][]cell
	damaged := sqlerr.New(sqlerr.Corrupt, "the rows of %s cannot be read", p.Name)
	if err := json.Unmarshal(payload, &cells); err != nil || len(cells) != p.Rows {
		return nil, damaged
	}
	out := &public{Public: p, joined: &sqlfront.PublicRows{Steps: make([]*query.Steps, len(p.Columns))}}
	for _, c := range p.Columns {
		out.joined.Columns = append(out.joined.Columns, c.Name)
	}
	for _, row := range cells {
		if len(row) != len(p.Columns) {
			return nil, damaged
		}
		values := make([]any, len(row))
		for i, c := range row {
			values[i] = c.value
		}
		out.rows, out.joined.Rows = append(out.rows, values), append(out.joined.Rows, slices.Clone(values))
	}
	for i, c := range p.Columns {
		if c.Steps == nil {
			continue
		}
		steps, ok := query.ReadSteps(c.Steps.Low, c.Steps.High, c.Steps.Step, c.Steps.OrNull)
		if !ok || out.joined.InSteps(i, steps) != nil {
			return nil, damaged
		}
	}
	return out, nil
}

// public returns the public table of a name, or nil.
func (d *Desk) public(name string) *public {
	for _, p := range d.publics {
		if query.SameName(p.Name, name) {
			return p
		}
	}
	return nil
}

// copied returns the table for statements that name public tables.
func (p *public) copied() *around.Table {
	t := &around.Table{Name: p.Name, Rows: p.rows}
	for _, c := range p.Columns {
		t.Columns = append(t.Columns, c.Column)
	}
	return t
}

// Public implements sqlfront.Publics.
func (t *table) Public(name string) (*sqlfront.PublicRows, error) {
	if p := t.desk.public(name); p != nil {
		return p.joined, nil
	}
	return nil, nil
}

// listed appends the keys of a column that public tables list.
func (t *table) listed(column int, keys []query.Value, lists []string) ([]query.Value, []string) {
	for _, name := range t.Lists[column] {
		p := t.desk.public(name)
		if p == nil {
			continue
		}
		lists = released.AppendNew(lists, p.Name)
		for _, row := range p.rows {
			if text, ok := row[0].(string); ok {
				keys = append(keys, query.Text(text))
			}
		}
	}
	return keys, lists
}

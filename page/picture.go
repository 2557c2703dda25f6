// Package page answers SELECTs from releases alone, as a page does that somebody was given: it has no file,
// no rows and no budget. What it knows of tables and releases is a Picture, public data that can be
// written down. What it answers, the engine answers alike: both choose and compute by package released.
package page

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Picture is what is public of tables and their releases.
type Picture struct {
	Tables   []Table   `json:"tables"`
	Releases []Release `json:"releases"`
	Publics  []Public  `json:"publics,omitempty"`
}

// Table is a private table as people ask it.
type Table struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit,omitempty"`     // the column that identifies a unit; "" when a unit is a row
	MaxRows int64    `json:"max_rows,omitempty"` // rows kept of each unit; 0 for all
	Columns []Column `json:"columns"`
	Epsilon string   `json:"epsilon,omitempty"` // what may be spent on it in all; "" if that is not known
	Delta   string   `json:"delta,omitempty"`
	Periods *Periods `json:"periods,omitempty"`
	Each    string   `json:"each,omitempty"` // what of it has a budget of its own, for people: "each month of visited"

	Lists map[int][]string `json:"lists,omitempty"` // by column without a domain, the public tables that list keys of it
}

// Declared returns the columns in the order of their declaration.
func (t Table) Declared() []Column {
	return slices.SortedStableFunc(slices.Values(t.Columns), func(a, b Column) int { return cmp.Compare(a.Place, b.Place) })
}

// Periods say in which period each row of a table lies, and which of them have begun. A browser has no time zones, so
// nothing here depends on the clock.
type Periods struct {
	Column int                `json:"column"` // that says it
	By     period.Granularity `json:"by"`
	Texts  []query.Exact      `json:"texts,omitempty"` // by period, for a TEXT column
	Begun  int64              `json:"begun"`           // the last that had begun when the page was written: rows of later ones count nowhere
}

// Column is a column of a private table.
type Column struct {
	query.StoredColumn
	Shown string `json:"shown"` // its domain, for people
}

// Release is a release without its payload.
type Release struct {
	Name       string          `json:"name"`
	Table      string          `json:"table"`
	Using      string          `json:"using"`
	Columns    []int           `json:"columns,omitempty"` // of the table, ascending; nil for all
	MaxSupport uint64          `json:"max_support"`
	About      json.RawMessage `json:"about"` // what is stored about it

	Part string        `json:"part_of,omitempty"` // the release of each period that it is a part of
	Over *period.Range `json:"over,omitempty"`    // the periods whose rows it was built from; nil for all rows
	AsOf string        `json:"as_of,omitempty"`   // RFC 3339: when the rows of the last of them were read, if it had not ended

	// For people.
	Method  string `json:"method"`
	Epsilon string `json:"epsilon"`
	Delta   string `json:"delta"`
	Created string `json:"created"` // RFC 3339
	Rows    string `json:"rows"`    // which it was built from
}

// openers are the kinds of releases that a page has.
var openers = []released.Opener{released.Projections{}, released.Marginals{}, released.Hypotheses{}}

// opener returns the kind of a name.
func opener(name string) (released.Opener, error) {
	for _, k := range openers {
		if k.Name() == name {
			return k, nil
		}
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "a page has no releases of the kind %q", name)
}

// shown returns the release as lists have it.
func (r Release) shown(t *table, kind released.Opener, size int) released.ShownRelease {
	out := released.ShownRelease{Name: r.Name, Table: t.Table.Name, Columns: released.ColumnNames(t.universe.Columns(), r.Columns), Made: kind.Describe(r.About),
		Epsilon: r.Epsilon, Delta: r.Delta, Size: int64(size), Created: r.Created}
	if r.MaxSupport < math.MaxInt64 { // else there is no bound
		out.Support = int64(r.MaxSupport)
	}
	if t.partition != nil && r.Over != nil {
		out.Span = t.partition.Text(*r.Over)
	}
	return out
}

// universe returns the columns of a table.
func (t Table) universe() (*query.Universe, error) {
	columns := make([]query.Column, len(t.Columns))
	for i, c := range t.Columns {
		var ok bool
		if columns[i], ok = c.Column(); !ok {
			return nil, sqlerr.New(sqlerr.Corrupt, "the domain of column %s cannot be read", c.Name)
		}
	}
	return query.NewUniverse(columns)
}

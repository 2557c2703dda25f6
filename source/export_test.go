package source

import (
	"context"
	"crypto/sha256"
	"strings"

	"dpsql/query"
)

// These are the unexported parts that the tests in package source_test use.

var From, Texts, Stream, CountStreamed = from, texts, stream, countStreamed

func (h *Histogram) CountByScan(q query.Query) int64 { return h.scan(q) }

// Pushed reports whether SQLite is asked for the members of a set.
func Pushed(set query.Set) bool {
	_, ok := newMembers(query.Column{Domain: set.Domain()}, set)
	return ok
}

// Conjunction returns the condition, with its arguments, that columns are in sets.
func Conjunction(ctx context.Context, q Querier, t Table, sets []query.Set) (text string, args []any, ok bool, err error) {
	c, ok, err := conjunction(ctx, q, t, sets, route{})
	return c.text, c.args, ok, err
}

// UnitsWith returns the condition that a unit has a row that meets a given condition.
func UnitsWith(t Table, text string, args []any, stored bool) (string, []any) {
	c := unitsWith(t, route{}, condition{text, args}, stored)
	return c.text, c.args
}

// ByUnit returns the statement that reads the rows that meet a condition unit by unit.
func ByUnit(t Table, where string, args []any) string {
	return plan{fetch: t.Columns, where: condition{where, args}}.byUnit(t)
}

// Canonical returns the statement that reads the canonical values of a column.
func Canonical(source, column string, as query.Type) string {
	return "SELECT " + strings.ReplaceAll(canonicalOf(as), "?", columnOf(column)) + from(source)
}

// CanonicalTime is Canonical for a DATE, a TIMESTAMP or a TIME.
func CanonicalTime(source, column string, f query.Form) string {
	if f.IsClock() {
		return CanonicalAs(source, query.Column{Name: column, Domain: f.NewDay(true), Form: f})
	}
	d, err := f.NewRange("0001-01-01", "9999-12-31", true)
	if err != nil {
		panic(err)
	}
	return CanonicalAs(source, query.Column{Name: column, Domain: d, Form: f})
}

// CanonicalAs is Canonical for any column.
func CanonicalAs(source string, c query.Column) string {
	return "SELECT " + canonical(columnOf(c.Name), c) + from(source)
}

// Cell is the target that a canonical value is scanned into. It is not OK if there
// is no such value.
type Cell struct {
	Value query.Value
	OK    bool
}

func (c *Cell) Scan(from any) error {
	var read cell
	err := read.Scan(from)
	*c = Cell{read.value, read.ok}
	return err
}

// Begin begins a unit that is a text.
func (k *Keeper) Begin(of string) {
	k.unit, k.of[0] = unit{kind: unitText, bytes: of}, &kept{seen: make(map[string]uint64)}
}

func (k *Keeper) Rank(tuple []query.Value) [sha256.Size]byte { return k.rank(k.of[0], tuple) }

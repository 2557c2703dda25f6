package postgres

import (
	"context"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// bytewise returns an expression that sorts as the canonical values do, texts by their
// bytes. It is not immutable, so that no shard sorts by it.
func (c column) bytewise() string {
	if c.array == "int8[]" || c.array == "bool[]" { // an INTEGER
		return c.text
	}
	return "convert_to((" + c.text + ")::text, 'UTF8')"
}

// streamKept calls f with the values of each row that is kept, while f returns true. ended
// is called after the rows of each unit; it may be nil.
// The server sorts the rows by unit, and the ranks are computed here: it would take three times as long
// for all of them, and would have to know the key.
func (r *reader) streamKept(ctx context.Context, rel *relation, all rowset, t source.Table, u column, columns []int, f func([]query.Value) bool, ended func()) error {
	every := make([]int, len(all.columns))
	for i := range every {
		every[i] = i
	}
	p := newPlan(all, every)
	asked, more := make([]query.Value, len(columns)), true
	keeper := source.NewKeeper(t, func(tuple []query.Value) {
		for i, c := range columns {
			asked[i] = tuple[c]
		}
		more = more && f(asked)
	})
	keeper.Ended = ended
	tuple := make([]query.Value, len(every))
	err := r.rows(ctx, p.byUnit(rel, u), func(row [][]byte) bool {
		if unit, ok := u.value(row[len(every)]); ok && p.tuple(row, tuple) {
			keeper.Add(unit, tuple)
		}
		return more
	})
	if err == nil {
		err = keeper.Flush()
	}
	return err
}

// byUnit reads the columns and the unit, sorted by unit.
func (p plan) byUnit(rel *relation, u column) statement {
	return statement{text: "SELECT " + strings.Join(append(p.fields(), u.text), ", ") + rel.from() + " WHERE " + allOf([]string{p.where, u.fits, u.text + " IS NOT NULL"}) + " ORDER BY " + u.bytewise(), args: p.args}
}

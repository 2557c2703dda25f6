package source

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// CheckUnit refuses, as invalid, a unit of which it is not said how many rows are
// kept, or that has no key to choose them by. Without a unit both are ignored.
func (t Table) CheckUnit() error {
	switch {
	case t.Unit == "":
		return nil
	case t.MaxRows < 1:
		return sqlerr.New(sqlerr.Invalid, "max_rows must be at least 1 where %s is the unit of %s", t.Unit, t.Source)
	case len(t.Key) == 0:
		return sqlerr.New(sqlerr.Invalid, "there is no key to choose the rows of a unit of %s by", t.Source)
	}
	return nil
}

// streamKept is stream for a table with a unit: of the rows inside the declared
// domains it yields those that are kept, whatever the columns asked for. SQLite
// sorts the rows by unit, so that only those kept of one unit are in memory,
// and the number of each of its distinct rows. Units of which the condition
// units is not true are not read; it must hold of all rows of a unit or of none.
func streamKept(ctx context.Context, q Querier, t Table, units condition, columns []int, f func([]query.Value)) error {
	if err := t.CheckUnit(); err != nil {
		return err
	}
	p := plan{fetch: t.Columns, where: units}
	found, err := q.QueryContext(ctx, p.byUnit(t), p.where.args...)
	if err != nil {
		return failure(ctx, err, t.Source)
	}
	defer found.Close()
	asked := make([]query.Value, len(columns))
	k := newKeeper(t, func(tuple []query.Value) {
		for i, c := range columns {
			asked[i] = tuple[c]
		}
		f(asked)
	})
	if err := p.eachOfUnits(found, k); err != nil {
		return failure(ctx, err, t.Source)
	}
	return nil
}

// byUnit returns the statement that reads the columns and the unit, the rows of
// a unit together. The plus sign keeps SQLite from walking an index on the unit,
// which takes longer than sorting: it would look up each row.
func (p plan) byUnit(t Table) string {
	column := columnOf(t.Unit)
	return "SELECT " + p.fields() + ", " + strings.ReplaceAll(unitField, "?", column) + from(t.Source) +
		" WHERE " + column + " IS NOT NULL AND " + p.where.text + " ORDER BY (+" + column + ") COLLATE BINARY"
}

func (p plan) eachOfUnits(found *sql.Rows, k *keeper) error {
	var u unit
	row := p.newRow(&u)
	for found.Next() {
		if err := found.Scan(row.into...); err != nil {
			return err
		}
		if p.inside(row.cells, row.tuple) {
			k.add(u, row.tuple)
		}
	}
	if err := found.Err(); err != nil {
		return err
	}
	k.flush()
	return nil
}

// unitField is an expression for a unit: bytes where it is a text, hexadecimal
// text where it is a blob, and itself where it is a number. Texts travel as
// bytes because a text that is not valid in the database's encoding would not
// reach Go as it is, and two units could look like one.
const unitField = `CASE typeof(?) WHEN 'text' THEN CAST(? AS BLOB) WHEN 'blob' THEN hex(?) ELSE ? END`

// unit is a value of the unit column. Two are equal by == if and only if SQLite
// takes them as equal under the BINARY collation: 1 and 1.0 are, 1 and '1' not,
// 'a' and 'A' not, 'a' and x'61' not.
type unit struct {
	kind  unitKind
	n     int64
	x     float64
	bytes string
}

type unitKind uint8

const (
	unitInteger unitKind = iota + 1
	unitReal             // only what is no 64-bit integer
	unitText
	unitBlob
)

// Scan implements sql.Scanner for unitField.
func (u *unit) Scan(from any) error {
	switch v := from.(type) {
	case int64:
		*u = unit{kind: unitInteger, n: v}
	case float64:
		*u = unit{kind: unitReal, x: v}
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			*u = unit{kind: unitInteger, n: int64(v)}
		}
	case nil: // the driver may return empty bytes as nil; NULL is left out
		*u = unit{kind: unitText}
	case []byte:
		if u.kind != unitText || u.bytes != string(v) { // rows of a unit share its bytes
			*u = unit{kind: unitText, bytes: string(v)}
		}
	case string:
		*u = unit{kind: unitBlob, bytes: v}
	default:
		return errors.New("a unit of another type")
	}
	return nil
}

// appendTo appends an encoding of the unit that no other unit's begins with.
func (u unit) appendTo(buffer []byte) []byte {
	buffer = append(buffer, byte(u.kind))
	switch u.kind {
	case unitInteger:
		return binary.BigEndian.AppendUint64(buffer, uint64(u.n))
	case unitReal:
		return binary.BigEndian.AppendUint64(buffer, math.Float64bits(u.x))
	}
	return append(binary.AppendUvarint(buffer, uint64(len(u.bytes))), u.bytes...)
}

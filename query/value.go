// Package query is the one intermediate form between SQL and the mechanisms:
// tables as universes of declared columns, and linear queries over them as
// canonical decision diagrams. It computes what a mechanism needs of a query —
// its sparsity m, its support, one element's weight — and holds no data.
//
// Blum and Roth, "Fast Private Data Release Algorithms for Sparse Queries",
// section 2, is the source of the terms: a universe X, a linear query
// Q : X → [0,1], and its sparsity |{x : Q(x) > 0}|.
package query

import (
	"cmp"
	"strconv"
	"strings"
)

// Type is the declared type of a column.
type Type uint8

// The column types.
const (
	TypeInteger Type = iota + 1
	TypeText
)

// String returns the SQL name of the type.
func (t Type) String() string {
	if t == TypeInteger {
		return "INTEGER"
	}
	return "TEXT"
}

type kind uint8

const (
	kindNull kind = iota
	kindInt
	kindText
)

// Value is one value of a column: NULL, an INTEGER or a TEXT. The zero Value
// is NULL. Values are comparable with ==.
type Value struct {
	kind kind
	n    int64
	s    string
}

// Null returns NULL.
func Null() Value { return Value{} }

// Int returns an INTEGER value.
func Int(n int64) Value { return Value{kind: kindInt, n: n} }

// Text returns a TEXT value.
func Text(s string) Value { return Value{kind: kindText, s: s} }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.kind == kindNull }

// IsInt reports whether v is an INTEGER.
func (v Value) IsInt() bool { return v.kind == kindInt }

// IsText reports whether v is a TEXT.
func (v Value) IsText() bool { return v.kind == kindText }

// Int64 returns the integer of an INTEGER value, else 0.
func (v Value) Int64() int64 { return v.n }

// Str returns the text of a TEXT value, else "".
func (v Value) Str() string { return v.s }

// Compare orders values: NULL, then integers, then texts byte by byte, which
// is the order of SQLite's BINARY collation. The result is -1, 0 or +1.
func (v Value) Compare(w Value) int {
	if c := cmp.Compare(v.kind, w.kind); c != 0 {
		return c
	}
	if v.kind == kindInt {
		return cmp.Compare(v.n, w.n)
	}
	return cmp.Compare(v.s, w.s)
}

// String returns v as an SQL literal.
func (v Value) String() string {
	switch v.kind {
	case kindNull:
		return "NULL"
	case kindInt:
		return strconv.FormatInt(v.n, 10)
	}
	return "'" + strings.ReplaceAll(v.s, "'", "''") + "'"
}

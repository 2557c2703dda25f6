package server

import (
	"context"
	"strconv"
	"strings"
)

// emptyOf returns the table of a statement that asks for all columns of a table and for none of
// its rows, or "". Tools learn the columns in this way: SELECT * FROM visits LIMIT 0, or with a
// condition that is never true. The engine has no SELECT * of a private table.
func emptyOf(text string) string {
	t := tokenize(text)
	if !t.accept("select") || !t.accept("*") || !t.accept("from") || !t.next.named() {
		return ""
	}
	table := t.take()
	if table.kind == kindWord && table.value == "public" || table.kind == kindQuoted && table.value == "public" {
		if t.accept(".") {
			if !t.next.named() {
				return ""
			}
			table = t.take()
		}
	}
	if t.accept("as") || t.next.named() && !t.next.is("where", "limit") {
		if !t.next.named() {
			return ""
		}
		t.take()
	}
	never := false
	if t.accept("where") {
		if never = neverTrue(t); !never {
			return ""
		}
	}
	if t.accept("limit") {
		n := t.take()
		if n.kind != kindNumber {
			return ""
		}
		never = never || n.value == "0"
	}
	if !never || !t.ended() {
		return ""
	}
	return table.value
}

// neverTrue reads a condition, and reports whether it is one of those that tools write to get no
// row: FALSE, 1 = 0 or 1 <> 1.
func neverTrue(t *tokens) bool {
	left := t.take()
	if left.is("false") {
		return true
	}
	equal := t.accept("=")
	if !equal && !(t.accept("<") && t.accept(">") || t.accept("!") && t.accept("=")) {
		return false
	}
	right := t.take()
	a, err := strconv.ParseFloat(left.value, 64)
	b, err2 := strconv.ParseFloat(right.value, 64)
	return err == nil && err2 == nil && left.kind == kindNumber && right.kind == kindNumber && (a == b) != equal
}

// emptyColumns returns the columns of a private table that the session sees, or nil.
func (c *conn) emptyColumns(ctx context.Context, table string) ([]column, error) {
	shapes, err := c.session.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range shapes {
		if !s.Private || !strings.EqualFold(s.Name, table) {
			continue
		}
		out := make([]column, len(s.Columns))
		for i, col := range s.Columns {
			name, _, _ := strings.Cut(col.Declared, "(")
			oid := typeNames[name]
			out[i] = column{name: col.Name, oid: oid, size: sizeOf(oid)}
		}
		return out, nil
	}
	return nil, nil
}

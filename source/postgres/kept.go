package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// kept returns the rows that are kept of each unit as a subquery for the server. It
// returns false if the server cannot tell which rows lie in the domains, or in which
// period. If units is
// not empty, it is a condition with the parameters args, and only units with a row that
// meets it are read. For all units streamKept is faster.
//
// The ranks are those of package source, byte for byte: HMAC-SHA256 of the unit, the
// canonical values and the row's number among the unit's equal rows, written as two
// SHA-256 (RFC 2104). Only units with more rows than are kept have their ranks
// computed.
func kept(rel *relation, all rowset, t source.Table, u column, units string, args [][]byte) (rowset, bool) {
	if t.Period != nil {
		return rowset{}, false // the server would have to know the period of each row
	}
	w := writer{args}
	where, ok := w.conjunction(all.columns, domains(all.columns))
	if !ok {
		return rowset{}, false
	}
	where = allOf([]string{where, u.fits, u.text + " IS NOT NULL"})
	if units != "" {
		where += " AND " + u.text + " IN (SELECT " + u.text + rel.from() + " WHERE " + allOf([]string{units, u.fits}) + ")"
	}
	out := rowset{columns: make([]column, len(all.columns))}
	fields, texts := make([]string, len(all.columns)), make([]string, len(all.columns))
	for i, c := range all.columns {
		name := "k" + strconv.Itoa(i)
		fields[i], texts[i] = c.text+" AS "+name, c.text
		out.columns[i] = c
		out.columns[i].text, out.columns[i].sieve, out.columns[i].fits, out.columns[i].inside = "r."+name, "", "", true
	}
	unit := u.bytewise()
	numbered := "SELECT " + strings.Join(fields, ", ") + ", " + u.text + " AS u, count(*) OVER (PARTITION BY " + unit + ") AS n, row_number() OVER (PARTITION BY " +
		strings.Join(append([]string{unit}, texts...), ", ") + ") AS i" + rel.from() + " WHERE " + where
	most := w.arg(strconv.FormatInt(t.MaxRows, 10), "int8")
	u.text = "r.u"
	from := " FROM (SELECT *, row_number() OVER (PARTITION BY " + u.bytewise() + " ORDER BY CASE WHEN r.n > " + most + " THEN " + w.rank(t.Key, u, out.columns) +
		" END) AS place FROM (" + numbered + ") AS r) AS r"
	out.from = []string{from}
	out.limit = "r.place <= " + most
	out.args = w.args
	return out, true
}

// bytewise returns an expression that sorts as the canonical values do, texts by their
// bytes. It is not immutable, so that no shard sorts by it.
func (c column) bytewise() string {
	if c.integer != "" {
		return c.text
	}
	return "convert_to((" + c.text + ")::text, 'UTF8')"
}

// rank returns an expression for the rank of a row.
func (w *writer) rank(key []byte, unit column, columns []column) string {
	const block = 64
	if len(key) > block {
		hashed := sha256.Sum256(key)
		key = hashed[:]
	}
	inner, outer := make([]byte, block), make([]byte, block)
	copy(inner, key)
	copy(outer, key)
	for i := range block {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	message := []string{w.arg(`\x`+hex.EncodeToString(inner), "bytea"), unit.encoded(1, 3)}
	for _, c := range columns {
		message = append(message, "CASE WHEN "+c.text+` IS NULL THEN '\x00'::bytea ELSE `+c.encoded(1, 2)+" END")
	}
	message = append(message, "int8send(r.i - 1)")
	return "sha256(" + w.arg(`\x`+hex.EncodeToString(outer), "bytea") + " || sha256(" + strings.Join(message, " || ") + "))"
}

// encoded returns an expression for the encoding of a value that is not NULL: a byte
// for its type, then eight bytes, or a length and the text.
func (c column) encoded(integer, text byte) string {
	if c.integer != "" {
		return fmt.Sprintf(`'\x%02x'::bytea || int8send(%s)`, integer, strings.ReplaceAll(c.integer, "?", c.text))
	}
	value := c.text + "::text"
	return fmt.Sprintf(`'\x%02x'::bytea || %s || convert_to(%s, 'UTF8')`, text, uvarint("octet_length("+value+")", c.longest()), value)
}

// longest returns the largest number of bytes of a text inside the domain.
func (c column) longest() int {
	if c.Domain.Type() != query.TypeText || !c.Domain.Finite() {
		return source.MaxBytes
	}
	longest := 0
	for v := range c.Domain.All().Each() {
		longest = max(longest, len(v.Str()))
	}
	return longest
}

// uvarint returns an expression for a length of at most longest, as encoding/binary
// writes it: seven bits a byte, the low ones first, with the eighth bit set if more
// follow.
func uvarint(n string, longest int) string {
	cases, last := "", ""
	for size := 1; ; size++ {
		last = `'\x` + strings.Repeat("00", size) + `'::bytea`
		for i := range size {
			digit := fmt.Sprintf("((%s) >> %d) & 127", n, 7*i)
			if i < size-1 {
				digit = "(" + digit + ") | 128"
			}
			last = fmt.Sprintf("set_byte(%s, %d, %s)", last, i, digit)
		}
		if longest < 1<<(7*size) {
			break
		}
		cases += fmt.Sprintf(" WHEN %s < %d THEN %s", n, 1<<(7*size), last)
	}
	if cases == "" {
		return last
	}
	return "CASE" + cases + " ELSE " + last + " END"
}

// streamKept calls f with the values of each row that is kept, while f returns true. ended
// is called after the rows of each unit; it may be nil.
// The server sorts the rows by unit, and the ranks are computed here.
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

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
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// maxCode bounds the size of universes whose elements are named by one-word
// codes. 2^61 − 1 is a prime above every such code, and the modulus of fast
// hashing.
const maxCode = 1<<61 - 1

// Column is a declared column.
type Column struct {
	Name   string
	Domain Domain // of canonical values
	Form   Form
	Place  int // among those it was declared with, which are compiled in another order
}

// Declared returns the indices of columns in the order of their declaration.
func Declared(columns []Column) []int {
	all := make([]int, len(columns))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(columns[a].Place, columns[b].Place) })
	return all
}

// Universe is the set X of possible records: the product of the domains of the
// declared columns, in declared order. It is infinite when a column is
// unbounded. It is immutable.
type Universe struct {
	columns []Column
	size    *big.Int // nil when infinite
	stride  []uint64 // coded universes only: the change of the code per ordinal of each column

	projecting  sync.RWMutex
	projections []projection // the projections asked for so far
}

// projection is the universe of a subset of the columns.
type projection struct {
	columns []int
	u       *Universe
}

// maxProjections bounds how many projections a universe keeps. Releases and
// mechanisms cover few different lists of columns.
const maxProjections = 64

// NewUniverse returns the universe of the columns. It compares names without
// case, as SQLite does, and refuses an empty or repeated name.
func NewUniverse(columns []Column) (*Universe, error) {
	seen := make(map[string]bool)
	for _, c := range columns {
		key := FoldName(c.Name)
		if key == "" {
			return nil, sqlerr.New(sqlerr.Invalid, "a column has an empty name")
		}
		if seen[key] {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is declared twice", c.Name)
		}
		seen[key] = true
	}
	if len(columns) == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "no columns are declared")
	}
	return newUniverse(columns), nil
}

func newUniverse(columns []Column) *Universe {
	u := &Universe{columns: columns, size: big.NewInt(1)}
	for _, c := range columns {
		if !c.Domain.Finite() {
			u.size = nil
			return u
		}
		u.size.Mul(u.size, new(big.Int).SetUint64(c.Domain.Size()))
	}
	if u.Coded() {
		u.stride = strides(columns)
	}
	return u
}

// SameName reports whether SQLite takes two names as equal. SQLite ignores the
// case of ASCII letters only.
func SameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// Quoted returns a name as an SQL identifier in double quotes.
func Quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// FoldName maps all names that SQLite takes as equal to one text: it
// lower-cases ASCII letters.
func FoldName(name string) string {
	b := []byte(name)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Columns returns the columns in declared order. The slice must not be changed.
func (u *Universe) Columns() []Column { return u.columns }

// Index returns the position of the named column, compared without ASCII case.
func (u *Universe) Index(name string) (int, bool) {
	for i := range u.columns {
		if SameName(u.columns[i].Name, name) {
			return i, true
		}
	}
	return 0, false
}

// Size returns |X|, or nil when it is infinite. The result must not be changed.
func (u *Universe) Size() *big.Int { return u.size }

// Coded reports whether |X| < 2^61 − 1. The elements of a coded universe are
// named by their mixed-radix codes 0 … |X|−1; the last column varies fastest.
func (u *Universe) Coded() bool {
	return u.size != nil && u.size.IsUint64() && u.size.Uint64() < maxCode
}

// WideCoded reports whether |X| < 2^128. The elements of such a universe can be named by
// codes of two words; see NewWideCoder.
func (u *Universe) WideCoded() bool { return u.size != nil && u.size.BitLen() <= 128 }

// Project returns the universe of the given columns, in ascending order of
// their positions in u.
func (u *Universe) Project(columns []int) *Universe {
	u.projecting.RLock()
	known := u.projections
	u.projecting.RUnlock()
	for i := range known {
		if slices.Equal(known[i].columns, columns) {
			return known[i].u
		}
	}
	picked := make([]Column, len(columns))
	for i, c := range columns {
		picked[i] = u.columns[c]
	}
	p := newUniverse(picked)
	u.projecting.Lock()
	defer u.projecting.Unlock()
	if len(u.projections) < maxProjections {
		u.projections = append(u.projections, projection{slices.Clone(columns), p})
	}
	return p
}

// MaxDomain is the largest number of values a finite domain can have.
const MaxDomain = 1 << 61

// Domain is the domain of a column: a finite list, an integer range, every text
// and NULL, or some published texts and all others. It is immutable. Compare sorts the values of a finite
// domain, and ordinals 0 … Size−1 number them.
type Domain struct{ d *domain }

type domain struct {
	typ     Type
	list    []Value // sorted; nil for a range and for an unbounded domain
	ordinal map[Value]uint64
	lo, hi  int64 // of a range
	null    bool
	finite  bool
	size    uint64

	published *published // tells texts apart by published names; else nil

	folding sync.Once
	folded  map[string]Value // the listed texts by FoldName; nil if two are the same
}

// spellings returns the listed texts by their lower case, nil if there are none or two of them
// differ in case alone.
func (d Domain) spellings() map[string]Value {
	d.d.folding.Do(func() {
		folded := make(map[string]Value, len(d.d.list))
		for _, v := range d.d.list {
			if v.IsText() {
				if _, twice := folded[FoldName(v.Str())]; twice {
					return
				}
				folded[FoldName(v.Str())] = v
			}
		}
		d.d.folded = folded
	})
	return d.d.folded
}

// spelled returns the listed text that equals another one but for the case of ASCII letters. A text
// that equals none is returned in lower case.
func (d Domain) spelled(v Value) Value {
	if !v.IsText() {
		return v
	}
	folded := FoldName(v.Str())
	if listed, ok := d.spellings()[folded]; ok {
		return listed
	}
	return Text(folded)
}

// NewList returns the domain of the listed values, which may include NULL. It
// refuses an empty list, a duplicate, and a value of another type.
func NewList(t Type, values []Value) (Domain, error) {
	if len(values) == 0 {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "the list of values is empty")
	}
	d := &domain{typ: t, list: slices.Clone(values), finite: true, size: uint64(len(values))}
	slices.SortFunc(d.list, Value.Compare)
	d.ordinal = make(map[Value]uint64, len(values))
	for i, v := range d.list {
		if !v.IsNull() && v.IsInt() != (t == TypeInteger) {
			return Domain{}, sqlerr.New(sqlerr.Invalid, "%v is not of type %v", v, t)
		}
		if _, twice := d.ordinal[v]; twice {
			return Domain{}, sqlerr.New(sqlerr.Invalid, "%v is listed twice", v)
		}
		d.ordinal[v] = uint64(i)
	}
	d.null = d.list[0].IsNull()
	return Domain{d}, nil
}

// NewRange returns the domain of the integers lo … hi, and NULL if orNull.
func NewRange(lo, hi int64, orNull bool) (Domain, error) {
	if lo > hi {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "the range %d … %d is empty", lo, hi).
			WithHint("write the smaller bound first")
	}
	span := uint64(hi) - uint64(lo)
	if span >= MaxDomain-1 {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "the range %d … %d has more than 2^61 values", lo, hi)
	}
	d := &domain{typ: TypeInteger, lo: lo, hi: hi, null: orNull, finite: true, size: span + 1}
	if orNull {
		d.size++
	}
	return Domain{d}, nil
}

// Unbounded returns the domain of every text and NULL.
func Unbounded() Domain { return Domain{&domain{typ: TypeText, null: true}} }

// Type returns the type of the values.
func (d Domain) Type() Type { return d.d.typ }

// Finite reports whether the domain has finitely many values.
func (d Domain) Finite() bool { return d.d.finite }

// IsRange reports whether the domain was declared as an integer range.
func (d Domain) IsRange() bool { return d.d.finite && d.d.list == nil && d.d.published == nil }

// Bounds returns the least and the greatest integer of a range.
func (d Domain) Bounds() (lo, hi int64) { return d.d.lo, d.d.hi }

// Size returns the number of values of a finite domain, and 0 otherwise.
func (d Domain) Size() uint64 { return d.d.size }

// HasNull reports whether NULL is a value of the domain.
func (d Domain) HasNull() bool { return d.d.null }

// Ordinal returns the ordinal of v in a finite domain, and false when v is not
// in it.
func (d Domain) Ordinal(v Value) (uint64, bool) {
	e := d.d
	if e.list != nil {
		o, ok := e.ordinal[v]
		return o, ok
	}
	switch {
	case !e.finite:
		return 0, false
	case e.published != nil:
		return e.published.ordinal(v)
	case v.IsNull():
		return 0, e.null
	case !v.IsInt() || v.n < e.lo || v.n > e.hi:
		return 0, false
	}
	return uint64(v.n) - uint64(e.lo) + e.shift(), true
}

// shift returns the ordinal of the first integer of a range. NULL has ordinal
// 0.
func (e *domain) shift() uint64 {
	if e.null {
		return 1
	}
	return 0
}

// Value returns the value with the given ordinal, which must be below Size. Of a
// Published domain it is a text for people, and none of the column's.
func (d Domain) Value(ordinal uint64) Value {
	e := d.d
	switch {
	case e.list != nil:
		return e.list[ordinal]
	case e.published != nil:
		return e.published.shown(ordinal)
	case e.null && ordinal == 0:
		return Null()
	}
	return Int(int64(uint64(e.lo) + ordinal - e.shift()))
}

// Contains reports whether v is a value of the domain.
func (d Domain) Contains(v Value) bool {
	if !d.d.finite {
		return !v.IsInt()
	}
	_, ok := d.Ordinal(v)
	return ok
}

// String returns the domain in the syntax of a column declaration, without the
// type.
func (d Domain) String() string {
	e := d.d
	switch {
	case !e.finite:
		return ""
	case e.published != nil:
		return fmt.Sprintf("IN (%d published keys, NULL, OTHER)", len(e.published.names))
	case e.list == nil:
		s := "BETWEEN " + Int(e.lo).String() + " AND " + Int(e.hi).String()
		if e.null {
			s += " OR NULL"
		}
		return s
	}
	return "IN (" + joinValues(declaredOrder(e.list)) + ")"
}

// declaredOrder returns sorted values with NULL moved to the end, as people
// write them.
func declaredOrder(values []Value) []Value {
	if values[0].IsNull() {
		return append(slices.Clone(values[1:]), values[0])
	}
	return values
}

func joinValues(values []Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return strings.Join(texts, ", ")
}

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
	kindNumber // the text of a number that is no INTEGER
)

// Value is one value of a column: NULL, an INTEGER or a TEXT. The zero Value
// is NULL. Values are comparable with ==. An argument of a statement can also be a number with
// a fraction, see Number.
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

// number returns a number that is no INTEGER by its decimal text, as an argument. No column holds
// one.
func number(text string) Value { return Value{kind: kindNumber, s: text} }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.kind == kindNull }

// IsInt reports whether v is an INTEGER.
func (v Value) IsInt() bool { return v.kind == kindInt }

// IsText reports whether v is a TEXT.
func (v Value) IsText() bool { return v.kind == kindText }

// IsNumber reports whether v is a Number. Str returns its text.
func (v Value) IsNumber() bool { return v.kind == kindNumber }

// Int64 returns the integer of an INTEGER value, else 0.
func (v Value) Int64() int64 { return v.n }

// Str returns the text of a TEXT value or a Number, else "".
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
	case kindNumber:
		return v.s
	}
	return "'" + strings.ReplaceAll(v.s, "'", "''") + "'"
}

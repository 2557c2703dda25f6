package query

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// MaxDomain is the largest number of values a finite domain can have.
const MaxDomain = 1 << 61

// Domain is the declared domain of a column: a finite list, an integer range,
// or every text and NULL. It is immutable. The values of a finite domain are
// sorted by Compare and numbered by ordinals 0 … Size−1.
type Domain struct{ d *domain }

type domain struct {
	typ     Type
	list    []Value // sorted; nil for a range and for an unbounded domain
	ordinal map[Value]uint64
	lo, hi  int64 // of a range
	null    bool
	finite  bool
	size    uint64
}

// NewList returns the domain of the listed values, which may include NULL.
// An empty list, a duplicate and a value of another type are refused.
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
func (d Domain) IsRange() bool { return d.d.finite && d.d.list == nil }

// Size returns the number of values of a finite domain, and 0 otherwise.
func (d Domain) Size() uint64 { return d.d.size }

// HasNull reports whether NULL is a value of the domain.
func (d Domain) HasNull() bool { return d.d.null }

// Ordinal returns the number of v in a finite domain; false when v is not in it.
func (d Domain) Ordinal(v Value) (uint64, bool) {
	e := d.d
	if e.list != nil {
		o, ok := e.ordinal[v]
		return o, ok
	}
	switch {
	case !e.finite:
		return 0, false
	case v.IsNull():
		return 0, e.null
	case !v.IsInt() || v.n < e.lo || v.n > e.hi:
		return 0, false
	}
	return uint64(v.n) - uint64(e.lo) + e.shift(), true
}

// shift is the ordinal of the first integer of a range: NULL sorts first.
func (e *domain) shift() uint64 {
	if e.null {
		return 1
	}
	return 0
}

// Value returns the value with the given ordinal, which must be below Size.
func (d Domain) Value(ordinal uint64) Value {
	e := d.d
	switch {
	case e.list != nil:
		return e.list[ordinal]
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

// String returns the domain as it is declared after a column's type.
func (d Domain) String() string {
	e := d.d
	switch {
	case !e.finite:
		return ""
	case e.list == nil:
		s := "BETWEEN " + Int(e.lo).String() + " AND " + Int(e.hi).String()
		if e.null {
			s += " OR NULL"
		}
		return s
	}
	return "IN (" + joinValues(declared(e.list)) + ")"
}

// declared returns sorted values with NULL last, as people write it.
func declared(values []Value) []Value {
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

package query

import (
	"strings"

	"dpsql/calendar"
	"dpsql/sqlerr"
)

// Form says how people write the values of a column and how its rows hold them. Queries,
// domains and mechanisms see canonical values alone: an INTEGER or a TEXT. The zero Form
// is that of columns declared INTEGER and TEXT, whose canonical values are what people
// write. Forms are comparable with ==.
//
// The canonical value of a DATE is its number of days since 1970-01-01. The order of
// days is that of their texts, YYYY-MM-DD, so that a comparison of DATEs is one of
// integers and a range of DATEs is a range of integers.
type Form struct {
	family  family
	stored  Stored
	clamped bool
}

type family uint8

const (
	plain family = iota
	date
)

// Stored says how rows hold a DATE.
type Stored uint8

// A text YYYY-MM-DD is read exactly. A number is an instant, in UTC, and stands for the
// day that it lies in.
const (
	StoredISO    Stored = iota // a text YYYY-MM-DD
	StoredJulian               // a number: days since noon of November 24th, 4714 BC
	StoredUnix                 // a number: seconds since 1970-01-01
)

var storedNames = [...]string{StoredISO: "iso", StoredJulian: "julian", StoredUnix: "unix"}

// String returns the word behind STORED AS.
func (s Stored) String() string { return storedNames[s] }

// StoredNamed returns what a word behind STORED AS means, in any case.
func StoredNamed(word string) (Stored, bool) {
	for s, name := range storedNames {
		if strings.EqualFold(name, word) {
			return Stored(s), true
		}
	}
	return 0, false
}

// DateForm returns the form of columns declared DATE.
func DateForm(stored Stored) Form { return Form{family: date, stored: stored} }

// NewDateRange returns the domain of the days from lo to hi, each written YYYY-MM-DD,
// and of NULL if orNull.
func NewDateRange(lo, hi string, orNull bool) (Domain, error) {
	first, err := ReadDate(lo)
	if err != nil {
		return Domain{}, err
	}
	last, err := ReadDate(hi)
	if err != nil {
		return Domain{}, err
	}
	if first > last {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "the range %s … %s is empty", lo, hi).WithHint("write the earlier date first")
	}
	return NewRange(first, last, orNull)
}

// ReadDate reads a date as a statement writes it: YYYY-MM-DD from 0001 to 9999. Any other
// text is refused with an error that shows it.
func ReadDate(text string) (int64, error) {
	day, ok := calendar.Parse(text)
	if !ok {
		shown := text
		if len(shown) > 40 {
			shown = shown[:40]
		}
		return 0, sqlerr.New(sqlerr.Invalid, "%s is not a date", Text(strings.ToValidUTF8(shown, "?"))).
			WithHint("write it as '2024-12-31', with four digits of the year and two of month and day")
	}
	return day, nil
}

// IsPlain reports whether the form is the zero Form.
func (f Form) IsPlain() bool { return f == Form{} }

// Clamped returns the form with CLAMP: a number or date beyond a bound of the domain,
// which must be a range, stands for that bound.
func (f Form) Clamped() Form {
	f.clamped = true
	return f
}

// IsClamped reports whether the column is declared with CLAMP.
func (f Form) IsClamped() bool { return f.clamped }

// IsDate reports whether the column is declared DATE.
func (f Form) IsDate() bool { return f.family == date }

// Stored returns how rows hold the values.
func (f Form) Stored() Stored { return f.stored }

// Fits reports whether a domain can be that of a column with the form.
func (f Form) Fits(d Domain) bool {
	if f.clamped && !d.IsRange() {
		return false
	}
	return f.family != date || d.IsRange() && d.d.typ == TypeInteger && d.d.lo >= calendar.First && d.d.hi <= calendar.Last
}

// Shown returns a canonical value as people write it.
func (f Form) Shown(v Value) Value {
	if f.family == date && v.IsInt() {
		return Text(calendar.Format(v.n))
	}
	return v
}

// Canonical returns the canonical value of one that Shown returns. It is false for a
// value that stands for none.
func (f Form) Canonical(shown Value) (Value, bool) {
	if f.family != date || shown.IsNull() {
		return shown, true
	}
	day, ok := calendar.Parse(shown.Str())
	return Int(day), ok
}

// ShownType returns the type of what Shown returns.
func (c Column) ShownType() Type {
	if c.Form.IsDate() {
		return TypeText
	}
	return c.Domain.Type()
}

// TypeName returns the declared type of the column.
func (c Column) TypeName() string {
	if c.Form.IsDate() {
		return "DATE"
	}
	return c.Domain.Type().String()
}

// DomainText returns the domain in the syntax of a column declaration, without the type.
func (c Column) DomainText() string {
	d := c.Domain
	if !d.IsRange() {
		return d.String()
	}
	lo, hi := d.Bounds()
	text := "BETWEEN " + c.Form.Shown(Int(lo)).String() + " AND " + c.Form.Shown(Int(hi)).String()
	if d.HasNull() {
		text += " OR NULL"
	}
	if c.Form.clamped {
		text += " CLAMP"
	}
	if c.Form.stored != StoredISO {
		text += " STORED AS " + c.Form.stored.String()
	}
	return text
}

package query

import (
	"strconv"
	"strings"

	"dpsql/calendar"
	"dpsql/sqlerr"
)

// Form says how people write the values of a column and how its rows hold them. Queries,
// domains and mechanisms see canonical values alone: an INTEGER or a TEXT. The zero Form
// is that of columns declared INTEGER and TEXT, whose canonical values are what people
// write. Forms are comparable with ==.
//
// A DATE and a TIMESTAMP are counted in steps since 1970-01-01 00:00:00 UTC, a DATE in
// days. A moment belongs to the step that it lies in. The order of steps is that of the
// texts of their beginnings, so that a comparison is one of integers, and a range of them
// is a range of integers.
type Form struct {
	family  family
	stored  Stored
	step    int64 // of a DATE and a TIMESTAMP, in seconds; it divides a day
	clamped bool
}

type family uint8

const (
	plain family = iota
	date
	timestamp
)

// Stored says how rows hold a DATE or a TIMESTAMP.
type Stored uint8

// A text is read exactly. A number is a moment in UTC.
const (
	StoredISO    Stored = iota // a text YYYY-MM-DD; of a TIMESTAMP, with HH:MM or HH:MM:SS behind it or not
	StoredJulian               // a number: days since noon of November 24th, 4714 BC, to the nearest millisecond
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

// day is the step of a DATE.
const day = 86_400

// DateForm returns the form of columns declared DATE.
func DateForm(stored Stored) Form { return Form{family: date, stored: stored, step: day} }

// TimestampForm returns the form of columns declared TIMESTAMP with a step in seconds. The
// step must divide a day.
func TimestampForm(stored Stored, step int64) (Form, error) {
	if step < 1 || day%step != 0 {
		return Form{}, sqlerr.New(sqlerr.Unsupported, "the step of %d seconds does not divide a day", step).
			WithHint("write STEP '15 minutes', '1 hour', '6 hours' or '1 day'")
	}
	return Form{family: timestamp, stored: stored, step: step}, nil
}

// NewRange returns the domain of the DATEs or TIMESTAMPs from lo to hi, as a statement
// writes them, and of NULL if orNull.
func (f Form) NewRange(lo, hi string, orNull bool) (Domain, error) {
	var ends [2]int64
	for i, text := range []string{lo, hi} {
		moment, err := f.Read(text)
		if err != nil {
			return Domain{}, err
		}
		if moment%f.step != 0 {
			return Domain{}, sqlerr.New(sqlerr.Invalid, "%s is no beginning of a step", Text(text)).
				WithHint("the step that it lies in begins at '%s'", f.Shown(Int(f.Floor(moment))).s)
		}
		ends[i] = f.Floor(moment)
	}
	if ends[0] > ends[1] {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "the range %s … %s is empty", lo, hi).WithHint("write the earlier one first")
	}
	return NewRange(ends[0], ends[1], orNull)
}

// Read reads a DATE or a TIMESTAMP as a declaration writes it, and returns its moment. Any
// other text is refused with an error that shows it.
func (f Form) Read(text string) (moment int64, err error) {
	moment, ok := calendar.ParseMoment(text)
	if ok && (f.family != date || len(text) == 10) {
		return moment, nil
	}
	shown := text
	if len(shown) > 40 {
		shown = shown[:40]
	}
	what := sqlerr.New(sqlerr.Invalid, "%s is not a %s", Text(strings.ToValidUTF8(shown, "?")), strings.ToLower(f.name()))
	if f.family == date {
		return 0, what.WithHint("write it as '2024-12-31', with four digits of the year and two of month and day")
	}
	return 0, what.WithHint("write it as '2024-12-31' or '2024-12-31 23:59:00'")
}

// Floor returns the canonical value of the step that a moment lies in.
func (f Form) Floor(moment int64) int64 {
	n := moment / f.step
	if moment%f.step < 0 {
		n--
	}
	return n
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

// IsTime reports whether the column is declared DATE or TIMESTAMP.
func (f Form) IsTime() bool { return f.family == date || f.family == timestamp }

// Stored returns how rows hold the values.
func (f Form) Stored() Stored { return f.stored }

// Step returns the step of a DATE or a TIMESTAMP in seconds.
func (f Form) Step() int64 { return f.step }

// Fits reports whether a domain can be that of a column with the form.
func (f Form) Fits(d Domain) bool {
	if f.clamped && !d.IsRange() {
		return false
	}
	return !f.IsTime() || d.IsRange() && d.d.typ == TypeInteger && d.d.lo >= f.Floor(calendar.FirstMoment) && d.d.hi <= f.Floor(calendar.LastMoment)
}

// Shown returns a canonical value as people write it.
func (f Form) Shown(v Value) Value {
	switch {
	case !f.IsTime() || !v.IsInt():
		return v
	case f.family == date:
		return Text(calendar.Format(v.n))
	}
	return Text(calendar.FormatMoment(v.n * f.step))
}

// Canonical returns the canonical value of one that Shown returns. It is false for a
// value that stands for none.
func (f Form) Canonical(shown Value) (Value, bool) {
	if !f.IsTime() || shown.IsNull() {
		return shown, true
	}
	moment, ok := calendar.ParseMoment(shown.Str())
	return Int(f.Floor(moment)), ok && f.Shown(Int(f.Floor(moment))) == shown
}

// ShownType returns the type of what Shown returns.
func (c Column) ShownType() Type {
	if c.Form.IsTime() {
		return TypeText
	}
	return c.Domain.Type()
}

func (f Form) name() string { return [...]string{"", "DATE", "TIMESTAMP"}[f.family] }

// TypeName returns the declared type of the column.
func (c Column) TypeName() string {
	if c.Form.IsTime() {
		return c.Form.name()
	}
	return c.Domain.Type().String()
}

// DomainText returns the domain in the syntax of a column declaration, without the type.
func (c Column) DomainText() string {
	d, f := c.Domain, c.Form
	if !d.IsRange() {
		return d.String()
	}
	lo, hi := d.Bounds()
	text := "BETWEEN " + f.Shown(Int(lo)).String() + " AND " + f.Shown(Int(hi)).String()
	if f.family == timestamp {
		text += " STEP '" + stepText(f.step) + "'"
	}
	if d.HasNull() {
		text += " OR NULL"
	}
	if f.clamped {
		text += " CLAMP"
	}
	if f.stored != StoredISO {
		text += " STORED AS " + f.stored.String()
	}
	return text
}

// stepUnits are the units of steps, the longest first.
var stepUnits = []struct {
	name    string
	seconds int64
}{{"day", day}, {"hour", 3600}, {"minute", 60}, {"second", 1}}

func stepText(step int64) string {
	for _, u := range stepUnits {
		if n := step / u.seconds; step%u.seconds == 0 && n == 1 {
			return "1 " + u.name
		} else if step%u.seconds == 0 {
			return strconv.FormatInt(n, 10) + " " + u.name + "s"
		}
	}
	return ""
}

// ReadStep reads a step, such as 15 minutes, and returns it in seconds.
func ReadStep(text string) (int64, bool) {
	number, unit, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	n, err := strconv.ParseInt(number, 10, 32)
	for _, u := range stepUnits {
		if strings.TrimSuffix(strings.TrimSpace(unit), "s") == u.name {
			return n * u.seconds, ok && err == nil && n > 0
		}
	}
	return 0, false
}

package query

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
)

// Form says how people write the values of a column and how its rows hold them. Queries,
// domains and mechanisms see canonical values alone: an INTEGER or a TEXT. The zero Form
// is that of columns declared INTEGER and TEXT, whose canonical values are what people
// write. Forms are comparable with ==.
//
// The values of a BOOLEAN are 0 and 1, which TRUE and FALSE are in a statement.
//
// A DATE and a TIMESTAMP are counted in steps since 1970-01-01 00:00:00 UTC, a DATE in
// days. A TIME is a TIMESTAMP of that day alone, which is not shown. A moment belongs to the step that it lies in. The order of steps is that of the
// texts of their beginnings, so that a comparison is one of integers, and a range of them
// is a range of integers.
//
// The canonical value of a REAL or NUMERIC is a number of steps; see Form.IsRounded. What
// people see are multiples of the step, which Column.Steps converts.
type Form struct {
	family  family
	stored  Stored
	step    int64 // of a DATE and a TIMESTAMP, in seconds; it divides a day
	clamped bool
	other   bool     // of a TEXT, which has OTHER for every text that is not listed
	noCase  bool     // of a TEXT: texts that differ in the case of ASCII letters alone are the same
	steps   stepping // of a REAL and a NUMERIC
}

// stepping is the step of a REAL or NUMERIC column: numerator / denominator in lowest terms.
type stepping struct {
	numerator, denominator int64
	precision, scale       int  // of NUMERIC(precision, scale); precision is 0 for REAL
	rounded                bool // a number stands for the step that it lies in, else only a multiple stands for itself
}

type family uint8

const (
	plain family = iota
	date
	timestamp
	stepped
	boolean
)

// Stored says how rows hold a DATE or a TIMESTAMP.
type Stored uint8

// A text is read exactly. A number is a moment in UTC.
const (
	StoredISO    Stored = iota // a text YYYY-MM-DD; of a TIMESTAMP, with HH:MM or HH:MM:SS behind it or not
	StoredJulian               // a number: days since noon of November 24th, 4714 BC, to the nearest millisecond
	StoredUnix                 // a number: seconds since 1970-01-01
	StoredClock                // of a TIME alone: a text HH:MM or HH:MM:SS
)

var storedNames = [...]string{StoredISO: "iso", StoredJulian: "julian", StoredUnix: "unix", StoredClock: "clock"}

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

// BooleanForm returns the form of columns declared BOOLEAN, and NewBoolean their domain.
func BooleanForm() Form { return Form{family: boolean} }

// NewBoolean returns the domain of 0 and 1, and of NULL if orNull.
func NewBoolean(orNull bool) Domain {
	d, _ := NewRange(0, 1, orNull) // no error for these bounds
	return d
}

// Other is the value of a TEXT column with OR OTHER that every text has which is not listed. It
// is shown for keys that a release has not published, too.
const Other = "OTHER"

// Other returns the form with OR OTHER. The domain is a list with Other in it.
func (f Form) Other() Form {
	f.other = true
	return f
}

// HasOther reports whether the column is declared with OR OTHER.
func (f Form) HasOther() bool { return f.other }

// NoCase returns the form of a TEXT with COLLATE NOCASE: a text stands for the listed one that is
// equal but for the case of ASCII letters, and in a column without a list for the one in lower case.
func (f Form) NoCase() Form {
	f.noCase = true
	return f
}

// IsNoCase reports whether the column is declared with COLLATE NOCASE.
func (f Form) IsNoCase() bool { return f.noCase }

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

// NewDay returns the domain of all TIMEs, and of NULL if orNull.
func (f Form) NewDay(orNull bool) Domain {
	d, _ := NewRange(0, day/f.step-1, orNull) // no error for these bounds
	return d
}

// ReadMoment reads a moment, or a time of day where the column is a TIME, as a statement writes it.
func (f Form) ReadMoment(text string) (moment int64, fraction string, ok bool) {
	if f.IsClock() {
		return calendar.ReadClock(text)
	}
	return calendar.ReadMoment(text)
}

// Read reads a DATE, a TIMESTAMP or a TIME as a declaration writes it, and returns its moment. Any
// other text is refused with an error that shows it.
func (f Form) Read(text string) (moment int64, err error) {
	moment, fraction, ok := f.ReadMoment(text)
	if ok && fraction == "" && (f.family != date || len(text) == 10) && (!f.IsClock() || moment < day) {
		return moment, nil
	}
	shown := text
	if len(shown) > 40 {
		shown = shown[:40]
	}
	what := sqlerr.New(sqlerr.Invalid, "%s is not a %s", Text(strings.ToValidUTF8(shown, "?")), strings.ToLower(f.name()))
	return 0, what.WithHint("write it as %s", f.Example())
}

// Example shows how a DATE, a TIMESTAMP or a TIME is written.
func (f Form) Example() string {
	switch {
	case f.IsClock():
		return "'09:27' or '09:27:30'"
	case f.family == date:
		return "'2024-12-31', with four digits of the year and two of month and day"
	}
	return "'2024-12-31' or '2024-12-31 23:59:00'"
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

// IsBoolean reports whether the column is declared BOOLEAN.
func (f Form) IsBoolean() bool { return f.family == boolean }

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

// IsClock reports whether the column is declared TIME.
func (f Form) IsClock() bool { return f.stored == StoredClock }

// IsTime reports whether the column is declared DATE, TIMESTAMP or TIME.
func (f Form) IsTime() bool { return f.family == date || f.family == timestamp }

// Stored returns how rows hold the values.
func (f Form) Stored() Stored { return f.stored }

// Step returns the step of a DATE, a TIMESTAMP or a TIME in seconds.
func (f Form) Step() int64 { return f.step }

// IsStepped reports whether the column is declared REAL or NUMERIC. Its canonical values
// are numbers of steps.
func (f Form) IsStepped() bool { return f.family == stepped }

// IsRounded reports whether a canonical value n of a REAL or NUMERIC column stands for all
// numbers from n steps up to n+1, without the upper end. The last step of the domain has
// that end too. If not, n stands for the number n steps.
func (f Form) IsRounded() bool { return f.steps.rounded }

// Fraction returns the step of a REAL or NUMERIC column as a fraction. Each n within the
// domain times the numerator is a float64, and so is the denominator, so that n steps are
// a float64 that is rounded once.
func (f Form) Fraction() (numerator, denominator int64) {
	return f.steps.numerator, f.steps.denominator
}

// Numeric returns the precision and the scale of a NUMERIC column. The precision is 0 for
// other columns.
func (f Form) Numeric() (precision, scale int) { return f.steps.precision, f.steps.scale }

// StepForm returns the form of columns declared REAL, or NUMERIC(precision, scale) if the
// precision is not 0. It is false for a step that is not valid.
func StepForm(numerator, denominator int64, rounded bool, precision, scale int) (Form, bool) {
	f := Form{family: stepped, steps: stepping{numerator, denominator, precision, scale, rounded}}
	return f, numerator > 0 && denominator > 0 && numerator <= maxExact && denominator <= maxExact &&
		precision >= 0 && precision <= MaxPrecision && scale >= 0 && scale <= precision
}

// MaxPrecision is the largest number of digits of a NUMERIC column.
const MaxPrecision = 1000

// Column returns the domain and the form of a private REAL column, or of one that is
// NUMERIC(precision, scale) if the precision is not 0. If rounded, a number stands for the
// step that it lies in.
func (s Steps) Column(rounded bool, precision, scale int) (Domain, Form, error) {
	lo, hi := s.lo, s.hi
	if rounded {
		hi--
	}
	if hi < lo {
		return Domain{}, Form{}, sqlerr.New(sqlerr.Invalid, "the range has no step").WithHint("write the smaller bound first")
	}
	p, q := s.step.Num(), s.step.Denom()
	if !p.IsInt64() || !q.IsInt64() || q.Int64() > maxExact || p.Int64() > maxExact/max(s.hi, -s.lo, 1) {
		return Domain{}, Form{}, sqlerr.New(sqlerr.Unsupported, "the bounds or the step have too many digits").WithHint("give a rounder step")
	}
	d, err := NewRange(lo, hi, s.null)
	if err != nil {
		return Domain{}, Form{}, err
	}
	f, ok := StepForm(p.Int64(), q.Int64(), rounded, precision, scale)
	if !ok {
		return Domain{}, Form{}, sqlerr.New(sqlerr.Unsupported, "the step is outside the dialect")
	}
	return d, f, nil
}

// Steps returns the bounds and the step of a REAL or NUMERIC column, and nil for others.
func (c Column) Steps() *Steps {
	if !c.Form.IsStepped() {
		return nil
	}
	lo, hi := c.Domain.Bounds()
	if c.Form.steps.rounded {
		hi++
	}
	return &Steps{lo: lo, hi: hi, step: big.NewRat(c.Form.steps.numerator, c.Form.steps.denominator), null: c.Domain.HasNull()}
}

// Bounds returns the bounds in steps.
func (s Steps) Bounds() (lo, hi int64) { return s.lo, s.hi }

// Fits reports whether a domain can be that of a column with the form.
func (f Form) Fits(d Domain) bool {
	if f.clamped && !d.IsRange() {
		return false
	}
	if f.other || f.noCase {
		_, other := d.Ordinal(Text(Other))
		return f == Form{other: f.other, noCase: f.noCase} && d.Type() == TypeText && d.d.published == nil &&
			(!f.other || d.Finite() && other) && (!f.noCase || !d.Finite() || d.spellings() != nil)
	}
	if f.family == boolean {
		return f == BooleanForm() && d.IsRange() && d.d.lo == 0 && d.d.hi == 1
	}
	if f.family == stepped {
		if !d.IsRange() || d.d.lo < -maxSteps || d.d.hi > maxSteps {
			return false
		}
		return f.steps.numerator <= maxExact/max(d.d.hi+1, -d.d.lo, 1)
	}
	if f.IsClock() {
		return f.family == timestamp && d.IsRange() && d.d.lo >= 0 && d.d.hi < day/f.step
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
	case f.IsClock():
		return Text(calendar.FormatClock(v.n * f.step))
	}
	return Text(calendar.FormatMoment(v.n * f.step))
}

// Canonical returns the canonical value of one that people write. A day or a step is any text of
// the moment at which it begins. It is false for a value that stands for none.
func (c Column) Canonical(shown Value) (Value, bool) {
	f := c.Form
	switch {
	case f.noCase:
		return c.Domain.spelled(shown), true
	case !f.IsTime() || shown.IsNull():
		return shown, true
	}
	moment, fraction, ok := f.ReadMoment(shown.Str())
	return Int(f.Floor(moment)), ok && fraction == "" && moment%f.step == 0
}

// collation returns the words behind a domain of texts.
func (f Form) collation() string {
	if f.noCase {
		return " COLLATE NOCASE"
	}
	return ""
}

// ShownType returns the type of what Shown returns.
func (c Column) ShownType() Type {
	if c.Form.IsTime() {
		return TypeText
	}
	return c.Domain.Type()
}

func (f Form) name() string {
	if f.IsClock() {
		return "TIME"
	}
	return [...]string{"", "DATE", "TIMESTAMP"}[f.family]
}

// TypeName returns the declared type of the column.
func (c Column) TypeName() string {
	switch s := c.Form.steps; {
	case c.Form.IsTime():
		return c.Form.name()
	case c.Form.IsBoolean():
		return "BOOLEAN"
	case s.precision > 0:
		return fmt.Sprintf("NUMERIC(%d,%d)", s.precision, s.scale)
	case c.Form.IsStepped():
		return "REAL"
	}
	return c.Domain.Type().String()
}

// DomainText returns the domain in the syntax of a column declaration, without the type.
func (c Column) DomainText() string {
	d, f := c.Domain, c.Form
	switch {
	case f.IsBoolean() && d.HasNull():
		return "IN (FALSE, TRUE, NULL)"
	case f.IsBoolean():
		return "IN (FALSE, TRUE)"
	case f.other:
		listed, err := NewList(TypeText, slices.DeleteFunc(slices.Clone(d.d.list), func(v Value) bool { return v == Text(Other) }))
		if err != nil {
			return d.String()
		}
		return listed.String() + " OR " + Other + f.collation()
	case !d.IsRange():
		return strings.TrimPrefix(d.String()+f.collation(), " ")
	}
	if s := c.Steps(); s != nil {
		lo, hi, step := s.Texts()
		text := "BETWEEN " + lo + " AND " + hi
		if c.Form.steps.rounded {
			text += " STEP " + step
		}
		return text + c.Form.orNullClamp(d)
	}
	lo, hi := d.Bounds()
	text := "BETWEEN " + f.Shown(Int(lo)).String() + " AND " + f.Shown(Int(hi)).String()
	if f.family == timestamp {
		text += " STEP '" + stepText(f.step) + "'"
	}
	text += f.orNullClamp(d)
	if f.stored != StoredISO && f.stored != StoredClock {
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

// orNullClamp returns the words behind the bounds of a domain.
func (f Form) orNullClamp(d Domain) (text string) {
	if d.HasNull() {
		text = " OR NULL"
	}
	if f.clamped {
		text += " CLAMP"
	}
	return text
}

// StoredColumn is the JSON form of a column.
type StoredColumn struct {
	Name   string       `json:"name"`
	Type   string       `json:"type"`
	Domain StoredDomain `json:"domain"`
	Place  int          `json:"place,omitempty"`
}

// Stored returns the stored form of a column.
func (c Column) Stored() (StoredColumn, error) {
	domain, err := store(c)
	return StoredColumn{c.Name, c.TypeName(), domain, c.Place}, err
}

// Column returns the column. It is false if its domain cannot be read.
func (s StoredColumn) Column() (c Column, ok bool) {
	c.Name, c.Place = s.Name, s.Place
	c.Domain, c.Form, ok = s.Domain.read(s.Type)
	return c, ok
}

// StoredDomain is the JSON form of a column's domain: a range, a list in full,
// or neither for text without a domain. The values are canonical.
type StoredDomain struct {
	Stored   string            `json:"stored,omitempty"` // of a DATE and a TIMESTAMP: how rows hold it
	Step     int64             `json:"step,omitempty"`   // of a TIMESTAMP, in seconds
	Range    []int64           `json:"range,omitempty"`  // lo, hi
	OrNull   bool              `json:"or_null,omitempty"`
	Clamp    bool              `json:"clamp,omitempty"`
	Boolean  bool              `json:"boolean,omitempty"`
	Other    bool              `json:"other,omitempty"`
	NoCase   bool              `json:"nocase,omitempty"`
	Fraction *storedStep       `json:"fraction,omitempty"` // of a REAL or NUMERIC, whose range is in steps
	Values   []json.RawMessage `json:"values,omitempty"`
}

// storedStep is the step of a REAL or NUMERIC column.
type storedStep struct {
	Of      [2]int64 `json:"of"` // numerator, denominator
	Rounded bool     `json:"rounded,omitempty"`
	Numeric [2]int   `json:"numeric"` // precision, scale; 0, 0 for REAL
}

func store(c Column) (stored StoredDomain, err error) {
	d := c.Domain
	stored = StoredDomain{Clamp: c.Form.IsClamped(), Boolean: c.Form.IsBoolean(), Other: c.Form.HasOther(), NoCase: c.Form.IsNoCase()}
	if c.Form.IsTime() {
		stored.Stored = c.Form.Stored().String()
		if !c.Form.IsDate() {
			stored.Step = c.Form.Step()
		}
	}
	if c.Form.IsStepped() {
		stored.Fraction = &storedStep{Rounded: c.Form.IsRounded()}
		stored.Fraction.Of[0], stored.Fraction.Of[1] = c.Form.Fraction()
		stored.Fraction.Numeric[0], stored.Fraction.Numeric[1] = c.Form.Numeric()
	}
	switch {
	case !d.Finite():
	case d.IsRange():
		stored.OrNull = d.HasNull()
		lo, hi := d.Bounds()
		stored.Range = []int64{lo, hi}
	default:
		stored.Values = make([]json.RawMessage, d.Size())
		for i := range stored.Values {
			if stored.Values[i], err = encodeValue(d.Value(uint64(i))); err != nil {
				return stored, err
			}
		}
	}
	return stored, nil
}

// encodeValue writes NULL as null, an integer as a number, a text as a string,
// and a text that is not UTF-8, which JSON cannot hold, as {"bytes": base64}.
func encodeValue(v Value) (json.RawMessage, error) {
	switch {
	case v.IsNull():
		return json.RawMessage("null"), nil
	case v.IsInt():
		return json.RawMessage(strconv.FormatInt(v.Int64(), 10)), nil
	}
	return json.Marshal(Exact(v.Str()))
}

// read returns the domain and the form of a column of a type. It is false if they cannot be read.
func (stored StoredDomain) read(typeName string) (d Domain, f Form, ok bool) {
	var err error
	if stored.Stored != "" {
		as, known := StoredNamed(stored.Stored)
		if !known {
			return d, f, false
		}
		f = DateForm(as)
		if stored.Step != 0 {
			if f, err = TimestampForm(as, stored.Step); err != nil {
				return d, f, false
			}
		}
	}
	if s := stored.Fraction; s != nil {
		if f, ok = StepForm(s.Of[0], s.Of[1], s.Rounded, s.Numeric[0], s.Numeric[1]); !ok || stored.Stored != "" {
			return d, f, false
		}
	}
	if stored.Boolean {
		f = BooleanForm()
	}
	if stored.Other {
		f = f.Other()
	}
	if stored.NoCase {
		f = f.NoCase()
	}
	if stored.Clamp {
		f = f.Clamped()
	}
	switch {
	case len(stored.Range) == 2:
		d, err = NewRange(stored.Range[0], stored.Range[1], stored.OrNull)
	case stored.Values != nil:
		d, err = decodeList(typeName, stored.Values)
	default:
		d = Unbounded()
	}
	if err != nil || (Column{Domain: d, Form: f}).TypeName() != typeName || !f.Fits(d) {
		return d, f, false
	}
	return d, f, true
}

func decodeList(typeName string, stored []json.RawMessage) (Domain, error) {
	values := make([]Value, len(stored))
	for i, raw := range stored {
		v, err := decodeValue(raw)
		if err != nil {
			return Domain{}, err
		}
		values[i] = v
	}
	t := TypeText
	if typeName == TypeInteger.String() {
		t = TypeInteger
	}
	return NewList(t, values)
}

func decodeValue(raw json.RawMessage) (Value, error) {
	switch raw[0] { // json.Unmarshal leaves no empty element and no leading space
	case 'n':
		return Null(), nil
	case '"', '{':
		var text Exact
		err := text.UnmarshalJSON(raw)
		return Text(string(text)), err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return Int(n), err
}

// Exact is a text that need not be UTF-8, which JSON cannot hold. Then it is {"bytes": base64}.
type Exact string

type rawBytes struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t Exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawBytes{Bytes: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Exact) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return json.Unmarshal(text, (*string)(t))
	}
	var b rawBytes
	err := json.Unmarshal(text, &b)
	*t = Exact(b.Bytes)
	return err
}

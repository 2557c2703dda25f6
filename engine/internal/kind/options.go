package kind

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Options reads the WITH clause of a declaration. It keeps the first error, with the
// position of the option, and done returns it.
type Options struct {
	list []syntax.Option
	err  error
}

// NewOptions returns the options. A name that is not known is an error.
func NewOptions(list []syntax.Option, known ...string) *Options {
	o := &Options{list: list}
	for _, option := range list {
		if !slices.Contains(known, option.Name.Text) {
			o.Fail(sqlerr.New(sqlerr.Invalid, "there is no option %s here", option.Name.Text).
				WithHint("the options are %s", strings.Join(known, ", ")), option.Name.Position)
		}
	}
	return o
}

func (o *Options) Done() error { return o.err }

func (o *Options) Fail(err error, position int) {
	if o.err == nil && err != nil {
		o.err = sqlerr.Locate(err, position)
	}
}

func (o *Options) Find(name string) *syntax.Option {
	for i := range o.list {
		if o.list[i].Name.Text == name {
			return &o.list[i]
		}
	}
	return nil
}

func (o *Options) Has(name string) bool { return o.Find(name) != nil }

// Refuse fails if one of the options is given. why completes the message.
func (o *Options) Refuse(why string, names ...string) {
	for _, name := range names {
		if option := o.Find(name); option != nil {
			o.Fail(sqlerr.New(sqlerr.Invalid, "%s has no meaning %s", name, why), option.Name.Position)
		}
	}
}

// Number returns the text of a numeric option, or "" if it is not given.
func (o *Options) Number(name string) (string, int) {
	option := o.Find(name)
	if option == nil {
		return "", 0
	}
	if option.Kind != syntax.Number {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be a number", name), option.Position)
	}
	return option.Value, option.Position
}

// Epsilon returns the required option epsilon.
func (o *Options) Epsilon() accounting.Epsilon {
	text, position := o.Number("epsilon")
	if text == "" {
		o.Fail(sqlerr.New(sqlerr.Invalid, "epsilon is missing").WithHint("WITH (epsilon = 1)"), 0)
		return 0
	}
	e, err := accounting.ParseEpsilon(text)
	o.Fail(err, position)
	return e
}

// Delta returns the option delta. given is false if the option is missing.
func (o *Options) Delta() (d accounting.Delta, given bool) {
	text, position := o.Number("delta")
	if text == "" {
		return 0, false
	}
	d, err := accounting.ParseDelta(text)
	o.Fail(err, position)
	return d, true
}

// Share returns a fraction from 0 to 1.
func (o *Options) Share(name string, otherwise *big.Rat) *big.Rat {
	text, position := o.Number(name)
	if text == "" {
		return otherwise
	}
	r, err := accounting.ParseShare(text)
	o.Fail(err, position)
	return r
}

// Integer returns a whole number from lo to hi. It reads 1e6 as one.
func (o *Options) Integer(name string, otherwise, lo, hi int64) int64 {
	text, position := o.Number(name)
	if text == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || x < float64(lo) || x > float64(hi) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be a whole number from %d to %d", name, lo, hi), position)
		return otherwise
	}
	return int64(x)
}

// Fraction returns a number strictly between 0 and 1, or 0 if it is not given.
func (o *Options) Fraction(name string, otherwise float64) float64 {
	text, position := o.Number(name)
	if text == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x < 1) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must lie between 0 and 1", name), position)
		return otherwise
	}
	return x
}

// Word returns one of the allowed words; the first is the default.
func (o *Options) Word(name string, allowed ...string) string {
	option := o.Find(name)
	if option == nil {
		return allowed[0]
	}
	w := strings.ToLower(option.Value)
	if option.Kind == syntax.Number || !slices.Contains(allowed, w) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be one of %s", name, strings.Join(allowed, ", ")), option.Position)
		return allowed[0]
	}
	return w
}

// Name returns an option that names a column, or "" if it is not given.
func (o *Options) Name(name string) string {
	option := o.Find(name)
	if option == nil {
		return ""
	}
	if option.Kind == syntax.Number || option.Value == "" {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be the name of a column", name), option.Position)
	}
	return option.Value
}

// Releases returns the names of releases that an option gives: one, or several in parentheses.
func (o *Options) Releases(name string) []syntax.Name { return o.names(name, "release") }

// Publics returns the names of public tables that an option gives: one, or several in parentheses.
func (o *Options) Publics(name string) []syntax.Name { return o.names(name, "public table") }

func (o *Options) names(name, of string) []syntax.Name {
	option := o.Find(name)
	switch {
	case option == nil:
		return nil
	case option.Kind == syntax.List:
		return option.Names
	case option.Kind == syntax.Number || option.Value == "":
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be the name of a %s, or several in parentheses", name, of), option.Position)
	}
	return []syntax.Name{{Text: option.Value, Position: option.Position}}
}

// File returns the option's file name, or "" if it is not given.
func (o *Options) File(name string) string {
	option := o.Find(name)
	if option == nil {
		return ""
	}
	if option.Kind != syntax.String || option.Value == "" {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be a file name in quotes", name), option.Position)
	}
	return option.Value
}

// units are the units of sizes in memory.
var units = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// Bytes returns a size in memory. It is written as a number of bytes, or as '64 MiB'.
func (o *Options) Bytes(name string, otherwise, lo, hi int64) int64 {
	option := o.Find(name)
	if option == nil {
		return otherwise
	}
	text, unit := strings.TrimSpace(option.Value), 1.0
	for _, u := range units {
		if n := len(text) - len(u.name); option.Kind != syntax.Number && n > 0 && strings.EqualFold(text[n:], u.name) {
			text, unit = strings.TrimSpace(text[:n]), u.size
			break
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if x *= unit; err != nil || x != math.Trunc(x) || x < float64(lo) || x > float64(hi) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be a size from %d to %d bytes", name, lo, hi).
			WithHint("%s = %d, or %[1]s = '64 MiB'", name, otherwise), option.Position)
		return otherwise
	}
	return int64(x)
}

// maxAnswerTime is the longest answer time that can be declared. Doubling passes it.
const maxAnswerTime = time.Hour

// AnswerTime returns the option answer_time: a number of milliseconds, or a text such as
// '250 ms' or '2 s'. It returns 0 if it is not given.
func (o *Options) AnswerTime() time.Duration {
	option := o.Find("answer_time")
	if option == nil {
		return 0
	}
	text, unit := strings.TrimSpace(option.Value), time.Millisecond
	if option.Kind != syntax.Number {
		var ok bool
		if text, ok = strings.CutSuffix(text, "ms"); !ok {
			text, ok = strings.CutSuffix(text, "s")
			unit = time.Second
		}
		if text = strings.TrimSpace(text); !ok || option.Kind != syntax.String {
			text = ""
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > int64(maxAnswerTime/unit) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "answer_time must be a whole number of milliseconds from 1 to %d", maxAnswerTime.Milliseconds()).
			WithHint("answer_time = 250, or answer_time = '2 s'"), option.Position)
		return 0
	}
	return time.Duration(n) * unit
}

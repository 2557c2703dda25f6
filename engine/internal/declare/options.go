package declare

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// options reads the WITH clause of a declaration. It keeps the first error, with the
// position of the option, and done returns it.
type options struct {
	list []syntax.Option
	err  error
}

// newOptions returns the options. A name that is not known is an error.
func newOptions(list []syntax.Option, known ...string) *options {
	o := &options{list: list}
	for _, option := range list {
		if !slices.Contains(known, option.Name.Text) {
			o.fail(sqlerr.New(sqlerr.Invalid, "there is no option %s here", option.Name.Text).
				WithHint("the options are %s", strings.Join(known, ", ")), option.Name.Position)
		}
	}
	return o
}

func (o *options) done() error { return o.err }

func (o *options) fail(err error, position int) {
	if o.err == nil && err != nil {
		o.err = sqlerr.Locate(err, position)
	}
}

func (o *options) find(name string) *syntax.Option {
	for i := range o.list {
		if o.list[i].Name.Text == name {
			return &o.list[i]
		}
	}
	return nil
}

func (o *options) has(name string) bool { return o.find(name) != nil }

// refuse fails if one of the options is given. why completes the message.
func (o *options) refuse(why string, names ...string) {
	for _, name := range names {
		if option := o.find(name); option != nil {
			o.fail(sqlerr.New(sqlerr.Invalid, "%s has no meaning %s", name, why), option.Name.Position)
		}
	}
}

// number returns the text of a numeric option, or "" if it is not given.
func (o *options) number(name string) (string, int) {
	option := o.find(name)
	if option == nil {
		return "", 0
	}
	if option.Kind != syntax.Number {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be a number", name), option.Position)
	}
	return option.Value, option.Position
}

// epsilon returns the required option epsilon.
func (o *options) epsilon() accounting.Epsilon {
	text, position := o.number("epsilon")
	if text == "" {
		o.fail(sqlerr.New(sqlerr.Invalid, "epsilon is missing").WithHint("WITH (epsilon = 1)"), 0)
		return 0
	}
	e, err := accounting.ParseEpsilon(text)
	o.fail(err, position)
	return e
}

// delta returns the option delta. given is false if the option is missing.
func (o *options) delta() (d accounting.Delta, given bool) {
	text, position := o.number("delta")
	if text == "" {
		return 0, false
	}
	d, err := accounting.ParseDelta(text)
	o.fail(err, position)
	return d, true
}

// share returns a fraction from 0 to 1.
func (o *options) share(name string, otherwise *big.Rat) *big.Rat {
	text, position := o.number(name)
	if text == "" {
		return otherwise
	}
	r, err := accounting.ParseShare(text)
	o.fail(err, position)
	return r
}

// integer returns a whole number from lo to hi. It reads 1e6 as one.
func (o *options) integer(name string, otherwise, lo, hi int64) int64 {
	text, position := o.number(name)
	if text == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || x < float64(lo) || x > float64(hi) {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be a whole number from %d to %d", name, lo, hi), position)
		return otherwise
	}
	return int64(x)
}

// fraction returns a number strictly between 0 and 1, or 0 if it is not given.
func (o *options) fraction(name string, otherwise float64) float64 {
	text, position := o.number(name)
	if text == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x < 1) {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must lie between 0 and 1", name), position)
		return otherwise
	}
	return x
}

// word returns one of the allowed words; the first is the default.
func (o *options) word(name string, allowed ...string) string {
	option := o.find(name)
	if option == nil {
		return allowed[0]
	}
	w := strings.ToLower(option.Value)
	if option.Kind == syntax.Number || !slices.Contains(allowed, w) {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be one of %s", name, strings.Join(allowed, ", ")), option.Position)
		return allowed[0]
	}
	return w
}

// name returns an option that names a column, or "" if it is not given.
func (o *options) name(name string) string {
	option := o.find(name)
	if option == nil {
		return ""
	}
	if option.Kind == syntax.Number || option.Value == "" {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be the name of a column", name), option.Position)
	}
	return option.Value
}

// releases returns the names of releases that an option gives: one, or several in parentheses.
func (o *options) releases(name string) []syntax.Name {
	option := o.find(name)
	switch {
	case option == nil:
		return nil
	case option.Kind == syntax.List:
		return option.Names
	case option.Kind == syntax.Number || option.Value == "":
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be the name of a release, or several in parentheses", name), option.Position)
	}
	return []syntax.Name{{Text: option.Value, Position: option.Position}}
}

// file returns the option's file name, or "" if it is not given.
func (o *options) file(name string) string {
	option := o.find(name)
	if option == nil {
		return ""
	}
	if option.Kind != syntax.String || option.Value == "" {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be a file name in quotes", name), option.Position)
	}
	return option.Value
}

// units are the units of sizes in memory.
var units = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// bytes returns a size in memory. It is written as a number of bytes, or as '64 MiB'.
func (o *options) bytes(name string, otherwise, lo, hi int64) int64 {
	option := o.find(name)
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
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be a size from %d to %d bytes", name, lo, hi).
			WithHint("%s = %d, or %[1]s = '64 MiB'", name, otherwise), option.Position)
		return otherwise
	}
	return int64(x)
}

// maxAnswerTime is the longest answer time that can be declared. Doubling passes it.
const maxAnswerTime = time.Hour

// answerTime returns the option answer_time: a number of milliseconds, or a text such as
// '250 ms' or '2 s'. It returns 0 if it is not given.
func (o *options) answerTime() time.Duration {
	option := o.find("answer_time")
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
		o.fail(sqlerr.New(sqlerr.Invalid, "answer_time must be a whole number of milliseconds from 1 to %d", maxAnswerTime.Milliseconds()).
			WithHint("answer_time = 250, or answer_time = '2 s'"), option.Position)
		return 0
	}
	return time.Duration(n) * unit
}

// limitOptions are the options that limit what SELECTs may spend.
type limitOptions struct {
	charge *accounting.Rho // nil if not given; 0 for no limit
	buyOff *bool           // nil if not given
}

// limitNames are the names of these options.
var limitNames = []string{"max_charge", "buy"}

func readLimits(o *options) (l limitOptions) {
	if option := o.find("max_charge"); option != nil {
		var rho accounting.Rho
		if option.Kind == syntax.String || option.Kind == syntax.Word && option.Value != "none" {
			o.fail(sqlerr.New(sqlerr.Invalid, "max_charge must be a number, or none"), option.Position)
		} else if option.Kind == syntax.Number {
			var err error
			rho, err = accounting.ParseRho("max_charge", option.Value)
			o.fail(err, option.Position)
		}
		l.charge = &rho
	}
	if o.has("buy") {
		off := o.word("buy", "on", "off") == "off"
		l.buyOff = &off
	}
	return l
}

// override returns the limits, changed by the options that were given.
func (l limitOptions) override(limits catalog.Limits) catalog.Limits {
	if l.charge != nil {
		limits.MaxCharge = *l.charge
	}
	if l.buyOff != nil {
		limits.BuyOff = *l.buyOff
	}
	return limits
}

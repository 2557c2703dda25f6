package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// markers are words that programs write for a value that is not there. No other word of
// a file is quoted in what is said about it.
var markers = []string{"na", "n/a", "#n/a", "<na>", "nan", "null", "nil", "none", "-", "--", "---", ".", "..", "?", "*", "missing", "unknown", "refused", "n.a.", "k.a.", "n.d.", "nd", "nsp", "nc", "n.c.", "k. a.", "n. a.", "n/d", "s/d", `\n`,
	"—", "–", "...", "…", ":", "(null)", "#null!", "#div/0!", "#value!", "#ref!", "#num!", "н/д", "不明"}

// isMarker also knows Stata's .a to .z.
func isMarker(word string) bool {
	return slices.Contains(markers, word) || len(word) == 2 && word[0] == '.' && 'a' <= word[1] && word[1] <= 'z'
}

// tally counts what the fields of a column are, and what keeps a TEXT column from being
// numbers or dates.
type tally struct {
	numbers, dressed, commas, others, empty int
	marked                                  int      // of the dressed, those with a decimal comma
	line                                    int      // of the first of the others
	packed                                  int      // of the numbers, those that may be dates: 20240131
	months                                  int      // of the others, months without a day
	united                                  int      // of the dressed, those with a unit: 60 kg
	units                                   []string // of the numbers, "" for none
	markers                                 map[string]int
	dates                                   dates
}

// hopeless reports that a column is of texts.
func (t *tally) hopeless() bool {
	return t.others > 100 && t.others > t.numbers+t.dressed+t.commas+t.dates.n
}

// see adds a field, in a line, to what its column has had.
func (t *tally) see(column *seen, field string, line int, d *Dialect) {
	if field = strings.TrimSpace(field); field == "" {
		t.empty++
		return
	}
	if t.hopeless() {
		return // the column is TEXT
	}
	if d.Numbers {
		number, unit := parts(field, d.Decimal)
		column.text = column.text || number != "" && !t.noteUnit(unit)
		field = cmp.Or(number, field)
	}
	number, comma := column.add(field)
	if !number && isMarker(strings.ToLower(field)) {
		if t.markers == nil {
			t.markers = make(map[string]int)
		}
		t.markers[field]++
		return
	}
	date := (!number || len(t.dates.given) > 0) && t.dates.see(field, line)
	switch {
	case date:
	case number:
		if t.numbers++; !d.Numbers {
			t.noteUnit("")
		}
		if _, err := time.Parse("20060102", field); err == nil && field > "19" && field < "21" {
			t.packed++
		}
	case comma && !thousands.MatchString(field):
		t.commas++
	case t.undress(field, '.'):
	case t.undress(field, ','):
		t.marked++
	default:
		if t.others++; t.others == 1 {
			t.line = line
		}
		if isMonth(field) {
			t.months++
		}
	}
}

// month finds a month without a day: 2024-03, 03/2024, Mar 2024, März-24.
var month = regexp.MustCompile(`^(?:(?:19|20)\d\d[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])[-/](?:19|20)\d\d|(\p{L}{3,})\.?[ /-](?:\d\d){1,2})$`)

// isMonth reports whether a field is a month without a day, by its number or name.
func isMonth(field string) bool {
	m := month.FindStringSubmatch(field)
	if m == nil || m[1] == "" {
		return m != nil
	}
	_, named := withNames("Y").read("1 " + m[1] + " 2024")
	return named
}

// mostUnits is the largest number of units of a column of numbers.
const mostUnits = 3

// noteUnit notes the unit of a number, and reports whether all have had the same.
func (t *tally) noteUnit(unit string) bool {
	if unit != "" {
		t.united++
	}
	if len(unit) >= 3 { // mW is no MW
		unit = strings.ToLower(unit)
	}
	same := func(other string) bool { // or one and several: 1 day, 2 days
		short, long := min(unit, other), max(unit, other)
		return unit == other || len(short) >= 3 && len(long) <= len(short)+2 && strings.HasPrefix(long, short)
	}
	if len(t.units) <= mostUnits && !slices.ContainsFunc(t.units, same) {
		t.units = append(t.units, unit)
	}
	return len(t.units) == 1
}

// undress counts a field that is a number in dress.
func (t *tally) undress(field string, decimal byte) bool {
	number, unit := parts(field, decimal)
	if number = strings.Replace(number, string(decimal), ".", 1); number == "" {
		return false
	}
	if _, whole := integer(number); !whole && !isNumber(number) {
		return false
	}
	t.dressed++
	t.noteUnit(unit)
	return true
}

// all counts the fields that are not empty.
func (t *tally) all() int {
	n := t.numbers + t.dressed + t.commas + t.others + t.dates.n
	for _, rows := range t.markers {
		n += rows
	}
	return n
}

var (
	thousands = regexp.MustCompile(`^-?\d{1,3}(,\d{3})+$`)
	dress     = sync.OnceValue(func() map[byte]*regexp.Regexp { // by the decimal mark
		return map[byte]*regexp.Regexp{'.': dressOf(`,`, `\.`), ',': dressOf(`\.`, `,`)}
	})
	groups = strings.NewReplacer(",", "", ".", "", "'", "", "’", "", " ", "", "\u00a0", "", "\u2009", "", "\u202f", "")
)

// dressOf matches a number with signs of money, a percent sign, a unit or groups of thousands.
func dressOf(group, mark string) *regexp.Regexp {
	const money = `[\s\p{Zs}]*(?:\p{Sc}|%|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|BRL|CAD|AUD|R\$|Rs\.?|kr\.?|zł|Kč|Ft|円|元)?[\s\p{Zs}]*`
	return regexp.MustCompile(`^(\(|[-+−])?` + money + `([-+−])?(\d{1,3}(?:(?:` + group + `|['’ \x{a0}\x{2009}\x{202f}])\d{3})+|\d{1,2}(?:` + group + `\d\d)+` + group + `\d{3}|\d+)(` +
		mark + `\d+)?` + money + `([\p{L}°µ][\p{L}²³°µ/]{0,9})?\.?([-)])?$`)
}

// plain returns a number without its dress, and any other field as it is.
func plain(field string, decimal byte) string {
	if number, _ := parts(field, decimal); number != "" {
		return number
	}
	return field
}

// parts returns a number without its dress, "" for what is none, and its unit.
func parts(field string, decimal byte) (number, unit string) {
	if decimal != ',' {
		decimal = '.'
	}
	m := dress()[decimal].FindStringSubmatch(strings.TrimSpace(field))
	if m == nil {
		return "", ""
	}
	sign := ""
	if strings.Trim(m[1]+m[2]+m[6], "+") != "" && strings.Trim(m[3]+m[4], "0") != "" {
		sign = "-"
	}
	return sign + groups.Replace(m[3]) + m[4], m[5]
}

// notice says what was noticed of a TEXT column, or "".
func (t *tally) notice(name string) string {
	if text := t.dates.misfit(); text != "" {
		return fmt.Sprintf("`%s`: %s", name, text)
	}
	kind, n, others := "numbers", t.numbers+t.dressed+t.commas, t.others+t.dates.n
	if len(t.units) > mostUnits {
		n, others = n-t.united, others+t.united // codes
	}
	if t.dates.n > n {
		kind, n, others = t.dates.kind(), t.dates.n, t.others+n
	}
	if t.months > 0 && t.months == t.others && n == 0 {
		return fmt.Sprintf("`%s`: months without a day, which stay texts: with one, as in 2024-03-01, they are dates", name)
	}
	if n == 0 || others*4 > n {
		if t.empty > 0 && t.others+len(t.markers) > 0 {
			return fmt.Sprintf("`%s`: the empty text in %s", name, plural(t.empty, "row")) + emptyTexts
		}
		return ""
	}
	but, switches := t.exceptions(kind == "numbers")
	if others > 0 {
		but = append(but, "other texts in "+plural(others, "row"))
	}
	if others > 0 && others == t.others {
		but = append(but, fmt.Sprintf("the first in line %d", t.line))
	}
	switch {
	case len(but) > 0:
		kind += " but for " + strings.Join(but, ", ")
	case kind == "dates":
		kind, switches = t.dates.unread()
	default:
		return ""
	}
	if len(switches) > 0 {
		kind += ": " + strings.Join(switches, " ")
	}
	return fmt.Sprintf("`%s`: %s", name, kind)
}

// exceptions lists what could be read with a switch, and the switches.
func (t *tally) exceptions(numbers bool) (but, switches []string) {
	for _, word := range t.words() {
		but = append(but, fmt.Sprintf("`%s` in %s", word, plural(t.markers[word], "row")))
		switches = append(switches, "--null "+word)
	}
	if t.commas > 0 && numbers {
		but, switches = append(but, "a decimal comma in "+plural(t.commas, "row")), append(switches, "--decimal ,")
	}
	switch {
	case !numbers || len(t.units) > mostUnits:
	case len(t.units) > 1:
		but = append(but, "a unit in "+plural(t.united, "row")+", which is not that of all")
	case t.dressed > 0:
		what := "signs of money, percent or thousands in "
		if t.united > 0 {
			what = "a unit in "
		}
		but, switches = append(but, what+plural(t.dressed, "row")), append(switches, "--numbers")
		if t.marked > 0 && t.commas == 0 {
			switches = append(switches, "--decimal ,")
		}
	}
	return but, switches
}

func (t *tally) words() (words []string) {
	for word := range t.markers {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

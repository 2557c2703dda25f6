package importer

import (
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
	marked                                  int // of the dressed, those with a decimal comma
	line                                    int // of the first of the others
	packed                                  int // of the numbers, those that may be dates: 20240131
	markers                                 map[string]int
	dates                                   dates
}

// hopeless reports that a column is of texts.
func (t *tally) hopeless() bool {
	return t.others > 100 && t.others > t.numbers+t.dressed+t.commas+t.dates.n
}

// see adds a field, in a line, to what its column has had.
func (t *tally) see(column *seen, field string, line int) {
	if field = strings.TrimSpace(field); field == "" {
		t.empty++
		return
	}
	if t.hopeless() {
		return // the column is TEXT
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
		t.numbers++
		if _, err := time.Parse("20060102", field); err == nil && field > "19" && field < "21" {
			t.packed++
		}
	case comma && !thousands.MatchString(field):
		t.commas++
	case dressed(field, '.'):
		t.dressed++
	case dressed(field, ','):
		t.dressed++
		t.marked++
	default:
		if t.others++; t.others == 1 {
			t.line = line
		}
	}
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

// dressOf matches a number with signs of money, a percent sign or groups of thousands.
func dressOf(group, mark string) *regexp.Regexp {
	const money = `[\s\p{Zs}]*(?:\p{Sc}|%|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|BRL|CAD|AUD|R\$|Rs\.?|kr\.?|zł|Kč|Ft|円|元)?[\s\p{Zs}]*`
	return regexp.MustCompile(`^(\(|[-+−])?` + money + `([-+−])?(\d{1,3}(?:(?:` + group + `|['’ \x{a0}\x{2009}\x{202f}])\d{3})+|\d{1,2}(?:` + group + `\d\d)+` + group + `\d{3}|\d+)(` +
		mark + `\d+)?` + money + `([-)])?$`)
}

// dressed reports whether a field is a number without its dress.
func dressed(field string, decimal byte) bool {
	number := plain(field, decimal)
	if decimal == ',' {
		number = strings.Replace(number, ",", ".", 1)
	}
	_, whole := integer(number)
	return whole || isNumber(number)
}

// plain returns a number without its dress, and any other field as it is.
func plain(field string, decimal byte) string {
	if decimal != ',' {
		decimal = '.'
	}
	m := dress()[decimal].FindStringSubmatch(strings.TrimSpace(field))
	if m == nil {
		return field
	}
	sign := ""
	if strings.Trim(m[1]+m[2]+m[5], "+") != "" && strings.Trim(m[3]+m[4], "0") != "" {
		sign = "-"
	}
	return sign + groups.Replace(m[3]) + m[4]
}

// notice says what was noticed of a TEXT column, or "".
func (t *tally) notice(name string) string {
	if text := t.dates.misfit(); text != "" {
		return fmt.Sprintf("`%s`: %s", name, text)
	}
	kind, n, others := "numbers", t.numbers+t.dressed+t.commas, t.others+t.dates.n
	if t.dates.n > n {
		kind, n, others = t.dates.kind(), t.dates.n, t.others+n
	}
	if n == 0 || others*4 > n {
		if t.empty > 0 && t.others+len(t.markers) > 0 {
			return fmt.Sprintf("`%s`: the empty text in %s: --null '' makes it NULL", name, plural(t.empty, "row"))
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
	if t.dressed > 0 && numbers {
		but, switches = append(but, "signs of money, percent or thousands in "+plural(t.dressed, "row")), append(switches, "--numbers")
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

package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// markers are words that programs write for a value that is not there. No other word of
// a file is quoted in what is said about it.
var markers = []string{"na", "n/a", "#n/a", "<na>", "nan", "null", "nil", "none", "-", "--", "---", ".", "..", "?", "*", "missing", "unknown", "n.a.", "k.a.", "nd", `\n`}

// tally counts what keeps the numbers of a TEXT column from being numbers.
type tally struct {
	numbers, dressed, commas, others, empty int
	markers                                 map[string]int
}

// hopeless reports that a column is of texts.
func (t *tally) hopeless() bool { return t.others > 100 && t.others > t.numbers+t.dressed+t.commas }

// see adds a field to what its column has had.
func (t *tally) see(column *seen, field string) {
	field = strings.TrimSpace(field)
	if field == "" {
		t.empty++
		return
	}
	if t.hopeless() {
		return // the column is TEXT
	}
	var s seen
	s.add(field)
	column.join(s)
	switch {
	case s.integer || s.point:
		t.numbers++
	case slices.Contains(markers, strings.ToLower(field)):
		if t.markers == nil {
			t.markers = make(map[string]int)
		}
		t.markers[field]++
	case s.comma && !thousands.MatchString(field):
		t.commas++
	case dressed(field):
		t.dressed++
	default:
		t.others++
	}
}

var (
	thousands = regexp.MustCompile(`^-?\d{1,3}(,\d{3})+$`)
	dress     = sync.OnceValue(func() map[byte]*regexp.Regexp { // by the decimal mark
		return map[byte]*regexp.Regexp{'.': dressOf(`,`, `\.`), ',': dressOf(`\.`, `,`)}
	})
	groups = strings.NewReplacer(",", "", ".", "", "'", "", "’", "", "\u00a0", "", "\u202f", "")
)

// dressOf matches a number with signs of money, a percent sign or groups of thousands.
func dressOf(group, mark string) *regexp.Regexp {
	const money = `\s*(?:\p{Sc}|%|EUR|USD|GBP|CHF|kr)?\s*`
	return regexp.MustCompile(`^(\(|-)?` + money + `(-)?(\d{1,3}(?:(?:` + group + `|['’\x{a0}\x{202f}])\d{3})+|\d+)(` + mark + `\d+)?` + money + `\)?$`)
}

func dressed(field string) bool {
	return dress()['.'].MatchString(field) || dress()[','].MatchString(field)
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
	if m[1] != "" || m[2] != "" {
		sign = "-"
	}
	return sign + groups.Replace(m[3]) + m[4]
}

// notice says what was noticed of a TEXT column, or "".
func (t *tally) notice(name string) string {
	n := t.numbers + t.dressed + t.commas
	if n == 0 || t.others*10 > n {
		if t.empty > 0 && t.others+len(t.markers) > 0 {
			return fmt.Sprintf("`%s`: the empty text in %s: --null '' makes it NULL", name, plural(t.empty, "row"))
		}
		return ""
	}
	var but, switches []string
	for _, word := range t.words() {
		but = append(but, fmt.Sprintf("`%s` in %s", word, plural(t.markers[word], "row")))
		switches = append(switches, "--null "+word)
	}
	if t.commas > 0 {
		but, switches = append(but, "a decimal comma in "+plural(t.commas, "row")), append(switches, "--decimal ,")
	}
	if t.dressed > 0 {
		but, switches = append(but, "signs of money, percent or thousands in "+plural(t.dressed, "row")), append(switches, "--numbers")
	}
	if t.others > 0 {
		but = append(but, "other texts in "+plural(t.others, "row"))
	}
	if len(but) == 0 {
		return ""
	}
	text := fmt.Sprintf("`%s`: numbers but for %s", name, strings.Join(but, ", "))
	if len(switches) > 0 {
		text += ": " + strings.Join(switches, " ")
	}
	return text
}

func (t *tally) words() (words []string) {
	for word := range t.markers {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

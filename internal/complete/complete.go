// Package complete completes the last word of a statement: keywords, and declared names and values, each where it
// can stand. What it knows of a database is a Vocabulary, which is public.
package complete

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// Keywords are the words of the dialect, which the editor colours and completes.
var Keywords = strings.Fields(`ABS ADVISE AGAIN ALL ALTER AND AS ASC AUTO AVG BETWEEN BOOLEAN BUDGET BY CASE CLAMP COALESCE COLLATE CORR COUNT COVAR_POP COVAR_SAMP CREATE CROSS CUBE DATE DESC DESCRIBE DIRECT DISTINCT DROP EACH ELSE END ESCAPE
	EXISTS EXPLAIN EXPORT FILTER FOR FROM FULL GLOB GRANT GRANTS GROUP HAVING HIGH IF IFNULL IIF IN INNER INTEGER IS JOIN LEDGER LENGTH LIKE LIMIT LOW LOWER MARGIN MAX MECHANISM MEDIAN
	MARGINALS MECHANISMS MIN NOCASE NOT NULL NUMERIC OFF OFFSET ON OR ORDER OTHER PASSWORD PERCENTILE_CONT PERCENTILE_DISC PERIOD POSTGRES PRIVATE PROJECTION PUBLIC QUANTILE REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY REFRESH RELEASE RELEASES RETIRE REVOKE ROLLUP ROUND SELECT SET SETS SETTINGS SHOW SMW SOURCE SOURCES STDDEV
	STDDEV_POP STDDEV_SAMP STORED SUBSTR SUM TABLE TABLES TEXT THEN TIMESTAMP TO TOTAL UPPER USER USERS USING VARIANCE VAR_POP VAR_SAMP VIEW WHEN WHERE WITH WITHIN`)

// Vocabulary holds the public names and values that statements can use.
type Vocabulary struct {
	Tables     []Table // private tables
	Sources    []string
	Publics    []string
	Releases   []string
	Mechanisms []string
	Users      []string // for the curator
	Commands   []string // of a shell, as are the formats
	Formats    []string
}

// Table holds the names of a private table and its columns.
type Table struct {
	Name    string
	Columns []Column
}

// Column holds the name of a column and its declared values as SQL literals. If there are more than
// mostValues it holds none.
type Column struct {
	Name   string
	Values []string
}

// mostValues is the largest number of values that are listed for a column.
const mostValues = 200

// ColumnOf returns the words of a column.
func ColumnOf(c query.Column) Column {
	d := c.Domain
	if !d.Finite() || d.Size() > mostValues || c.Form.IsStepped() {
		return Column{Name: c.Name}
	}
	values := make([]string, d.Size())
	for i := range values {
		values[i] = c.Form.Shown(d.Value(uint64(i))).String()
	}
	return Column{c.Name, values}
}

// Word is what a word can be completed to. Its kind is keyword, table, column, value, release, mechanism, source,
// user or setting, and in a shell command or format.
type Word struct{ Text, Kind string }

// Complete returns where the last word of a text begins, in bytes, and its completions by their texts.
func (v *Vocabulary) Complete(text string) (start int, words []Word) {
	start = strings.LastIndexAny(text, " \t\n(,=<>;") + 1
	if quote := openQuote(text); quote >= 0 {
		start = quote
	}
	return start, matching(text[start:], v.candidates(text[:start]))
}

// Completion is a word that the one before a place can become, and where that begins, in characters.
type Completion struct {
	Text string `json:"text"`
	Kind string `json:"kind"`
	From int    `json:"from"`
}

// At completes the word before a place in a text, which is in characters, as pages show it.
func (v *Vocabulary) At(text string, at int) []Completion {
	characters := []rune(text)
	before := string(characters[:min(max(at, 0), len(characters))])
	start, words := v.Complete(before)
	all := make([]Completion, len(words))
	for i, w := range words {
		all[i] = Completion{w.Text, w.Kind, utf8.RuneCountInString(before[:start])}
	}
	return all
}

// openQuote returns the index of the single quote that is not closed yet, or -1.
func openQuote(text string) int {
	open := -1
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if open >= 0 {
			open = -1
		} else {
			open = i
		}
	}
	return open
}

var (
	// afterColumn matches a text that a value of a column can follow.
	afterColumn = regexp.MustCompile(`(?i)("(?:[^"]|"")+"|[\pL_][\pL\pN_]*)\s*(?:=|<>|!=|<=?|>=?|(?:not\s+)?in\s*\((?:[^()]*,)?|(?:not\s+)?between)\s*$`)
	// granting matches a statement in which names of users follow.
	granting = regexp.MustCompile(`(?i)^\s*(grant|revoke|show\s+grants)\b`)
	// retiring matches a statement in which OF precedes a table.
	retiring = regexp.MustCompile(`(?i)^\s*retire\s+period\b`)
	// lastWord matches the word before the one to complete.
	lastWord = regexp.MustCompile(`(?i)([a-z]+)\s+$`)
)

// candidates returns words that can follow a text.
func (v *Vocabulary) candidates(before string) []Word {
	if m := afterColumn.FindStringSubmatch(before); m != nil {
		if values := v.values(m[1]); values != nil {
			return of("value", values...)
		}
	}
	var last string
	if m := lastWord.FindStringSubmatch(before); m != nil {
		last = strings.ToUpper(m[1])
	}
	switch {
	case before == "":
		return append(of("command", v.Commands...), of("keyword", "SELECT", "EXPLAIN", "SHOW", "DESCRIBE", "SET", "CREATE", "REFRESH", "RETIRE", "ALTER", "DROP", "EXPORT", "WITH", "GRANT", "REVOKE")...)
	case strings.HasPrefix(before, "."):
		return slices.Concat(v.tables(), of("format", v.Formats...), of("release", v.Releases...))
	case last == "FROM" && !granting.MatchString(before) || last == "JOIN" || last == "DESCRIBE" || last == "TABLE":
		return slices.Concat(v.tables(), of("table", v.Publics...), of("source", v.Sources...))
	case last == "FOR" && strings.EqualFold(strings.Join(strings.Fields(before), " "), "SHOW BUDGET FOR"):
		return v.tables()
	case last == "OF" && retiring.MatchString(before):
		return v.tables()
	case last == "REFRESH":
		return of("keyword", "RELEASE")
	case last == "RETIRE":
		return of("keyword", "PERIOD")
	case last == "SHOW":
		return of("keyword", "TABLES", "RELEASES", "MECHANISMS", "BUDGET", "LEDGER", "SETTINGS", "SOURCES", "USERS", "GRANTS")
	case last == "SET":
		return of("setting", released.SettingNames...)
	case last == "RELEASE":
		return of("release", v.Releases...)
	case last == "MECHANISM":
		return of("mechanism", v.Mechanisms...)
	case last == "SOURCE":
		return of("source", v.Sources...)
	case last == "USER" || (last == "TO" || last == "FOR" || last == "FROM") && granting.MatchString(before):
		return of("user", v.Users...)
	}
	return slices.Concat(of("keyword", Keywords...), v.tables(), v.columns())
}

// of returns words of a kind.
func of(kind string, texts ...string) []Word {
	words := make([]Word, len(texts))
	for i, text := range texts {
		words[i] = Word{text, kind}
	}
	return words
}

// matching returns the candidates that begin with the word in any letter case. It
// sorts them and drops those of a text that is there.
func matching(word string, candidates []Word) []Word {
	var found []Word
	for _, c := range candidates {
		if len(c.Text) >= len(word) && strings.EqualFold(c.Text[:len(word)], word) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Word) int { return strings.Compare(a.Text, b.Text) })
	return slices.CompactFunc(found, func(a, b Word) bool { return a.Text == b.Text })
}

// tables returns the names of private tables.
func (v *Vocabulary) tables() (names []Word) {
	for _, t := range v.Tables {
		names = append(names, Word{syntax.WriteName(t.Name), "table"})
	}
	return names
}

// columns returns the names of all columns.
func (v *Vocabulary) columns() (names []Word) {
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			names = append(names, Word{syntax.WriteName(c.Name), "column"})
		}
	}
	return names
}

// values returns the declared values of all columns of that name.
func (v *Vocabulary) values(name string) (values []string) {
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			if strings.EqualFold(name, c.Name) || strings.EqualFold(name, query.Quoted(c.Name)) {
				values = append(values, c.Values...)
			}
		}
	}
	return values
}

package terminal

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reeflective/readline"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Keywords are the words of the dialect, which the editor colours and completes.
var Keywords = strings.Fields(`ABS ADVISE AGAIN ALL ALTER AND AS ASC AUTO AVG BETWEEN BOOLEAN BUDGET BY CASE CLAMP COALESCE COLLATE CORR COUNT COVAR_POP COVAR_SAMP CREATE CROSS CUBE DATE DESC DESCRIBE DIRECT DISTINCT DROP EACH ELSE END ESCAPE
	EXISTS EXPLAIN EXPORT FILTER FOR FROM FULL GLOB GRANT GRANTS GROUP HAVING HIGH IF IFNULL IIF IN INNER INTEGER IS JOIN LEDGER LENGTH LIKE LIMIT LOW LOWER MARGIN MAX MECHANISM MEDIAN
	MARGINALS MECHANISMS MIN NOCASE NOT NULL NUMERIC OFF OFFSET ON OR ORDER OTHER PASSWORD PERCENTILE_CONT PERCENTILE_DISC PERIOD POSTGRES PRIVATE PROJECTION PUBLIC QUANTILE REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY REFRESH RELEASE RELEASES RETIRE REVOKE ROLLUP ROUND SELECT SET SETS SETTINGS SHOW SMW SOURCE SOURCES STDDEV
	STDDEV_POP STDDEV_SAMP STORED SUBSTR SUM TABLE TABLES TEXT THEN TIMESTAMP TO TOTAL UPPER USER USERS USING VARIANCE VAR_POP VAR_SAMP VIEW WHEN WHERE WITH WITHIN`)

// completer completes words at the Tab key: keywords, dot-commands, and declared
// names and values, each where it can stand.
type completer struct {
	Config
	declared engine.Vocabulary // as of readAt
	readAt   time.Time
}

// offer returns the completions of the last word of a text, for the editor.
func (c *completer) offer(text string) readline.Completions {
	start, words := c.complete(text)
	offered := readline.CompleteValues(words...)
	offered.PREFIX = text[start:]
	return offered
}

// complete returns where the last word of a text begins, and its completions.
func (c *completer) complete(text string) (start int, words []string) {
	start = strings.LastIndexAny(text, " \t\n(,=<>;") + 1
	if quote := openQuote(text); quote >= 0 {
		start = quote
	}
	return start, matching(text[start:], c.candidates(text[:start]))
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
func (c *completer) candidates(before string) []string {
	v := c.names()
	if m := afterColumn.FindStringSubmatch(before); m != nil {
		if values := columnValues(v, m[1]); values != nil {
			return values
		}
	}
	var last string
	if m := lastWord.FindStringSubmatch(before); m != nil {
		last = strings.ToUpper(m[1])
	}
	switch {
	case before == "":
		return append(slices.Clone(c.Commands), "SELECT", "EXPLAIN", "SHOW", "DESCRIBE", "SET", "CREATE", "REFRESH", "RETIRE", "ALTER", "DROP", "EXPORT", "WITH", "GRANT", "REVOKE")
	case strings.HasPrefix(before, "."):
		return append(tableNames(v), append(slices.Clone(c.Formats), v.Releases...)...)
	case last == "FROM" && !granting.MatchString(before) || last == "JOIN" || last == "DESCRIBE" || last == "TABLE":
		return slices.Concat(tableNames(v), v.Publics, v.Sources)
	case last == "FOR" && strings.EqualFold(strings.Join(strings.Fields(before), " "), "SHOW BUDGET FOR"):
		return tableNames(v)
	case last == "OF" && retiring.MatchString(before):
		return tableNames(v)
	case last == "REFRESH":
		return []string{"RELEASE"}
	case last == "RETIRE":
		return []string{"PERIOD"}
	case last == "SHOW":
		return strings.Fields("TABLES RELEASES MECHANISMS BUDGET LEDGER SETTINGS SOURCES USERS GRANTS")
	case last == "SET":
		return engine.SettingNames
	case last == "RELEASE":
		return v.Releases
	case last == "MECHANISM":
		return v.Mechanisms
	case last == "SOURCE":
		return v.Sources
	case last == "USER" || (last == "TO" || last == "FOR" || last == "FROM") && granting.MatchString(before):
		return v.Users
	}
	return slices.Concat(Keywords, tableNames(v), columnNames(v))
}

// matching returns the candidates that begin with the word in any letter case. It
// sorts them and drops duplicates.
func matching(word string, candidates []string) []string {
	var found []string
	for _, c := range candidates {
		if len(c) >= len(word) && strings.EqualFold(c[:len(word)], word) {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func tableNames(v engine.Vocabulary) []string {
	var names []string
	for _, t := range v.Tables {
		names = append(names, syntax.WriteName(t.Name))
	}
	return names
}

func columnNames(v engine.Vocabulary) []string {
	var names []string
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			names = append(names, syntax.WriteName(c.Name))
		}
	}
	return names
}

// columnValues returns the declared values of all columns of that name.
func columnValues(v engine.Vocabulary, name string) []string {
	var values []string
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			if strings.EqualFold(name, c.Name) || strings.EqualFold(name, query.Quoted(c.Name)) {
				values = append(values, c.Values...)
			}
		}
	}
	return values
}

// names returns the declared names and values. It reads them again after
// maxAge. If they cannot be read there are none to offer.
func (c *completer) names() engine.Vocabulary {
	const maxAge = 2 * time.Second
	if time.Since(c.readAt) < maxAge {
		return c.declared
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := sqlerr.Guard(func() (err error) {
		c.declared, err = c.Vocabulary(ctx)
		return err
	})
	if err != nil {
		c.declared = engine.Vocabulary{}
	}
	c.readAt = time.Now()
	return c.declared
}

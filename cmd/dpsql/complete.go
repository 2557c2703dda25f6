package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reeflective/readline"

	"dpsql/engine"
)

// completer finishes words at the Tab key: keywords, dot-commands, and declared
// names and values, where they can stand.
type completer struct {
	session session
	words   engine.Vocabulary
	asked   time.Time
}

func newCompleter(s session) *completer { return &completer{session: s} }

// offer returns the ways to finish the word that a text ends with.
func (c *completer) offer(text string) readline.Completions {
	start, words := c.complete(text)
	offered := readline.CompleteValues(words...)
	offered.PREFIX = text[start:]
	return offered
}

// complete returns where the word begins that a text ends with, and the ways to
// finish it.
func (c *completer) complete(text string) (start int, words []string) {
	start = strings.LastIndexAny(text, " \t\n(,=<>;") + 1
	if quote := openText(text); quote >= 0 {
		start = quote
	}
	return start, matching(text[start:], c.candidates(text[:start]))
}

// openText returns where the text in quotes begins that is not closed yet, -1
// where there is none.
func openText(text string) int {
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
	// afterColumn ends where a value of a column stands.
	afterColumn = regexp.MustCompile(`(?i)("(?:[^"]|"")+"|[\pL_][\pL\pN_]*)\s*(?:=|<>|!=|<=?|>=?|(?:not\s+)?in\s*\((?:[^()]*,)?|(?:not\s+)?between)\s*$`)
	// lastWord is the word before the one to finish.
	lastWord = regexp.MustCompile(`(?i)([a-z]+)\s+$`)
)

// candidates returns the words that can follow a text.
func (c *completer) candidates(before string) []string {
	v := c.declared()
	if m := afterColumn.FindStringSubmatch(before); m != nil {
		if values := valuesOf(v, m[1]); values != nil {
			return values
		}
	}
	var last string
	if m := lastWord.FindStringSubmatch(before); m != nil {
		last = strings.ToUpper(m[1])
	}
	switch {
	case before == "":
		return append(commandNames(), "SELECT", "EXPLAIN", "SHOW", "DESCRIBE", "SET", "CREATE", "ALTER", "DROP", "EXPORT", "WITH")
	case strings.HasPrefix(before, "."):
		return append(tableNames(v), append(formatNames(), v.Releases...)...)
	case last == "FROM" || last == "JOIN" || last == "DESCRIBE" || last == "TABLE":
		return slices.Concat(tableNames(v), v.Publics, v.Sources)
	case last == "SHOW":
		return strings.Fields("TABLES RELEASES MECHANISMS BUDGET LEDGER SETTINGS SOURCES")
	case last == "SET":
		return settings
	case last == "RELEASE":
		return v.Releases
	case last == "MECHANISM":
		return v.Mechanisms
	case last == "SOURCE":
		return v.Sources
	}
	return slices.Concat(keywords, tableNames(v), columnNames(v))
}

// matching returns the candidates that begin with the word in any letter case,
// once each and in order.
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

func commandNames() []string {
	var names []string
	for _, command := range commands() {
		names = append(names, command.name)
	}
	return names
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return names
}

func tableNames(v engine.Vocabulary) []string {
	var names []string
	for _, t := range v.Tables {
		names = append(names, plainName(t.Name))
	}
	return names
}

func columnNames(v engine.Vocabulary) []string {
	var names []string
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			names = append(names, plainName(c.Name))
		}
	}
	return names
}

// valuesOf returns the declared values of the columns of that name.
func valuesOf(v engine.Vocabulary, name string) []string {
	var values []string
	for _, t := range v.Tables {
		for _, c := range t.Columns {
			if strings.EqualFold(name, c.Name) || strings.EqualFold(name, quoteName(c.Name)) {
				values = append(values, c.Values...)
			}
		}
	}
	return values
}

var plain = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// plainName returns a name as it stands in a statement, quoted where it must.
func plainName(name string) string {
	if plain.MatchString(name) && !slices.Contains(keywords, strings.ToUpper(name)) {
		return name
	}
	return quoteName(name)
}

// declared returns the declared names and values, read again when some time has
// gone by. Without an answer there is nothing to complete.
func (c *completer) declared() engine.Vocabulary {
	const fresh = 2 * time.Second
	if time.Since(c.asked) < fresh {
		return c.words
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := guard(func() (err error) {
		c.words, err = c.session.Vocabulary(ctx)
		return err
	})
	if err != nil {
		c.words = engine.Vocabulary{}
	}
	c.asked = time.Now()
	return c.words
}

package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"dpsql/engine"
)

// completer finishes words at the Tab key: keywords, dot-commands, and the
// names of declared tables and their columns. It knows nothing of what the
// word stands next to.
type completer struct {
	session session
	names   []string
	asked   time.Time
}

func newCompleter(s session) *completer { return &completer{session: s} }

// vocabulary are the words of the dialect that are worth finishing.
var vocabulary = strings.Fields(`SELECT COUNT(*) SUM MARGIN FROM WHERE AND OR NOT IN BETWEEN IS NULL
	GROUP BY ORDER LIMIT EXPLAIN SHOW TABLES RELEASES MECHANISMS BUDGET LEDGER SETTINGS DESCRIBE
	CREATE PRIVATE PUBLIC TABLE IF EXISTS RELEASE MECHANISM ON USING PROJECTION SMW WITH INTEGER TEXT
	DROP EXPORT TO SET mechanism accuracy confidence clamp unverified auto direct projection smw on off default`)

// complete returns the text before the word that ends at pos, the ways to
// finish it, and the text after.
func (c *completer) complete(line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	pos = min(pos, len(runes))
	before := string(runes[:pos])
	start := strings.LastIndexAny(before, " \t(,=<>") + 1
	head, tail = before[:start], string(runes[pos:])
	return head, matching(before[start:], c.candidates(before)), tail
}

// candidates returns the words that can stand in a line.
func (c *completer) candidates(line string) []string {
	if strings.HasPrefix(line, ".") {
		var names []string
		for _, command := range commands() {
			names = append(names, command.name)
		}
		for _, f := range formats {
			names = append(names, string(f))
		}
		return append(names, c.declared()...)
	}
	return append(slices.Clone(vocabulary), c.declared()...)
}

// matching returns the candidates that begin with the word in any letter case,
// once each and in order.
func matching(word string, candidates []string) []string {
	if word == "" {
		return nil
	}
	var found []string
	for _, c := range candidates {
		if len(c) >= len(word) && strings.EqualFold(c[:len(word)], word) {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// declared returns the names of tables and columns, read again when some time
// has gone by. Without an answer there is nothing to complete.
func (c *completer) declared() []string {
	const fresh = 5 * time.Second
	if time.Since(c.asked) < fresh {
		return c.names
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	c.names = nil
	for _, table := range c.firstColumn(ctx, "SHOW TABLES") {
		c.names = append(c.names, table)
		c.names = append(c.names, c.firstColumn(ctx, "DESCRIBE "+quoteName(table))...)
	}
	c.asked = time.Now()
	return c.names
}

// firstColumn returns the texts in the first column of a statement's rows.
func (c *completer) firstColumn(ctx context.Context, statement string) []string {
	var result *engine.Result
	err := guard(func() (err error) {
		result, err = c.session.Exec(ctx, statement, nil)
		return err
	})
	if err != nil {
		return nil
	}
	var names []string
	for _, row := range result.Rows {
		if len(row) > 0 {
			if name, ok := row[0].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

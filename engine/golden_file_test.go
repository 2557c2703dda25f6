package engine_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// goldenCase is a statement with what it must give. The first expectation is
// that of the first way and of all that are not named later.
type goldenCase struct {
	before    string // comments and blank lines
	statement string
	expected  []expectation
}

type expectation struct {
	ways  []string
	lines []string
}

const (
	mark    = "--> "
	wayMark = "--> under "
)

// readGolden reads a file: comments, statements up to a semicolon at the end of
// a line, or .parameter, and under each lines that begin with "-->".
func readGolden(text string) (cases []goldenCase) {
	var c goldenCase
	var open, done bool // in a statement, after one
	for _, line := range strings.SplitAfter(text, "\n") {
		body := strings.TrimRight(line, "\n")
		if done && strings.HasPrefix(body, mark) {
			c.expect(body)
			continue
		}
		if done {
			cases = append(cases, c)
			c, done = goldenCase{}, false
		}
		if !open && (body == "" || strings.HasPrefix(body, "--")) {
			c.before += line
			continue
		}
		c.statement += line
		done = strings.HasSuffix(body, ";") || strings.HasPrefix(body, ".")
		open = !done
	}
	if strings.TrimSpace(c.statement) != "" || c.before != "" {
		cases = append(cases, c)
	}
	return cases
}

// expect takes one line of what is expected.
func (c *goldenCase) expect(line string) {
	if names, ok := strings.CutPrefix(line, wayMark); ok {
		c.expected = append(c.expected, expectation{ways: strings.Split(strings.TrimSuffix(names, ":"), "; ")})
		return
	}
	if len(c.expected) == 0 {
		c.expected = []expectation{{}}
	}
	last := &c.expected[len(c.expected)-1]
	last.lines = append(last.lines, strings.TrimPrefix(line, mark))
}

// writeGolden is the file that readGolden reads.
func writeGolden(cases []goldenCase) string {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString(c.before + c.statement + expectations(c.expected))
	}
	return b.String()
}

// expectations writes expectations, the first without the names of its ways.
func expectations(all []expectation) string {
	var b strings.Builder
	for i, e := range all {
		if i > 0 {
			b.WriteString(wayMark + strings.Join(e.ways, "; ") + ":\n")
		}
		for _, line := range e.lines {
			b.WriteString(mark + line + "\n")
		}
	}
	return b.String()
}

// parameter reads ".parameter set NAME VALUE".
func (c *goldenCase) parameter() (string, query.Value, bool) {
	words := strings.Fields(c.statement)
	if len(words) != 4 || words[0] != ".parameter" || words[1] != "set" {
		return "", query.Value{}, false
	}
	if n, err := strconv.ParseInt(words[3], 10, 64); err == nil {
		return words[2], query.Int(n), true
	}
	return words[2], query.Text(words[3]), true
}

var (
	timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	hashHex   = regexp.MustCompile(`'[0-9a-f]{16}'`)
)

// lines writes an outcome: the columns, the rows, warnings; or the error.
func (o outcome) lines() (lines []string) {
	var e *sqlerr.Error
	switch {
	case errors.As(o.err, &e):
		lines = append(lines, fmt.Sprintf("error %s at %d: %s", e.Code, e.Position, e.Message))
		if e.Hint != "" {
			lines = append(lines, "hint: "+e.Hint)
		}
		return lines
	case len(o.result.Columns) == 0:
		lines = append(lines, "done")
	default:
		var names []string
		for _, c := range o.result.Columns {
			names = append(names, c.Name)
		}
		lines = append(lines, strings.Join(names, " | "))
	}
	for _, row := range o.result.Rows {
		var values []string
		for _, v := range row {
			values = append(values, literal(v))
		}
		text := timeOfDay.ReplaceAllString(strings.Join(values, " | "), "(time)")
		lines = append(lines, hashHex.ReplaceAllString(text, "(hash)"))
	}
	for _, w := range o.result.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}

// literal writes a value as a literal of SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case float64:
		text := strconv.FormatFloat(v, 'g', 10, 64)
		if !strings.ContainsAny(text, ".en") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(v)
}

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// command is a dot-command. The table of commands drives dispatch, .help and completion.
type command struct {
	name    string
	args    string // as .help shows them
	help    string
	least   int // arguments
	most    int
	curator bool // it names files, so an analyst may not use it
	rest    bool // its one argument is the rest of the line
	acts    bool // it writes something or needs an answer, so -explain leaves it out
	run     func(r *runner, ctx context.Context, args []string) error
}

// commands returns the table of dot-commands.
func commands() []command {
	return []command{
		{name: ".bail", args: "on|off", least: 1, most: 1, help: "stop a script at its first error, or go on", run: (*runner).setBail},
		{name: ".budget", help: "list the budgets: spent and left", run: listing("SHOW BUDGET")},
		{name: ".chart", args: "[COLUMN]", most: 1, acts: true, help: "draw the last answer as bars with error bars", run: (*runner).chart},
		{name: ".check", args: "TABLE|FILE.sql", least: 1, most: 1, curator: true, acts: true, help: "count the rows that the domains of a declaration lose", run: (*runner).check},
		{name: ".draft", args: "TABLE", least: 1, most: 1, curator: true, acts: true, help: "write a declaration of a table to edit; it reads the rows",
			run: (*runner).draft},
		{name: ".echo", args: "on|off", least: 1, most: 1, help: "write each statement before its result", run: (*runner).setEcho},
		{name: ".exit", help: "leave", run: (*runner).quit},
		{name: ".explain", args: "on|off|STATEMENT", least: 1, most: math.MaxInt, help: "show how SELECTs would be answered; free",
			run: (*runner).explainCommand, rest: true},
		{name: ".export", args: "RELEASE FILE", least: 2, most: 2, curator: true, acts: true, help: "write a release into a public file",
			run: (*runner).export},
		{name: ".headers", args: "on|off", least: 1, most: 1, help: "write the names of columns above results in csv", run: (*runner).headers},
		{name: ".help", args: "[COMMAND]", most: 1, help: "list these commands, or tell of one", run: (*runner).help},
		{name: ".import", args: "[--csv|--tsv|--separator C] … FILE TABLE", least: 2, most: math.MaxInt, curator: true, acts: true,
			help: "load a CSV, TSV or Parquet file into a table", run: (*runner).load},
		{name: ".ledger", help: "list every charge", run: listing("SHOW LEDGER")},
		{name: ".mode", args: "table|csv|json|markdown", most: 1, help: "write results in another format", run: (*runner).mode},
		{name: ".once", args: "FILE", least: 1, most: 1, curator: true, acts: true, help: "write the next result into a file", run: (*runner).once},
		{name: ".output", args: "[FILE]", most: 1, curator: true, acts: true, help: "write results into a file, or on the screen again",
			run: (*runner).output},
		{name: ".pager", args: "on|off", least: 1, most: 1, help: "show long results in $PAGER, in the shell", run: (*runner).pager},
		{name: ".parameter", args: "[set NAME VALUE|unset NAME|clear]", most: 3, help: "give :NAME a value, or list all values",
			run: (*runner).parameter},
		{name: ".plot", args: "FILE.svg [COLUMN]", least: 1, most: 2, curator: true, acts: true, help: "draw the last answer into a file",
			run: (*runner).plot},
		{name: ".print", args: "TEXT", most: math.MaxInt, help: "write a text", run: (*runner).write, rest: true},
		{name: ".quit", help: "leave", run: (*runner).quit},
		{name: ".read", args: "FILE", least: 1, most: 1, curator: true, help: "run a script", run: (*runner).read},
		{name: ".schema", args: "[TABLE]", most: 1, help: "describe a private table, or all of them", run: (*runner).schema},
		{name: ".tables", help: "list the declared tables", run: listing("SHOW TABLES")},
		{name: ".timer", args: "on|off", least: 1, most: 1, help: "show the time of every statement", run: (*runner).timer},
	}
}

// helpWidth is the width of the text of .help, and helpAt where its right part begins.
const helpWidth, helpAt = 60, 24

// described returns the command's part of .help.
func (c command) described() string {
	left, indent := strings.TrimRight("  "+c.name+" "+c.args, " "), "\n"+strings.Repeat(" ", helpAt)
	if len(left) > helpAt-2 {
		left += indent
	}
	help := strings.ReplaceAll(render.Wrap(c.help, helpWidth-helpAt), "\n", indent)
	return fmt.Sprintf("%-*s%s\n", helpAt, left, help)
}

// commandHelp returns the text of .help.
func commandHelp() string {
	var b strings.Builder
	for _, c := range commands() {
		b.WriteString(c.described())
	}
	b.WriteString("\n" + render.Wrap("Statements end with a semicolon. Ctrl-C clears the line or stops a statement; Ctrl-D leaves.", helpWidth) + "\n")
	return b.String()
}

// command carries out the dot-command in a line.
func (r *runner) command(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	c, err := findCommand(strings.TrimSpace(word))
	if err != nil {
		return err
	}
	if c.curator && r.role != engine.Curator {
		return sqlerr.New(sqlerr.Forbidden, "the analyst role may not name files, as %s does", c.name).
			WithHint("open the database as curator")
	}
	args, err := c.cut(rest)
	if err != nil {
		return err
	}
	if len(args) < c.least || len(args) > c.most {
		return c.misused()
	}
	if c.acts && r.rehearsal != nil {
		return r.console.report("not run: " + c.name)
	}
	return c.run(r, ctx, args)
}

// findCommand returns the command of that name, or the only one whose name begins
// with the word.
func findCommand(word string) (command, error) {
	var found []command
	for _, c := range commands() {
		if c.name == word {
			return c, nil
		}
		if len(word) > 1 && strings.HasPrefix(c.name, word) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	err := sqlerr.New(sqlerr.Unknown, "there is no command %s", word)
	if ours := ofPsql[word]; ours != "" {
		return command{}, err.WithHint("what psql's %s does is %s here", word, ours)
	}
	if near := sqlerr.Closest(word, slices.Values(commandNames())); near != "" {
		return command{}, err.WithHint("did you mean %s?", near)
	}
	return command{}, err.WithHint(".help lists the commands")
}

// ofPsql has the commands that people know from psql, and what does the same here.
var ofPsql = map[string]string{
	`\d`: ".tables, or .schema TABLE", `\d+`: ".schema TABLE", `\dt`: ".tables", `\du`: "SHOW USERS", `\h`: ".help", `\?`: ".help", `\q`: ".quit",
	`\i`: ".read FILE", `\o`: ".output FILE", `\g`: "a semicolon", `\set`: ".parameter set NAME VALUE", `\timing`: ".timer on", `\x`: ".mode", `\echo`: ".print TEXT",
	`\copy`: ".import FILE TABLE",
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func formatNames() []string {
	var names []string
	for _, f := range render.Formats {
		names = append(names, string(f))
	}
	return names
}

// cut returns the arguments in the text that follows the command's name.
func (c command) cut(rest string) ([]string, error) {
	if !c.rest {
		return splitWords(rest)
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return nil, nil
	}
	return []string{rest}, nil
}

// misused returns the error for wrong arguments.
func (c command) misused() error {
	if c.most == 0 {
		return sqlerr.New(sqlerr.Invalid, "%s takes no arguments", c.name)
	}
	return sqlerr.New(sqlerr.Invalid, "%s has wrong arguments", c.name).
		WithHint("usage: %s %s", c.name, c.args)
}

// splitWords cuts a line at blanks. Quotes of either kind keep blanks together and
// are removed; a doubled quote inside them stands for one.
func splitWords(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " \t\r"); line != ""; line = strings.TrimLeft(line, " \t\r") {
		word, rest, err := cutWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
	return words, nil
}

// cutWord cuts the first word off a line.
func cutWord(line string) (word, rest string, err error) {
	quote := line[:1]
	if quote != "'" && quote != `"` {
		if i := strings.IndexAny(line, " \t\r"); i >= 0 {
			return line[:i], line[i:], nil
		}
		return line, "", nil
	}
	rest = line[1:]
	for {
		part, after, closed := strings.Cut(rest, quote)
		if !closed {
			return "", "", sqlerr.New(sqlerr.Malformed, "the %s in the command is not closed", quote)
		}
		word += part
		if !strings.HasPrefix(after, quote) {
			return word, after, nil
		}
		word, rest = word+quote, after[1:]
	}
}

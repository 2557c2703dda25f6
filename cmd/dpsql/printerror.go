package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/sqlerr"
)

// fail writes an error to standard error, after everything that came before.
func (c *console) fail(err error) {
	c.out.Flush()
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{err: public(err)}
	}
	if c.format == formatJSON {
		writeLine(c.err, f.json())
		return
	}
	if f.file != "" {
		fmt.Fprintf(c.err, "%s:%d:%d: ", f.file, f.line, f.column)
	}
	fmt.Fprintf(c.err, "%s %s\n", c.colored(red, fmt.Sprintf("error %s:", f.err.Code)), visibleText(f.err.Message))
	if c.errTTY && f.err.Position > 0 {
		fmt.Fprint(c.err, f.caret())
	}
	if f.err.Hint != "" {
		fmt.Fprintf(c.err, "%s %s\n", c.colored(yellow, "hint:"), visibleText(f.err.Hint))
	}
}

// The colours of messages, as terminals name them.
const (
	red    = 31
	yellow = 33
)

// colored sets a text in a colour where that shows.
func (c *console) colored(color int, text string) string {
	if !c.color {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, text)
}

// jsonError is an error as programs read it.
type jsonError struct {
	Error struct {
		Code     sqlerr.Code `json:"code"`
		Message  string      `json:"message"`
		Hint     string      `json:"hint,omitempty"`
		Position int         `json:"position,omitempty"`
		File     string      `json:"file,omitempty"`
		Line     int         `json:"line,omitempty"`
		Column   int         `json:"column,omitempty"`
	} `json:"error"`
}

func (f *failure) json() jsonError {
	var j jsonError
	e := &j.Error
	e.Code, e.Message, e.Hint, e.Position = f.err.Code, f.err.Message, f.err.Hint, f.err.Position
	if f.file != "" {
		e.File, e.Line, e.Column = f.file, f.line, f.column
	}
	return j
}

// The part of a long line that stands around a caret, in characters.
const caretBefore, caretAfter = 50, 25

// caret returns the line of the statement with the error, and a caret under
// the character.
func (f *failure) caret() string {
	text := []rune(f.statement)
	at := min(f.err.Position-1, len(text))
	start, end := at, at
	for start > 0 && text[start-1] != '\n' && at-start < caretBefore {
		start--
	}
	for end < len(text) && text[end] != '\n' && end-at < caretAfter {
		end++
	}
	before := visibleText(string(text[start:at]))
	if start > 0 && text[start-1] != '\n' {
		before = "…" + before
	}
	line := before + visibleText(string(text[at:end]))
	if end < len(text) && text[end] != '\n' {
		line += "…"
	}
	return "  " + strings.TrimRight(line, " ") + "\n  " + strings.Repeat(" ", twwidth.Width(before)) + "^\n"
}

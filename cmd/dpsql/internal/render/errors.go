package render

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/sqlerr"
)

// Failure is an error with its place: the statement that failed and, in a
// script, the file, line and column.
type Failure struct {
	Err       *sqlerr.Error
	Statement string
	File      string // "" outside scripts
	Line      int
	Column    int
}

// Error returns the error without its place.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error itself.
func (f *Failure) Unwrap() error { return f.Err }

// Locate adds the place of the failed input to an error, unless a script inside that
// file has added its own. The file "" means no file.
func Locate(err error, file string, input engine.Input) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = &Failure{Err: answerjson.Public(err), Statement: input.Text, File: file}
	if engine.Masked(input.Text) != input.Text {
		f.Statement = "" // it may hold a password
	}
	f.Line, f.Column = input.Locate(f.Err.Position)
	return f
}

// ErrorStyle is how errors are written.
type ErrorStyle struct {
	Format   Format
	Terminal bool // a caret points at the place in the statement
	Color    bool
	Width    int // of a line, in characters; 0 is no limit
}

// Write writes an error and its hint: one object in JSON, else lines that break
// between words.
func (s ErrorStyle) Write(w io.Writer, err error) {
	var f *Failure
	if !errors.As(err, &f) {
		f = &Failure{Err: answerjson.Public(err)}
	}
	if s.Format == JSON {
		JSONLine(w, f.json())
		return
	}
	place := ""
	if f.File != "" {
		place = fmt.Sprintf("%s:%d:%d: ", Visible(f.File), f.Line, f.Column)
	}
	s.paragraph(w, place, fmt.Sprintf("error %s:", f.Err.Code), red, f.Err.Message)
	if s.Terminal && f.Err.Position > 0 && f.Statement != "" {
		io.WriteString(w, f.caret())
	}
	if f.Err.Hint != "" {
		s.paragraph(w, "", "hint:", yellow, f.Err.Hint)
	}
}

// The colours of messages, as terminals name them.
const (
	red    = 31
	yellow = 33
)

// paragraph writes a text behind its coloured label, in lines that break between
// words.
func (s ErrorStyle) paragraph(w io.Writer, place, label string, color int, text string) {
	lines := Wrap(place+label+" "+Visible(text), s.Width)
	if s.Color {
		lines = strings.Replace(lines, label, fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, label), 1)
	}
	io.WriteString(w, lines+"\n")
}

// json returns the failure as programs read it.
func (f *Failure) json() answerjson.Failure {
	j := answerjson.FailureOf(f.Err)
	if f.File != "" {
		j.Error.File, j.Error.Line, j.Error.Column = f.File, f.Line, f.Column
	}
	return j
}

// The characters of a long line that are shown before and after a caret.
const caretBefore, caretAfter = 50, 25

// caret returns the line of the statement with the error, and a caret below the
// character.
func (f *Failure) caret() string {
	text := []rune(f.Statement)
	at := min(f.Err.Position-1, len(text))
	start, end := at, at
	for start > 0 && text[start-1] != '\n' && at-start < caretBefore {
		start--
	}
	for end < len(text) && text[end] != '\n' && end-at < caretAfter {
		end++
	}
	before := Visible(string(text[start:at]))
	if start > 0 && text[start-1] != '\n' {
		before = "…" + before
	}
	line := before + Visible(string(text[at:end]))
	if end < len(text) && text[end] != '\n' {
		line += "…"
	}
	return "  " + strings.TrimRight(line, " ") + "\n  " + strings.Repeat(" ", twwidth.Width(before)) + "^\n"
}

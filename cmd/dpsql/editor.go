package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"
	"golang.org/x/term"

	"dpsql/engine"
)

// errAborted is Ctrl-C: what was typed so far is dropped.
var errAborted = errors.New("aborted")

// editor reads texts from a person.
type editor interface {
	// Read returns a text that can be run, of one or more lines; io.EOF after
	// Ctrl-D and errAborted after Ctrl-C.
	Read() (string, error)
	// Ask shows a question and returns the line that is the answer; errors as
	// those of Read.
	Ask(question string) (string, error)
	Close() error
}

// lineEditor is an editor on the process's terminal. Enter ends a complete
// statement, and goes on with a new line of an incomplete one; all its lines
// can be edited and are recalled together.
type lineEditor struct {
	shell  *readline.Shell
	asking *readline.Shell // without history, completion and further lines
	before *term.State     // of the terminal
}

func newEditor(c *completer, h *history, color bool) *lineEditor {
	e := &lineEditor{shell: readline.NewShell(), asking: readline.NewShell()}
	e.before, _ = term.GetState(int(os.Stdin.Fd()))
	e.shell.Prompt.Primary(func() string { return prompt })
	e.shell.AcceptMultiline = func(text []rune) bool { return accepted(string(text)) }
	e.shell.Completer = func(text []rune, at int) readline.Completions { return c.offer(string(text[:at])) }
	e.shell.SyntaxHighlighter = func(text []rune) string { return drawn(string(text), color) }
	e.asking.SyntaxHighlighter = func(text []rune) string { return drawn(string(text), false) }
	for _, s := range []*readline.Shell{e.shell, e.asking} {
		s.Config.Set("cursor-position-probe", false)
		s.Config.Set("enable-bracketed-paste", true)
		s.History.Delete()
		keepPastedTabs(s)
	}
	e.shell.Config.Set("menu-complete-display-prefix", true) // the first Tab inserts only what is certain
	e.shell.History.Add("statements", h)
	return e
}

// keepPastedTabs makes a Tab that has further keys behind it a character of the
// text. A person's Tab comes alone; a paste arrives at once, and terminals that
// do not bracket it send its tabs as if they were typed.
func keepPastedTabs(s *readline.Shell) {
	const command = "complete-or-insert-tab"
	commands := s.Keymap.Commands()
	complete, insert := commands["complete"], commands["tab-insert"]
	s.Keymap.Register(map[string]func(){command: func() {
		if s.Keys.Empty() {
			complete()
		} else {
			insert()
		}
	}})
	for _, keymap := range []string{"emacs", "emacs-standard", "vi-insert"} {
		s.Config.Bind(keymap, inputrc.Unescape(`\C-i`), command, false)
	}
}

// accepted reports whether Enter ends the text.
func accepted(text string) bool {
	return familiar(text) != text || !engine.Incomplete(text+"\n")
}

// drawn returns a text as the editor is to draw it, with room below.
func drawn(text string, color bool) string {
	width, height := terminalSize()
	room := roomBelow(text, width, height)
	if color {
		return room + highlighted(text)
	}
	return room + text
}

// roomBelow returns what scrolls the screen up until the rows of a text that is
// drawn at the cursor, and one more, fit above its bottom; the cursor stays
// before the text. The editor steps into the row below the text and back. At the
// bottom of the screen there is none, so it would end up a row higher and erase
// what stands there; and it learns where the bottom is only from terminals that
// answer when asked, and waits for ever for those that do not.
func roomBelow(text string, width, height int) string {
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + (len(prompt)+twwidth.Width(line))/max(width, 1)
	}
	if rows = min(rows, height-1); rows <= 0 {
		return ""
	}
	return strings.Repeat("\x1bD", rows) + fmt.Sprintf("\x1b[%dA", rows)
}

func (e *lineEditor) Read() (string, error) { return line(e.shell) }

func (e *lineEditor) Ask(question string) (string, error) {
	e.asking.Prompt.Primary(func() string { return question })
	return line(e.asking)
}

// line returns what is typed up to an Enter that ends it.
func line(s *readline.Shell) (string, error) {
	text, err := s.Readline()
	switch {
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", errAborted
	}
	return strings.TrimRight(text, "\n") + "\n", nil
}

// Close leaves the terminal as it was, also under a Read that still waits.
func (e *lineEditor) Close() error {
	if e.before == nil {
		return nil
	}
	return term.Restore(int(os.Stdin.Fd()), e.before)
}

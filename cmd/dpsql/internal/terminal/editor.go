package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"
	"golang.org/x/term"

	"dpsql/engine"
)

// Prompt stands before a new statement.
const Prompt = "dpsql> "

// ErrAborted means Ctrl-C: what was typed so far is dropped.
var ErrAborted = errors.New("aborted")

// Editor reads texts from a person.
type Editor interface {
	// Read returns a text of one or more lines for which Complete holds. It
	// returns io.EOF after Ctrl-D and ErrAborted after Ctrl-C.
	Read() (string, error)
	// Ask shows a question and returns the line that answers it. Its errors are
	// those of Read.
	Ask(question string) (string, error)
	Close() error
}

// lineEditor is an Editor on the process's terminal. Enter ends a complete
// statement and adds a line to an incomplete one. All lines of a statement can be
// edited, and the history recalls them together.
type lineEditor struct {
	shell   *readline.Shell
	asking  *readline.Shell // has no history, no completion and one line
	history *history
	before  *term.State // of the terminal
}

// Config is what an editor needs to know.
type Config struct {
	Database   string   // whose history is kept
	Commands   []string // dot-commands, for completion
	Formats    []string // formats of results, for completion
	Vocabulary func(context.Context) (engine.Vocabulary, error)
	Color      bool // colour keywords, texts and comments
	Confined   bool // no key starts a program, such as a text editor
}

// NewEditor returns an editor on the process's terminal.
func NewEditor(config Config) Editor {
	e := &lineEditor{shell: readline.NewShell(), asking: readline.NewShell(), history: openHistory(config.Database)}
	c, color := &completer{Config: config}, config.Color
	e.before, _ = term.GetState(int(os.Stdin.Fd()))
	e.shell.Prompt.Primary(func() string { return Prompt })
	e.shell.AcceptMultiline = func(text []rune) bool { return Complete(string(text)) }
	e.shell.Completer = func(text []rune, at int) readline.Completions { return c.offer(string(text[:at])) }
	e.shell.SyntaxHighlighter = func(text []rune) string { return display(string(text), color) }
	e.asking.SyntaxHighlighter = func(text []rune) string { return display(string(text), false) }
	for _, s := range []*readline.Shell{e.shell, e.asking} {
		s.Config.Set("cursor-position-probe", false)
		s.Config.Set("enable-bracketed-paste", true)
		s.History.Delete()
		keepPastedTabs(s)
		keepLetters(s)
		for name := range s.Keymap.Commands() {
			if config.Confined && (strings.HasSuffix(name, "edit-command-line") || strings.HasSuffix(name, "edit-and-execute-command")) {
				s.Keymap.Register(map[string]func(){name: func() {}})
			}
		}
	}
	e.shell.Config.Set("menu-complete-display-prefix", true) // the first Tab inserts only what is certain
	e.shell.History.Add("statements", e.history)
	return e
}

// keepPastedTabs inserts a Tab into the text if further keys arrive with it. A person's
// Tab comes alone. A paste arrives at once, and terminals that do not bracket it send
// its tabs as if they were typed.
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

// keepLetters inserts what is typed beyond ASCII as it stands. The editor takes é for
// Alt-i if it is not told otherwise, and keeps the first rune of several that are one
// character.
func keepLetters(s *readline.Shell) {
	const command = "self-insert"
	insert := s.Keymap.Commands()[command]
	s.Config.Set("convert-meta", false)
	s.Keymap.Register(map[string]func(){command: func() {
		typed := s.Keys.Caller()
		if !slices.ContainsFunc(typed, func(r rune) bool { return r > unicode.MaxASCII }) {
			insert()
			return
		}
		s.History.SkipSave()
		s.Cursor().InsertAt(typed...)
	}})
}

// display returns a text as the editor draws it, with room below.
func display(text string, color bool) string {
	width, height := Size(os.Stdout)
	room := roomBelow(text, width, height)
	if color {
		return room + highlight(text)
	}
	return room + text
}

// roomBelow returns the control sequence that scrolls the screen up until the
// text, drawn at the cursor, and one more row fit on it. The cursor stays before
// the text.
//
// The editor steps into the row below the text and back. At the bottom of the
// screen there is no such row, so the editor would end up a row higher and erase
// what stands there. It could ask the terminal where the bottom is, but it would
// wait for ever for a terminal that does not answer.
func roomBelow(text string, width, height int) string {
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + (len(Prompt)+twwidth.Width(line))/max(width, 1)
	}
	if rows = min(rows, height-1); rows <= 0 {
		return ""
	}
	return strings.Repeat("\x1bD", rows) + fmt.Sprintf("\x1b[%dA", rows)
}

func (e *lineEditor) Read() (string, error) { return readText(e.shell) }

func (e *lineEditor) Ask(question string) (string, error) {
	e.asking.Prompt.Primary(func() string { return question })
	return readText(e.asking)
}

// readText returns what is typed up to the Enter that ends it.
func readText(s *readline.Shell) (string, error) {
	text, err := s.Readline()
	switch {
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", ErrAborted
	}
	return strings.TrimRight(text, "\n") + "\n", nil
}

// Close restores the terminal, even while a Read is waiting.
func (e *lineEditor) Close() error {
	e.history.close()
	if e.before == nil {
		return nil
	}
	return term.Restore(int(os.Stdin.Fd()), e.before)
}

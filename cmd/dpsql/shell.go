package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/peterh/liner"

	"dpsql/engine"
)

// The prompts: of a new statement, and of one that goes on.
const (
	promptNew  = "dpsql> "
	promptMore = "   ...> "
)

// editor reads lines from a person.
type editor interface {
	// Prompt returns a line without its end; io.EOF after Ctrl-D and
	// liner.ErrPromptAborted after Ctrl-C.
	Prompt(prompt string) (string, error)
	Close() error
}

// shell talks with a person: it reads statements line by line, remembers them
// and shows what comes of them. An error ends a statement, never the shell.
type shell struct {
	*runner
	database string
	editor   editor
	history  *history
}

// newShell returns a shell on the process's terminal.
func newShell(r *runner, database string) *shell {
	line := liner.NewLiner()
	line.SetCtrlCAborts(true)
	line.SetMultiLineMode(true) // long lines wrap instead of scrolling sideways
	line.SetTabCompletionStyle(liner.TabPrints)
	line.SetWordCompleter(newCompleter(r.session).complete)
	return &shell{runner: r, database: database, editor: line, history: openHistory(line)}
}

// run reads and runs until the person leaves or the context is done.
func (s *shell) run(ctx context.Context) error {
	defer s.editor.Close()
	defer s.history.close()
	// At the prompt Ctrl-C is a key. As a signal it is for the running
	// statement, and must not end the process in between.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	if err := s.console.print(s.banner()); err != nil {
		return err
	}
	for {
		text, err := s.read(ctx)
		if err == io.EOF {
			return s.console.print("\n")
		}
		if err != nil {
			return err
		}
		s.history.add(text)
		if err := s.carryOut(ctx, text); errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			s.console.fail(err)
		}
	}
}

// banner is the line a shell starts with.
func (s *shell) banner() string {
	parts := []string{"dpsql " + version(), visibleText(s.database)}
	if _, err := os.Stat(s.database); errors.Is(err, os.ErrNotExist) {
		parts[1] += " (does not exist yet)"
	}
	if s.role != engine.Curator {
		parts = append(parts, string(s.role))
	}
	return strings.Join(append(parts, ".help for help"), " · ") + "\n"
}

// read returns the next text that can be run: one or more lines up to a
// semicolon, or a dot-command. Ctrl-C drops what was typed so far.
func (s *shell) read(ctx context.Context) (string, error) {
	var text string
	for prompt := promptNew; ; prompt = promptMore {
		line, err := s.line(ctx, prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			return "", nil
		case err != nil:
			return "", err
		}
		if text == "" {
			line = familiar(line)
		}
		text += line + "\n"
		if !engine.Incomplete(text) {
			return text, nil
		}
	}
}

// line prompts for a line; the end of the context is the end of the input.
func (s *shell) line(ctx context.Context, prompt string) (string, error) {
	line, err := await(ctx, func() (string, error) { return s.editor.Prompt(prompt) })
	if ctx.Err() != nil {
		return "", io.EOF
	}
	return line, err
}

// familiar turns words with which other shells are left or asked for help into
// dot-commands, when they stand alone.
func familiar(line string) string {
	switch strings.ToLower(strings.TrimRight(strings.TrimSpace(line), ";")) {
	case "exit", "quit", `\q`:
		return ".quit"
	case "help", `\?`, `\h`, "?":
		return ".help"
	case `\d`, `\dt`:
		return ".tables"
	}
	return line
}

// carryOut runs a text. Ctrl-C ends its running statement, and what follows it
// in the text is dropped.
func (s *shell) carryOut(ctx context.Context, text string) error {
	ctx, stop := untilSignal(ctx, os.Interrupt)
	defer stop()
	return s.script(ctx, "", strings.NewReader(text))
}

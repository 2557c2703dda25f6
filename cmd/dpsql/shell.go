package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"dpsql/engine"
)

// prompt stands before a new statement.
const prompt = "dpsql> "

// shell talks with a person: it reads statements, remembers them and shows what
// comes of them. An error ends a statement, never the shell.
type shell struct {
	*runner
	database string
	editor   editor
	history  *history
}

// newShell returns a shell on the process's terminal.
func newShell(r *runner, database string) *shell {
	h := openHistory(database)
	r.console.pager = newPager()
	return &shell{runner: r, database: database, history: h,
		editor: newEditor(newCompleter(r.session), h, r.console.color)}
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
	s.session.SetConfirm(s.confirm)
	for {
		text, err := s.read(ctx)
		if err == io.EOF {
			return s.console.print("\n")
		}
		if err != nil {
			return err
		}
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

// confirm asks whether to go on with a statement that takes much. Anything but a
// yes is a no, so that text pasted behind the statement agrees to nothing.
func (s *shell) confirm(warning string) bool {
	defer s.console.pauseProgress()()
	s.console.notice("warning: " + visibleText(warning))
	s.console.flush()
	answer, err := s.editor.Ask("ask it all the same? [y/N] ")
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// read returns the next text that can be run: one or more lines up to a
// semicolon, or a dot-command. The end of the context is the end of the input.
func (s *shell) read(ctx context.Context) (string, error) {
	text, err := await(ctx, s.editor.Read)
	switch {
	case ctx.Err() != nil:
		return "", io.EOF
	case errors.Is(err, errAborted):
		return "", nil
	}
	return familiar(text), err
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

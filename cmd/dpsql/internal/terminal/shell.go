// Package terminal is the part of the shell that a person sees: the line editor
// with its history, completion and colours, and the pager. It knows where a
// statement ends and nothing else of SQL.
package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// Shell talks with a person. Run reads what is typed; Confirm asks a question
// while something typed is running.
type Shell struct {
	editor Editor
}

// NewShell returns a shell that reads from an editor.
func NewShell(e Editor) *Shell { return &Shell{editor: e} }

// Run reads statements and dot-commands and hands each text to carryOut until
// that returns false or ctx is done. It returns io.EOF when there is nothing more
// to read. Run closes the editor.
func (s *Shell) Run(ctx context.Context, carryOut func(ctx context.Context, text string) (more bool)) error {
	defer s.editor.Close()
	// At the prompt Ctrl-C is a key. As a signal it is for the running
	// statement, and must not end the process between statements.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	for {
		text, err := s.read(ctx)
		if err != nil {
			return err
		}
		if !s.run(ctx, text, carryOut) {
			return nil
		}
	}
}

// run carries out one text. Ctrl-C cancels its context.
func (s *Shell) run(ctx context.Context, text string, carryOut func(context.Context, string) bool) bool {
	ctx, stop := UntilSignal(ctx, os.Interrupt)
	defer stop()
	return carryOut(ctx, text)
}

// read returns the next text that can be run: lines up to a semicolon, or a
// dot-command. When ctx ends it returns io.EOF.
func (s *Shell) read(ctx context.Context) (string, error) {
	text, err := Await(ctx, s.editor.Read)
	switch {
	case ctx.Err() != nil:
		return "", io.EOF
	case errors.Is(err, ErrAborted):
		return "", nil
	}
	return familiar(text), err
}

// Confirm asks a question and reports whether the answer is yes. Any other text
// means no, so that statements pasted behind the first agree to nothing.
func (s *Shell) Confirm(question string) bool {
	answer, err := s.editor.Ask(question)
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// familiar turns words that leave or explain other shells into dot-commands, if
// they stand alone.
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

// Complete reports whether Enter ends the text: it holds complete statements, or
// a command.
func Complete(text string) bool {
	return familiar(text) != text || !engine.Incomplete(text+"\n")
}

// Await calls f, which waits for a person or a pipe, and returns what f returns.
// If ctx ends first, Await returns its error at once, and f may run until the process
// ends.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = sqlerr.Guard(func() (err error) {
			o.value, err = f()
			return err
		})
		done <- o
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Signalled is the cause of the end of a context that a signal ended.
type Signalled struct{ os.Signal }

// Error names the signal.
func (s Signalled) Error() string { return s.String() }

// UntilSignal returns a context that one of the signals ends; its cause is a Signalled. A second signal has
// its usual effect.
func UntilSignal(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 1)
	signal.Notify(came, signals...)
	context.AfterFunc(ctx, func() { signal.Stop(came) })
	go func() {
		select {
		case s := <-came:
			end(Signalled{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// Size returns the numbers of characters and lines that the terminal of f shows, or 0
// if they are unknown.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

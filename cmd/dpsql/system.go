package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// streams are the standard streams, and which of them are terminals.
type streams struct {
	in       io.Reader
	out, err io.Writer
	inTTY    bool
	outTTY   bool
	errTTY   bool
	color    bool       // err shows colours
	width    func() int // characters on a line of out; 0 is no limit
}

// system returns the streams of the process.
func system() streams {
	return streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
		color: isTerminal(os.Stderr) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		width: lineWidth,
	}
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// lineWidth returns how many characters fit on a line of standard output; a
// file's lines have no limit.
func lineWidth() int {
	if !isTerminal(os.Stdout) {
		return 0
	}
	width, _ := terminalSize()
	return width
}

// terminalSize returns how many characters and lines standard output shows, 0
// when that is unknown.
func terminalSize() (width, height int) {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// interactive reports whether a person sits at both ends, so that a shell
// makes sense. Otherwise standard input is a script.
func (s streams) interactive() bool { return s.inTTY && s.outTTY }

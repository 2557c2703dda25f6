package terminal

import (
	"bytes"
	"os"
	"os/exec"
)

// Pager shows long results in a program that scrolls.
type Pager struct {
	command string     // run by the system's shell
	height  func() int // of the terminal, in lines; 0 if unknown
}

// NewPager returns the pager that PAGER names, else less if there is one, else
// nil.
func NewPager() *Pager {
	command := os.Getenv("PAGER")
	if command == "" {
		if _, err := exec.LookPath("less"); err != nil {
			return nil
		}
		command = "less"
	}
	return &Pager{command: command, height: func() int { _, height := Size(os.Stdout); return height }}
}

// Show runs the pager on a text that is longer than the terminal, and reports
// whether it did. Ctrl-C is for the pager while it runs.
func (p *Pager) Show(text []byte) bool {
	if height := p.height(); height == 0 || bytes.Count(text, []byte("\n")) < height {
		return false
	}
	cmd := exec.Command("sh", "-c", p.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRSX") // wide lines scroll, nothing is cleared
	}
	return cmd.Run() == nil
}

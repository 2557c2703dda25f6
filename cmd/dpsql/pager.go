package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
)

// pager shows long results in a program that scrolls.
type pager struct {
	command string     // run by the shell of the system
	height  func() int // of the terminal, in lines; 0 when unknown
}

// newPager returns the pager of the environment: PAGER, else less where there
// is one, else none.
func newPager() *pager {
	command := os.Getenv("PAGER")
	if command == "" {
		if _, err := exec.LookPath("less"); err != nil {
			return nil
		}
		command = "less"
	}
	return &pager{command: command, height: func() int { _, height := terminalSize(); return height }}
}

// paged writes by a function, through the pager if it is more than the terminal
// holds.
func (c *console) paged(write func() error) error {
	if c.pager == nil || c.to != nil {
		return write()
	}
	var all bytes.Buffer
	out := c.out
	c.out = bufio.NewWriter(&all)
	err := write()
	c.out.Flush()
	c.out = out
	if height := c.pager.height(); height > 0 && bytes.Count(all.Bytes(), []byte("\n")) >= height && c.pager.show(all.Bytes()) {
		return err
	}
	io.Copy(c.out, &all)
	if ferr := c.flush(); err == nil {
		err = ferr
	}
	return err
}

// show runs the pager on a text, and reports whether it could. Ctrl-C is for
// the pager as long as it runs.
func (p *pager) show(text []byte) bool {
	cmd := exec.Command("sh", "-c", p.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRSX") // wide lines scroll, nothing is cleared
	}
	return cmd.Run() == nil
}

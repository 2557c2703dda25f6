package main

import (
	"bufio"
	"io"
	"os"

	"dpsql/sqlerr"
)

// redirect is where results go in place of standard output.
type redirect struct {
	file *os.File
	once bool // until the next statement has run

	// What the console had before.
	out    *bufio.Writer
	outTTY bool
	width  func() int
	wrote  bool
}

// redirect sends the results to a file, of the next statement alone or of all
// to come. An existing file is overwritten, as sqlite3 does.
func (c *console) redirect(path string, once bool) error {
	if err := c.restore(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotOpen(path, err)
	}
	c.to = &redirect{file: f, once: once, out: c.out, outTTY: c.outTTY, width: c.width, wrote: c.wrote}
	c.out, c.outTTY, c.width, c.wrote = bufio.NewWriter(f), false, func() int { return 0 }, false
	return nil
}

// restore sends results to standard output again. Its error is that of
// writing what was still to be written.
func (c *console) restore() error {
	if c.to == nil {
		return nil
	}
	err := c.out.Flush()
	if cerr := c.to.file.Close(); err == nil {
		err = cerr
	}
	c.out, c.outTTY, c.width, c.wrote = c.to.out, c.to.outTTY, c.to.width, c.to.wrote
	c.to = nil
	if err != nil {
		return cannotWrite(err)
	}
	return nil
}

// after ends a redirection that was for one statement.
func (c *console) after() error {
	if c.to == nil || !c.to.once {
		return nil
	}
	return c.restore()
}

// writeFile writes a file by a function, all of it or an error.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotOpen(path, err)
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return sqlerr.New(sqlerr.IO, "cannot write %s: %v", path, systemReason(err))
	}
	return nil
}

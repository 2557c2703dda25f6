package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// console writes results and messages. Results go to standard output, each
// flushed before its method returns. Messages go there too in the formats that
// people read, in their place among the results, and to standard error in
// those that programs read.
type console struct {
	out    *bufio.Writer
	err    io.Writer
	format format
	outTTY bool
	errTTY bool
	width  func() int // of a line, in characters; 0 is no limit
	bare   bool       // results in csv have no header
	timer  bool       // state the time of every statement
	wrote  bool       // something stands above the next result
	to     *redirect  // where results go instead; nil for standard output
	pager  *pager     // of long results; nil for none
	meter  *meter     // of the running statement; nil for none
	color  bool       // colours mean something to errors' reader
}

// newConsole returns a console on the streams; without a format, terminals get
// tables and anything else csv.
func newConsole(s streams, f format) *console {
	if f == "" {
		f = formatCSV
		if s.outTTY {
			f = formatTable
		}
	}
	return &console{out: bufio.NewWriter(s.out), err: s.err, format: f, width: s.width, outTTY: s.outTTY, errTTY: s.errTTY, color: s.color}
}

// result writes what a statement gave. The statement's text serves to confirm
// one that has no rows.
func (c *console) result(statement string, r *engine.Result) error {
	return c.paged(func() error { return c.write(statement, r) })
}

func (c *console) write(statement string, r *engine.Result) error {
	if len(r.Columns) == 0 {
		c.confirm(statement, r)
		return c.flush()
	}
	if err := c.rows(r); err != nil {
		return cannotWrite(err)
	}
	if r.Answer != nil && c.format.forPeople() {
		c.line(footer(r.Answer, r.Elapsed))
	} else if c.timer && r.Elapsed > 0 {
		c.notice("time " + duration(r.Elapsed))
	}
	if c.format != formatJSON {
		c.warn(r.Warnings)
	}
	return c.flush()
}

// rows writes the rows in the console's format.
func (c *console) rows(r *engine.Result) error {
	switch c.format {
	case formatCSV:
		return writeCSV(c.out, r, !c.bare)
	case formatJSON:
		return writeJSON(c.out, r)
	case formatMarkdown:
		c.apart()
		return writeMarkdown(c.out, r)
	}
	return writeTable(c.out, r, c.width())
}

// line writes a line for people among the results.
func (c *console) line(text string) {
	c.apart()
	fmt.Fprintln(c.out, text)
}

// apart begins a block of output. In Markdown a blank line sets blocks apart,
// or a line under a table would be one of its rows.
func (c *console) apart() {
	if c.format == formatMarkdown && c.wrote {
		fmt.Fprintln(c.out)
	}
	c.wrote = true
}

// worthTelling is the time from which on it is stated without being asked for.
const worthTelling = time.Millisecond

// confirm tells a person that a statement without rows was carried out.
func (c *console) confirm(statement string, r *engine.Result) {
	switch {
	case c.format.forPeople() && c.outTTY:
		text := tag(statement)
		if c.timer && r.Elapsed > 0 || r.Elapsed >= worthTelling {
			text += " · " + duration(r.Elapsed)
		}
		c.line(text)
	case c.timer && r.Elapsed > 0:
		c.notice("time " + duration(r.Elapsed))
	}
	c.warn(r.Warnings)
}

// tag names what a statement did by its first words: CREATE PRIVATE TABLE, SET.
func tag(statement string) string {
	words := strings.Fields(strings.ToUpper(strings.TrimRight(statement, "; \t\r\n")))
	n := min(1, len(words))
	if n == 1 && words[0] != "SET" {
		for i, word := range words[:min(3, len(words))] {
			if word == "TABLE" || word == "RELEASE" || word == "MECHANISM" || word == "SOURCE" {
				n = i + 1
			}
		}
	}
	return visibleText(strings.Join(words[:n], " "))
}

// report tells a person about something that is no result; programs are not
// told.
func (c *console) report(text string) error {
	if c.format.forPeople() {
		c.line(visibleText(text))
	}
	return c.flush()
}

// caption writes the text of a statement above what is said of it.
func (c *console) caption(statement string) {
	if c.format.forPeople() {
		c.line(visibleText(shortened(strings.Join(strings.Fields(statement), " "))))
	}
}

// shortened leaves SELECTs whole and cuts declarations, which can be long.
func shortened(statement string) string {
	const most = 76
	if runes := []rune(statement); len(runes) > most && firstWord(statement) == "CREATE" {
		return string(runes[:most]) + " …"
	}
	return statement
}

// notice writes a line beside the results.
func (c *console) notice(text string) {
	if c.format.forPeople() {
		c.line(text)
		return
	}
	c.flush()
	fmt.Fprintln(c.err, text)
}

// warn writes warnings that are not part of a result.
func (c *console) warn(warnings []string) {
	for _, w := range warnings {
		if c.format != formatJSON {
			c.notice("warning: " + visibleText(w))
			continue
		}
		c.flush()
		writeLine(c.err, struct {
			Warning string `json:"warning"`
		}{w})
	}
}

// print writes a text that was asked for, whatever the format.
func (c *console) print(text string) error {
	io.WriteString(c.out, text)
	return c.flush()
}

// flush hands everything written so far to the system.
func (c *console) flush() error {
	if err := c.out.Flush(); err != nil {
		return cannotWrite(err)
	}
	return nil
}

func cannotWrite(err error) error {
	return sqlerr.New(sqlerr.IO, "cannot write the result: %v", systemReason(err))
}

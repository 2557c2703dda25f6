package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// console writes results and messages. Results go to standard output and are
// flushed before a method returns. In formats for people messages stand among the
// results; in formats for programs they go to standard error.
type console struct {
	out      *bufio.Writer
	err      io.Writer
	format   render.Format
	outTTY   bool
	errTTY   bool
	width    func() int // of a line of out, in characters; 0 is no limit
	errWidth func() int // the same of err
	color    bool       // err shows colours
	noHeader bool       // leave out the header of csv
	quiet    bool       // results, warnings and errors alone
	timer    bool       // show the time of every statement
	wrote    bool       // something stands above the next result
	several  bool       // it was said that several results are in one CSV
	pager    pager      // of long results; nil for none
	meter    *meter     // of the running statement; nil for none
	file     *redirect  // where results go instead; nil for standard output
	next     *redirect  // where the next result goes; nil for where the others go

	// Of -o with %n in a name:
	each   string        // the name of the file that each result has of its own; "" for none
	eachIn render.Format // its format
	count  int           // of these files so far
}

// pager shows a text if it is longer than the terminal, and reports whether it
// did.
type pager interface{ Show(text []byte) bool }

// newConsole returns a console on the streams. Without a format a terminal gets
// tables, and anything else CSV.
func newConsole(s streams, f render.Format) *console {
	if f == "" {
		f = render.CSV
		if s.outTTY {
			f = render.Table
		}
	}
	return &console{out: bufio.NewWriter(s.out), err: s.err, format: f, width: s.width, errWidth: s.errWidth,
		outTTY: s.outTTY, errTTY: s.errTTY, color: s.color}
}

// result writes the result of a statement, through the pager if it is longer than
// the terminal. A result without rows is confirmed by the statement's first words.
func (c *console) result(statement string, r *engine.Result) error {
	if c.each != "" && c.next == nil && len(r.Columns) > 0 {
		c.count++
		if err := c.redirect(strings.ReplaceAll(c.each, numbered, strconv.Itoa(c.count)), c.eachIn, true); err != nil {
			return err
		}
	}
	if c.next != nil && len(r.Columns) > 0 {
		c.swap()
		err := c.write(statement, r)
		return cmp.Or(err, c.restore())
	}
	if c.pager == nil || c.file != nil {
		return c.write(statement, r)
	}
	var all bytes.Buffer
	out := c.out
	c.out = bufio.NewWriter(&all)
	err := c.write(statement, r)
	c.out.Flush()
	c.out = out
	if c.pager.Show(all.Bytes()) {
		return err
	}
	io.Copy(c.out, &all)
	if ferr := c.flush(); err == nil {
		err = ferr
	}
	return err
}

// write writes a result with its footer, its time and its warnings.
func (c *console) write(statement string, r *engine.Result) error {
	if len(r.Columns) == 0 {
		c.confirm(statement, r)
		return c.flush()
	}
	c.separate()
	if err := c.rows(c.format, r); err != nil {
		return cannotWrite(err)
	}
	if r.Note != "" && c.format.ForPeople() {
		c.line(r.Note)
	}
	if r.Answer != nil && c.format.ForPeople() {
		c.line(render.Footer(r, r.Elapsed))
	} else if c.timer && r.Elapsed > 0 {
		c.notice("time " + render.Duration(r.Elapsed))
	}
	if c.format != render.JSON { // JSON has them in the result
		c.tell(warning, r.Warnings...)
	}
	if r.Answer != nil && !c.quiet && (c.format == render.CSV || c.format == render.Parquet) {
		for _, note := range render.Notes(r.Answer) {
			c.notice("note: " + note)
		}
	}
	return c.flush()
}

// rows writes rows. Nothing in them commands a terminal.
func (c *console) rows(f render.Format, r *engine.Result) error {
	if !c.outTTY {
		return f.Rows(c.out, r, c.width(), !c.noHeader)
	}
	var all strings.Builder
	err := f.Rows(&all, r, c.width(), !c.noHeader)
	c.out.WriteString(render.VisibleLines(all.String()))
	return err
}

// line writes a line for people among the results. On a terminal it breaks
// between words.
func (c *console) line(text string) {
	c.separate()
	fmt.Fprintln(c.out, render.Wrap(text, c.width()))
}

// separate begins a block of output. In Markdown a blank line must separate
// blocks, or a line below a table would be one of its rows. In CSV it tells a result from the one
// above: no row is an empty line, and nothing that was bought is refused. Without headers results are rows
// of one table.
func (c *console) separate() {
	several := c.wrote && c.format == render.CSV && !c.noHeader
	if several || c.wrote && c.format == render.Markdown {
		fmt.Fprintln(c.out)
	}
	if several && !c.several && !c.outTTY && !c.quiet {
		c.several = true
		c.notice("note: an empty line stands between results; dpsql -o %n.csv writes each into a file of its own")
	}
	c.wrote = true
}

// minShown is the shortest duration that is printed without .timer on.
const minShown = time.Millisecond

// confirm tells a person that a statement without rows was carried out.
func (c *console) confirm(statement string, r *engine.Result) {
	switch {
	case c.quiet:
	case r.Note != "":
		c.notice(r.Note)
	case c.format.ForPeople() && c.outTTY:
		text := tag(statement)
		if r.Paid != "" {
			text += " · " + r.Paid
		}
		if c.timer && r.Elapsed > 0 || r.Elapsed >= minShown {
			text += " · " + render.Duration(r.Elapsed)
		}
		c.line(text)
	case c.timer && r.Elapsed > 0:
		c.notice("time " + render.Duration(r.Elapsed))
	}
	c.tell(warning, r.Warnings...)
}

// tag returns the first words of a statement that say what it did: CREATE PRIVATE
// TABLE, SET.
func tag(statement string) string {
	words := strings.Fields(strings.ToUpper(strings.TrimRight(statement, "; \t\r\n")))
	n := min(1, len(words))
	if n == 1 && words[0] != "SET" {
		for i, word := range words[:min(3, len(words))] {
			if word == "TABLE" || word == "RELEASE" || word == "MECHANISM" || word == "SOURCE" || word == "VIEW" || word == "USER" {
				n = i + 1
			}
		}
	}
	return render.Visible(strings.Join(words[:n], " "))
}

// report writes a line for people. Programs do not get it.
func (c *console) report(text string) error {
	if c.format.ForPeople() && !c.quiet {
		c.line(render.Visible(text))
	}
	return c.flush()
}

// caption writes the text of a statement above its explanation.
func (c *console) caption(statement string) {
	if c.format.ForPeople() {
		c.line(render.Visible(shortened(strings.Join(strings.Fields(statement), " "))))
	}
}

// shortened cuts declarations, which can be long, and leaves SELECTs whole.
func shortened(statement string) string {
	const limit = 76 // characters
	if runes := []rune(statement); len(runes) > limit && firstWord(statement) == "CREATE" {
		return string(runes[:limit]) + " …"
	}
	return statement
}

// notice writes a line beside the results: among them for people, else to
// standard error.
func (c *console) notice(text string) {
	if c.format.ForPeople() {
		c.line(text)
		return
	}
	c.flush()
	fmt.Fprintln(c.err, text)
}

// tell writes lines about what was done, or warnings, beside a result: for programs, to
// standard error.
func (c *console) tell(what string, lines ...string) {
	if c.quiet && what == notice {
		return
	}
	for _, line := range lines {
		if c.format == render.JSON {
			c.flush()
			render.JSONLine(c.err, map[string]string{what: line})
			continue
		}
		if what == warning {
			line = "warning: " + line
		}
		c.notice(render.Visible(line))
	}
}

// What tell says.
const (
	notice  = "notice"
	warning = "warning"
)

// print writes a text in any format.
func (c *console) print(text string) error {
	io.WriteString(c.out, text)
	return c.flush()
}

// document writes a text that is a result: into the file of .once, if one waits.
func (c *console) document(text string) error {
	if c.next == nil {
		return c.print(text)
	}
	c.swap()
	err := c.print(text)
	return cmp.Or(c.restore(), err)
}

// fail writes an error to standard error, after everything that came before.
func (c *console) fail(err error) {
	c.out.Flush()
	format := c.format
	if c.file != nil {
		format = c.file.format // not that of the results
	}
	style := render.ErrorStyle{Format: format, Terminal: c.errTTY, Color: c.color, Width: c.errWidth()}
	style.Write(c.err, err)
}

// flush writes what is buffered.
func (c *console) flush() error {
	if err := c.out.Flush(); err != nil {
		return cannotWrite(err)
	}
	return nil
}

func cannotWrite(err error) error {
	return sqlerr.New(sqlerr.IO, "cannot write the result: %v", systemReason(err))
}

// redirect is a file that results go to in place of standard output.
type redirect struct {
	file *os.File

	// The console's fields: those of the file, and where it is used those before.
	out    *bufio.Writer
	format render.Format
	outTTY bool
	width  func() int
	wrote  bool
}

// numbered stands in the name of -o for the number of a result.
const numbered = "%n"

// send sends results where a command line says. A format that it names goes before the ending of the file.
func (c *console) send(o options) error {
	format := o.format
	if format == "" {
		format = render.OfFile(o.output, c.format)
	}
	switch {
	case o.output == "":
		return nil
	case !strings.Contains(o.output, numbered):
		return c.redirect(o.output, format, false)
	}
	if _, err := os.Stat(filepath.Dir(o.output)); err != nil {
		return cannotOpen(o.output, err)
	}
	c.each, c.eachIn = o.output, format
	return nil
}

// redirect sends the next result, or all further ones, to a file. It overwrites an existing file, as
// sqlite3 does. One result alone may go to a file of Parquet.
func (c *console) redirect(path string, format render.Format, once bool) error {
	if err := c.restore(); err != nil {
		return err
	}
	if format == render.Parquet && !once {
		return sqlerr.New(sqlerr.Invalid, "a Parquet file has one result").
			WithHint(".once FILE.parquet writes the next one, and dpsql -o %%n.parquet each into a file of its own")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotOpen(path, err)
	}
	c.next = &redirect{file: f, out: bufio.NewWriter(f), format: format, width: func() int { return 0 }}
	if !once {
		c.swap()
	}
	return nil
}

// swap begins to use the file that is next.
func (c *console) swap() {
	c.file, c.next = c.next, nil
	c.exchange()
}

// exchange swaps the console's fields and those of its file.
func (c *console) exchange() {
	f := c.file
	c.out, f.out = f.out, c.out
	c.format, f.format = f.format, c.format
	c.outTTY, f.outTTY = f.outTTY, c.outTTY
	c.width, f.width = f.width, c.width
	c.wrote, f.wrote = f.wrote, c.wrote
}

// restore sends results to standard output again. Its error is that of the last
// write to the file.
func (c *console) restore() error {
	if c.next != nil { // no result came for it
		c.swap()
	}
	if c.file == nil {
		return nil
	}
	err := c.out.Flush()
	if cerr := c.file.file.Close(); err == nil {
		err = cerr
	}
	c.exchange()
	c.file = nil
	if err != nil {
		return cannotWrite(err)
	}
	return nil
}

// writeFile makes a file and calls write to fill it.
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

// progress sets report to a function that takes the amount done and the total. On a
// terminal a bar shows them once the work has taken a while. The function that
// progress returns removes the bar.
func (c *console) progress(what string, report *func(done, all int64)) (end func()) {
	if !c.errTTY {
		return func() {}
	}
	m := &meter{stop: make(chan struct{})}
	c.meter = m
	*report = func(done, all int64) {
		m.set(done, all, func() *progressbar.ProgressBar {
			return progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(render.Visible(what)),
				progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish())
		})
	}
	return func() {
		m.end()
		c.meter = nil
	}
}

// pauseProgress removes the bar until resume is called, so that it does not draw
// over a question.
func (c *console) pauseProgress() (resume func()) {
	if c.meter == nil {
		return func() {}
	}
	c.meter.pause(true)
	return func() { c.meter.pause(false) }
}

// meter redraws a bar at intervals, so that it shows the elapsed time even while
// nothing is reported.
type meter struct {
	mu     sync.Mutex
	done   int64
	all    int64
	newBar func() *progressbar.ProgressBar // nil before the first report
	bar    *progressbar.ProgressBar        // nil before it is drawn
	paused bool
	stop   chan struct{}
	ended  sync.WaitGroup
}

func (m *meter) set(done, all int64, newBar func() *progressbar.ProgressBar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.all = min(done, all), all
	if m.newBar == nil {
		m.newBar = newBar
		m.ended.Go(m.run)
	}
}

func (m *meter) run() {
	const patience = 500 * time.Millisecond
	for wait := patience; ; wait = patience / 2 {
		select {
		case <-m.stop:
			return
		case <-time.After(wait):
			m.draw()
		}
	}
}

func (m *meter) draw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused {
		return
	}
	if m.bar == nil {
		m.bar = m.newBar()
	}
	m.bar.ChangeMax64(m.all)
	m.bar.Set64(m.done)
	m.bar.RenderBlank()
}

func (m *meter) pause(paused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
	if paused && m.bar != nil {
		m.bar.Clear()
	}
}

// end stops the drawing and clears the line.
func (m *meter) end() {
	close(m.stop)
	m.ended.Wait()
	if m.bar != nil {
		m.bar.Clear()
	}
}

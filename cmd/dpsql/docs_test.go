package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/query"
)

// docsDir holds the pages whose examples are run. top is the repository.
const docsDir, top = "../../docs", "../.."

// TestDocs runs the examples of the documentation, page by page, and compares
// what they print with what the pages show; docs/README.md states the rules. A
// page has a home of its own, in which ~/dpsql is the repository.
//
//   - A block of console lines runs line by line in bash. One that opens a shell,
//     such as "dpsql clinic.db", opens the session of the blocks of SQL below it.
//   - A block of SQL runs in that session, and the block of text that follows it
//     shows the output. SET lasts, as in a shell.
//   - A block of Go stands word for word in a file that another test runs, and
//     its output below it; see TestDocsGo.
//
// go test ./cmd/dpsql -run TestDocs -update replaces outputs that differ.
//
// False failures: a number is off by more than its allowance (see allowances)
// with a probability below 5e-10, and the pages have fewer than 1,000, so 5e-7.
func TestDocs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the examples need a shell: ", err)
	}
	for _, name := range pageNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newPage(t, name).run()
		})
	}
}

// pageNames lists the pages, relative to docsDir.
func pageNames(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(docsDir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(docsDir, path)
			if err != nil {
				t.Fatal(err)
			}
			if name != "benchmarks.md" { // written by the command bench
				names = append(names, name)
			}
		}
	}
	return names
}

// page is a page whose examples are being run.
type page struct {
	*testing.T
	path   string
	home   string // ~ of the page
	dir    string // the working directory of its console
	env    []string
	doc    *document
	db     *engine.DB // of the open shell, nil for none
	shell  *runner
	record *recorder
	out    *bytes.Buffer
}

// newPage reads a page and makes its home.
func newPage(t *testing.T, name string) *page {
	p := &page{T: t, path: filepath.Join(docsDir, name), home: t.TempDir(), out: new(bytes.Buffer)}
	p.dir, p.env = p.home, environment(t, p.home)
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	p.doc = parseDocument(string(text))
	repository, err := filepath.Abs(top)
	if err == nil {
		err = os.Symlink(repository, filepath.Join(p.home, "dpsql"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs the page from top to bottom.
func (p *page) run() {
	defer p.closeShell()
	for i, b := range p.doc.blocks {
		switch b.lang {
		case "console":
			p.console(b)
		case "sql":
			var shown *block
			if next := i + 1; next < len(p.doc.blocks) && p.doc.blocks[next].follows(b) {
				shown = p.doc.blocks[next]
			}
			p.sql(b, shown)
		}
	}
	if *update && p.doc.changed {
		if err := os.WriteFile(p.path, []byte(p.doc.String()), 0o666); err != nil {
			p.Fatal(err)
		}
	}
}

// console runs the lines of a block that start with a $, and compares what each
// prints with the lines below it.
func (p *page) console(b *block) {
	var anew []string
	differs := false
	for _, c := range b.commands() {
		anew = append(anew, "$ "+c.text)
		if o, err := parseFlags(strings.Fields(c.text)[1:]); strings.HasPrefix(c.text, "dpsql ") && err == nil &&
			!o.hasSQL && o.script == "" && !strings.ContainsAny(c.text, "|<>") {
			p.openShell(o)
			anew = append(anew, c.shown...)
			continue
		}
		lines, err := p.bash(c.text)
		if err != nil && !strings.Contains(strings.Join(lines, "\n"), "error ") {
			p.Errorf("line %d: $ %s: %v\n%s", b.line, c.text, err, strings.Join(lines, "\n"))
		}
		if err := compare(c.shown, printed(lines), b.about()); err != nil {
			differs = true
			p.differs(b, "$ "+c.text, err, lines)
			anew = append(anew, lines...)
			continue
		}
		anew = append(anew, c.shown...)
	}
	if differs {
		p.doc.replace(b, anew)
	}
}

// bash runs a line in the page's working directory, which the line may change.
func (p *page) bash(text string) ([]string, error) {
	where := filepath.Join(p.home, ".pwd")
	// -P: where ~/dpsql really is, Go has compiled all packages before.
	cmd := exec.Command("bash", "-P", "-c", text+"\nstatus=$?; pwd >"+where+"; exit $status")
	cmd.Dir = p.dir
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	if to, err := os.ReadFile(where); err == nil {
		p.dir = strings.TrimSpace(string(to))
	}
	return p.split(string(out)), err
}

// environment returns the variables of a console. ~ is the page's home, and go
// install installs into it. Go's caches are named, because another home would hide
// them.
func environment(t *testing.T, home string) []string {
	out, err := exec.Command("go", "env", "-json", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV", "GOFLAGS").Output()
	var places map[string]string
	if err == nil {
		err = json.Unmarshal(out, &places)
	}
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(home, "bin")
	env := append(os.Environ(), "HOME="+home, "GOBIN="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	places["GOFLAGS"] += " -buildvcs=false" // git's own settings are at home, too
	for name, value := range places {
		env = append(env, name+"="+value)
	}
	return env
}

// openShell opens the session that a shell on the database would have.
func (p *page) openShell(o options) {
	p.closeShell()
	path := o.database
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	db, err := engine.Open(path, engine.Options{Role: o.role, ReadOnly: o.readonly})
	if err != nil {
		p.Fatal(err)
	}
	p.db, p.record = db, &recorder{session: db.NewSession()}
	f := o.format
	if f == "" {
		f = render.Table
	}
	c := newConsole(streams{out: p.out, err: p.out, width: func() int { return 0 }, errWidth: func() int { return 0 }}, f)
	p.shell = &runner{session: p.record, role: o.role, console: c, args: o.args, explain: o.explain}
	p.shell.enter(p.dir, 0)
}

func (p *page) closeShell() {
	if p.db != nil {
		if err := p.db.Close(); err != nil {
			p.Error(err)
		}
	}
	p.db = nil
}

// sql runs a block of statements in the open shell.
func (p *page) sql(b, shown *block) {
	if p.db == nil {
		p.Fatalf("line %d: no shell is open: $ dpsql FILE opens one", b.line)
	}
	lines := p.statements(strings.Join(b.body, "\n"))
	switch {
	case shown == nil && len(lines) > 0:
		p.Errorf("line %d: a block of text must follow, with the output\n%s", b.line, texts(lines))
	case shown == nil:
	default:
		if err := compare(shown.body, lines, shown.about()); err != nil {
			p.differs(b, b.body[0]+" …", err, strings.Split(texts(lines), "\n"))
			p.doc.replace(shown, strings.Split(texts(lines), "\n"))
		}
	}
}

// statements runs statements and dot-commands one by one, as a shell does. An
// error ends its statement, and the next one runs.
func (p *page) statements(text string) (lines []printedLine) {
	scanner := engine.NewScanner(strings.NewReader(text))
	for {
		input, err := scanner.Next()
		if err == io.EOF {
			return lines
		}
		p.out.Reset()
		p.record.last = nil
		if err == nil {
			err = p.shell.run(context.Background(), input)
		}
		if err != nil && !errors.Is(err, errQuit) {
			p.shell.console.fail(err)
		}
		lines = append(lines, annotated(p.split(p.out.String()), p.record.last, p.sketched(p.record.last))...)
	}
}

// sketched reports whether a sketch gave the answer or a part of it.
func (p *page) sketched(r *engine.Result) bool {
	if r == nil {
		return false
	}
	releases, err := p.record.session.Exec(context.Background(), "SHOW RELEASES", nil)
	if err != nil {
		p.Fatal(err)
	}
	const name, method = 0, 3 // columns
	for _, row := range releases.Rows {
		if strings.Contains(row[method].(string), "sparse") && slices.Contains(strings.Split(r.Answer.Via, ", "), row[name].(string)) {
			return true
		}
	}
	return false
}

// differs reports what a page shows wrongly, unless -update replaces it.
func (p *page) differs(b *block, what string, err error, got []string) {
	if !*update {
		p.Errorf("line %d: %s\n%v\n-update writes this in its place:\n%s", b.line, what, err, strings.Join(got, "\n"))
	}
}

// recorder remembers the last answer of a session.
type recorder struct {
	session
	last *engine.Result
}

func (r *recorder) Exec(ctx context.Context, text string, args []query.Value) (*engine.Result, error) {
	result, err := r.session.Exec(ctx, text, args)
	if err == nil && result.Answer != nil {
		r.last = result
	}
	return result, err
}

// split cuts an output into lines, and calls the home of the page /home/you.
func (p *page) split(text string) []string {
	text = strings.ReplaceAll(text, p.home, "/home/you")
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// goBlock matches the name of a file in the info string of a block.
var goBlock = regexp.MustCompile(`^[a-z_/]+\.go$`)

// TestDocsGo holds each block of Go to the file that its info string names: the
// block's lines stand there one after another, with any indentation. Other tests run
// these files.
func TestDocsGo(t *testing.T) {
	blocks := 0
	for _, name := range pageNames(t) {
		text, err := os.ReadFile(filepath.Join(docsDir, name))
		if err != nil {
			t.Fatal(err)
		}
		var before *block
		for _, b := range parseDocument(string(text)).blocks {
			if b.lang == "text" && b.adjoins && before != nil && before.lang == "go" {
				b.info = before.info // its output, in comments
			} else if b.lang != "go" {
				before = b
				continue
			}
			before = b
			blocks++
			if !goBlock.MatchString(b.info) {
				t.Errorf("%s, line %d: the block must name the file it is from, as in ```go example_test.go", name, b.line)
				continue
			}
			file, err := os.ReadFile(filepath.Join(top, b.info))
			if err != nil {
				t.Errorf("%s, line %d: %v", name, b.line, err)
			} else if !strings.Contains(flush(strings.Split(string(file), "\n"), b.lang), flush(b.body, b.lang)) {
				t.Errorf("%s, line %d: the block does not stand in %s", name, b.line, b.info)
			}
		}
	}
	if blocks == 0 {
		t.Error("no page has a block of Go")
	}
}

// flush returns lines without indentation and without empty lines. From a text it
// also removes the marks of an example's output.
func flush(lines []string, lang string) string {
	var b strings.Builder
	for _, l := range lines {
		if lang == "text" {
			l = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(l), "//"), " Output:")
		}
		if l = strings.TrimSpace(l); l != "" {
			b.WriteString("\n" + l)
		}
	}
	return b.String() + "\n"
}

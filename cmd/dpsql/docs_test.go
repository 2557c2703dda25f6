package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
//     A block tagged long runs under -long only.
//   - A block of SQL runs in that session, and the block of text that follows it
//     shows the output. SET lasts, as in a shell.
//   - A block of Go stands word for word in a file that another test runs, and
//     its output below it; see TestDocsGo. So does one of Python or R, which a line
//     of the page runs.
//
// go test ./cmd/dpsql -long -run TestDocs -update replaces outputs that differ.
//
// False failures: a number is off by more than its allowance (see allowances)
// with a probability below 5e-10, and the pages have fewer than 1,000, so 5e-7.
func TestDocs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the examples need a shell: ", err)
	}
	first := &firstClinic{dir: t.TempDir()}
	for _, name := range pageNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if dear[name] && !*long {
				t.Skip("takes long: -long")
			}
			p := newPage(t, name)
			p.first = first
			commands := needed[name]
			if *long {
				commands = slices.Concat(commands, neededLong[name])
			}
			for _, command := range commands {
				if out, err := p.bash(command); err != nil {
					t.Skipf("%s: %v\n%s", command, err, strings.Join(out, "\n"))
				}
			}
			p.run()
		})
	}
}

// dear are pages that take much of the time of all. .ci/run runs them.
var dear = map[string]bool{"tutorial.md": true, "periods.md": true, "sql/create-release.md": true, "sql/create-mechanism.md": true,
	"sql/create-public-table.md": true, "sql/aggregates.md": true, "sql/types.md": true, "serve.md": true, "sql/create-private-table.md": true,
	"curators.md": true, "publish.md": true, "sql/command-line.md": true, "sql/export-release.md": true, "sql/show.md": true,
	"coming-from.md": true, "sql/refresh-release.md": true, "sql/explain.md": true, "sql/advise.md": true}

// needed are commands that fail where a page's examples cannot be run. neededLong are those of
// blocks that run under -long.
var (
	needed     = map[string][]string{"serve.md": {"psql --version", "openssl version", "curl --version"}}
	neededLong = map[string][]string{
		"tutorial.md": {"(cd dpsql && go build -o /dev/null ./examples/plot)"},
		"serve.md":    {"file --version", linkPython, `Rscript -e 'invisible(find.package("RPostgreSQL"))'`},
	}
)

// linkPython makes python3 the first of some that has what the page's program imports. It also
// lets matplotlib look for fonts, which it says if it takes long.
const linkPython = `mkdir -p bin; for p in python3 /usr/bin/python3; do
	$p -c 'import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ["matplotlib", "pandas", "psycopg2"])))' && ln -s "$(command -v $p)" bin/python3 &&
		bin/python3 -c 'import matplotlib.font_manager' && exit
done; echo "no python3 has matplotlib, pandas and psycopg2"; exit 1`

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
			names = append(names, name)
		}
	}
	return names
}

// page is a page whose examples are being run.
type page struct {
	*testing.T
	path   string
	home   string            // ~ of the page
	ports  *strings.Replacer // the ports that the page names, for such as are free
	shown  *strings.Replacer // the other way round, and the home's name
	dir    string            // the working directory of its console
	env    []string
	doc    *document
	db     *engine.DB // of the open shell, nil for none
	shell  *runner
	record *recorder
	out    *bytes.Buffer
	first  *firstClinic
}

// firstClinic is the database that most pages begin with. The first page that makes it does so as it
// says, and the others get a copy: that has the same noise, which each page holds to its margins.
type firstClinic struct {
	once  sync.Once
	dir   string
	lines []string
	err   error
}

// makesClinic matches the line that makes it, which says nothing with -q. Beside a file or a mark of
// that name it runs.
var makesClinic = regexp.MustCompile(`^dpsql (-q )?-f ~/dpsql/docs/sql/example\.sql (\w+\.db)$`)

// line runs a line of a console, or copies what it would make.
func (p *page) line(text string) ([]string, error) {
	m := makesClinic.FindStringSubmatch(text)
	if m == nil {
		return p.bash(text)
	}
	quiet, name := m[1], m[2]
	if there, err := filepath.Glob(filepath.Join(p.dir, name+"*")); err != nil || len(there) > 0 {
		return p.bash(text)
	}
	p.first.once.Do(func() {
		where := p.dir
		p.dir = p.first.dir
		p.first.lines, p.first.err = p.bash("dpsql -f ~/dpsql/docs/sql/example.sql example.db")
		p.dir = where
	})
	files, err := filepath.Glob(filepath.Join(p.first.dir, "example.db*"))
	if err != nil || len(files) < 2 { // the database and its mark
		p.Fatalf("the example has the files %q: %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			to := name + strings.TrimPrefix(filepath.Base(file), "example.db")
			err = os.WriteFile(filepath.Join(p.dir, to), content, 0o600)
		}
		if err != nil {
			p.Fatal(err)
		}
	}
	if quiet != "" && p.first.err == nil {
		return nil, nil
	}
	return p.first.lines, p.first.err
}

// newPage reads a page and makes its home.
func newPage(t *testing.T, name string) *page {
	p := &page{T: t, path: filepath.Join(docsDir, name), home: t.TempDir(), out: new(bytes.Buffer)}
	p.dir, p.env = p.home, environment(t, p.home)
	p.replacePorts("5433", "9187")
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

// replacePorts has the page use free ports in the place of those that it names. A number is a
// port where it stands behind what ports stand behind: an answer may have the same digits.
func (p *page) replacePorts(named ...string) {
	var there, back []string
	for _, name := range named {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			p.Fatal(err)
		}
		defer l.Close()
		_, free, _ := net.SplitHostPort(l.Addr().String())
		for _, before := range []string{"127.0.0.1:", "port=", ".s.PGSQL."} {
			there, back = append(there, before+name, before+free), append(back, before+free, before+name)
		}
	}
	p.ports, p.shown = strings.NewReplacer(there...), strings.NewReplacer(append(back, p.home, "/home/you")...)
}

// stopServer ends the server that the page started, if it is still there.
func (p *page) stopServer() {
	text, err := os.ReadFile(filepath.Join(p.home, "server.pid"))
	if err != nil {
		return
	}
	if id, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		if server, err := os.FindProcess(id); err == nil {
			server.Kill()
		}
	}
}

// run runs the page from top to bottom.
func (p *page) run() {
	defer p.stopServer()
	defer p.closeShell()
	for i, b := range p.doc.blocks {
		switch b.lang {
		case "console":
			if !b.long() || *long {
				p.console(b)
			}
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
			!o.hasSQL && o.scripts == nil && !strings.ContainsAny(c.text, "|<>") {
			p.openShell(o)
			anew = append(anew, c.shown...)
			continue
		}
		if otherModule.MatchString(c.text) && !b.long() {
			p.Errorf("line %d: $ %s: the block must be tagged long, since it needs modules that dpsql does not", b.line, c.text)
		}
		lines, err := p.line(c.text)
		if shown := strings.Join(lines, "\n"); err != nil && !strings.Contains(shown, "error ") && !strings.Contains(shown, "ERROR:  ") {
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

// otherModule matches a line that compiles a module beside dpsql.
var otherModule = regexp.MustCompile(`\bgo (run|build|test) \./(bench|clients|examples)\b`)

// bash runs a line in the page's working directory, which the line may change.
func (p *page) bash(text string) ([]string, error) {
	where := filepath.Join(p.home, ".pwd")
	// -P: where ~/dpsql really is, Go has compiled all packages before.
	cmd := exec.Command("bash", "-P", "-c", p.ports.Replace(text)+"\nstatus=$?; pwd >"+where+"; exit $status")
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
// them; what is compiled has its modules there already. Programs speak as they do without a
// locale, since bash warns of one that is not installed.
func environment(t *testing.T, home string) []string {
	places, err := goPlaces()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(home, "bin")
	env := append(os.Environ(), "LC_ALL=C", "GOPROXY=off", "HOME="+home, "GOBIN="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, value := range places {
		env = append(env, name+"="+value)
	}
	return env
}

// goPlaces returns the settings of go that depend on the home.
var goPlaces = sync.OnceValues(func() (places map[string]string, err error) {
	out, err := exec.Command("go", "env", "-json", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV", "GOFLAGS").Output()
	if err == nil {
		err = json.Unmarshal(out, &places)
	}
	if err == nil {
		places["GOFLAGS"] += " -buildvcs=false" // git's own settings are at home, too
	}
	return places, err
})

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
		err := compare(shown.body, lines, shown.about())
		if shown.info == "shape" {
			err = compareShapes(shown.body, lines)
		}
		if err != nil {
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

// split cuts an output into lines, calls the home of the page /home/you, and ports as the
// page does.
func (p *page) split(text string) []string {
	text = p.shown.Replace(text)
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// goBlock matches the name of a file in the info string of a block.
var goBlock = regexp.MustCompile(`^[a-z_/]+\.(go|py|R)$`)

// quoted reports whether a block stands in a file: one of Go does, and one of Python or R may. In
// docs/clients.md they name a client instead, and the tests of clients run them.
func (b *block) quoted() bool {
	return b.lang == "go" || (b.lang == "python" || b.lang == "r") && strings.Contains(b.info, "/")
}

// TestDocsGo holds each block of Go, Python and R to the file that its info string names: the
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
			} else if !b.quoted() {
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

// document is a page of Markdown, as lines, with its fenced blocks.
type document struct {
	lines   []string
	blocks  []*block
	changed bool
}

// block is a fenced block.
type block struct {
	lang, info string // the words after the fence
	line       int    // of the opening fence, from 1
	body       []string
	adjoins    bool // nothing but empty lines stands between it and the block before
}

// parseDocument finds the blocks of a page.
func parseDocument(text string) *document {
	d := &document{lines: strings.Split(text, "\n")}
	var open *block
	adjoins := false
	for i, l := range d.lines {
		switch {
		case open != nil && strings.TrimSpace(l) == "```":
			d.blocks = append(d.blocks, open)
			open, adjoins = nil, true
		case open != nil:
			open.body = append(open.body, l)
		case strings.HasPrefix(l, "```"):
			lang, info, _ := strings.Cut(strings.TrimPrefix(l, "```"), " ")
			open = &block{lang: lang, info: info, line: i + 1, adjoins: adjoins}
		case strings.TrimSpace(l) != "":
			adjoins = false
		}
	}
	return d
}

// follows reports whether b shows the output of the block before it.
func (b *block) follows(before *block) bool {
	return b.lang == "text" && b.adjoins && b.line > before.line
}

// about reports whether numbers of a listing may differ a little from those shown.
func (b *block) about() bool { return slices.Contains(strings.Fields(b.info), "about") }

// long reports whether a block runs under -long only.
func (b *block) long() bool { return slices.Contains(strings.Fields(b.info), "long") }

// typed is a line of a console block with the output shown below it.
type typed struct {
	text  string
	shown []string
}

// commands cuts a console block at its prompts.
func (b *block) commands() (all []typed) {
	for _, l := range b.body {
		if text, ok := strings.CutPrefix(l, "$ "); ok {
			all = append(all, typed{text: text})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.shown = append(last.shown, l)
		}
	}
	return all
}

// replace replaces the lines of a block.
func (d *document) replace(b *block, body []string) {
	d.changed = true
	b.body = body
}

// String returns the page with its blocks as they are now.
func (d *document) String() string {
	var out []string
	blocks := d.blocks
	for i := 0; i < len(d.lines); i++ {
		out = append(out, d.lines[i])
		if len(blocks) == 0 || i+1 != blocks[0].line {
			continue
		}
		out = append(out, blocks[0].body...)
		for i++; strings.TrimSpace(d.lines[i]) != "```"; i++ {
		}
		out = append(out, d.lines[i])
		blocks = blocks[1:]
	}
	return strings.Join(out, "\n")
}

// printedLine is a line of output.
type printedLine struct {
	text  string
	cells []allowance // of a row of a private answer, one a column; else nil
}

// allowance is how far a number may be from the one that a page shows.
type allowance struct {
	absolute float64
	relative float64
}

// nearly is the allowance of numbers that depend on the noisy number of rows, such
// as the margins of a release whose size was chosen by it.
var nearly = allowance{relative: 0.25}

// unbound is the allowance of a number that is not compared.
var unbound = allowance{absolute: math.Inf(1)}

func (a allowance) admits(want, got float64) bool {
	return math.Abs(want-got) <= a.absolute+a.relative*math.Abs(want)+1e-9
}

// noisy is the allowance of a number with a margin. Where the noise is discrete
// Laplace of scale b, a margin at confidence c is at least b·ln(1/(1−c)), and
// two draws differ by more than t with probability (1 + t/2b)·exp(−t/b): below
// 5e-10 at t = 24b. Sums of such noise and Gaussian noise have lighter tails for
// the same margin. At 95 % it is 8 margins.
func noisy(margin, confidence float64) allowance {
	return allowance{absolute: 1 + 24*margin/math.Log(1/(1-confidence))}
}

// printed returns lines whose numbers have no allowances.
func printed(lines []string) []printedLine {
	out := make([]printedLine, len(lines))
	for i, l := range lines {
		out[i].text = l
	}
	return out
}

func texts(lines []printedLine) string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.text
	}
	return strings.Join(all, "\n")
}

// tableHead is how many lines a table has above its rows.
const tableHead = 3

// annotated adds to the rows of a private answer, printed as a table, how far each
// number may be from that of another answer. Numbers from a sketch may be
// anything: one that shares a bucket with a large count is off by that count. This
// is as rare as margins allow, which is far more often than a test may fail.
func annotated(lines []string, r *engine.Result, sketched bool) []printedLine {
	out := printed(lines)
	if r == nil || len(lines) < tableHead+len(r.Rows) || !strings.HasPrefix(lines[0], "┌") {
		return out
	}
	for i := range r.Rows {
		cells := make([]allowance, len(r.Columns))
		for j := range cells {
			if m, ok := r.Answer.Margins[i][j].(float64); ok && sketched {
				cells[j] = unbound
			} else if ok {
				cells[j] = noisy(m, r.Answer.Confidence)
			} else if name := r.Columns[j].Name; name == "low" || name == "high" {
				cells[j] = noisy(widest(r.Answer.Margins[i]), r.Answer.Confidence)
			} else if r.Columns[j].Type == "REAL" { // a MARGIN
				cells[j] = nearly
			}
		}
		out[tableHead+i].cells = cells
	}
	return out
}

// widest returns the largest of a row's margins: that of the number whose LOW and HIGH stand
// beside it.
func widest(margins []any) float64 {
	w := 0.0
	for _, m := range margins {
		if m, ok := m.(float64); ok {
			w = max(w, m)
		}
	}
	return w
}

// compare returns what is wrong with the lines that a page shows.
func compare(shown []string, got []printedLine, about bool) error {
	if len(shown) != len(got) {
		return fmt.Errorf("the page shows %d lines, and there are %d", len(shown), len(got))
	}
	var header string // of a table in CSV that tells margins
	sized := -1       // the column of a listing that has sizes in bytes, which follow from noise
	for i, l := range got {
		if slices.Contains(strings.Split(l.text, ","), "margin") {
			header = l.text
		}
		if cells := cellsOf(l.text); strings.HasPrefix(l.text, "┌") {
			sized = -1
		} else if slices.Contains(cells, "bytes") {
			sized = slices.Index(cells, "bytes")
		} else if sized >= 0 && len(cells) > sized && l.cells == nil {
			l.cells = make([]allowance, len(cells))
			for j := range l.cells {
				if about {
					l.cells[j] = nearly
				}
			}
			l.cells[sized] = unbound
		}
		if !same(shown[i], l, header, about) {
			return fmt.Errorf("the page shows\n%s\nfor\n%s", shown[i], l.text)
		}
	}
	return nil
}

// numbers are a number, with its margin or interval where it has one. Noise may take a divisor to 0,
// and what is divided by it is NULL then.
var numbers = regexp.MustCompile(`-?\d[\d.]*( ± (\?|[\d.]+( days?)?)| \([^()]+ … [^()]+\))?|NULL`)

// answerers are what a footer says of margins, and the releases that answered. Where all is
// noise, an answer may have no margin, and another release may come first.
var answerers = regexp.MustCompile(`(no error bar|± at )[^·]* · (release )?[a-z_, ]+ \(`)

// apart is what a footer says where noise put the fitted value of an answer far from the proven one.
var apart = regexp.MustCompile(`, fit and proof disagree in \d+ answers?`)

// compareShapes is compare for lines whose numbers all follow from noise, such as the ends of
// intervals in a column of few values.
func compareShapes(shown []string, got []printedLine) error {
	shape := func(l string) string {
		return answerers.ReplaceAllString(numbers.ReplaceAllString(filled(steady(l)), "0"), "MARGINS · ANSWERERS (")
	}
	if len(shown) != len(got) {
		return fmt.Errorf("the page shows %d lines, and there are %d", len(shown), len(got))
	}
	for i, l := range got {
		if shape(shown[i]) != shape(l.text) {
			return fmt.Errorf("the page shows\n%s\nin the place of\n%s", shown[i], l.text)
		}
	}
	return nil
}

// filled returns a row of a table with 0 in its empty cells: so people are shown NULL, such as
// the ends of an interval that noise left unknown.
func filled(row string) string {
	cells := strings.Split(row, "│")
	for i := 1; i < len(cells)-1; i++ {
		if strings.TrimSpace(cells[i]) == "" {
			cells[i] = " 0 "
		}
	}
	return strings.Join(cells, "│")
}

// same reports whether a page may show a line for one that was printed.
func same(shown string, got printedLine, header string, about bool) bool {
	a, b := steady(shown), steady(got.text)
	switch {
	case a == b:
		return true
	case got.cells != nil:
		return sameCells(cellsOf(a), cellsOf(b), got.cells)
	case strings.HasPrefix(b, `{"columns":`):
		return sameJSON(a, b)
	case strings.Contains(b, "±"):
		return sameTokens(strings.Fields(a), strings.Fields(b))
	case header != "" && strings.Count(header, ",") == strings.Count(b, ","):
		return sameCSV(strings.Split(header, ","), strings.Split(a, ","), strings.Split(b, ","))
	case about:
		return sameFields(strings.FieldsFunc(a, punctuation), strings.FieldsFunc(b, punctuation), func(int) allowance { return nearly })
	}
	return false
}

func punctuation(r rune) bool { return strings.ContainsRune(" │,%():", r) }

// These differ from run to run: times, digests, and the width of tables.
var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ| \d\d:\d\d )`)
	digests = regexp.MustCompile(`(^|[ ,=])[0-9a-f]{16}(?:[0-9a-f]{48})?($|[ ,])`)
	took    = regexp.MustCompile(`(?:^| · |^time )(?:(?:< )?[0-9.]+ m?s|(?:\d+h)?\d+m\d+s)$`)
	runs    = regexp.MustCompile(` +|─+`)
	drawing = regexp.MustCompile(`[█▒├┤─]+`)
)

// steady removes from a line what differs from run to run.
func steady(l string) string {
	l = moments.ReplaceAllString(l, "TIME")
	l = digests.ReplaceAllString(l, "${1}DIGEST$2")
	l = took.ReplaceAllString(l, "")
	l = apart.ReplaceAllString(l, "")
	if !strings.Contains(l, " · cost ") && strings.Contains(l, "±") {
		l = drawing.ReplaceAllString(l, " ")
	}
	return strings.TrimRight(runs.ReplaceAllStringFunc(l, func(s string) string { return s[:len(string([]rune(s)[:1]))] }), " ")
}

// cellsOf cuts a row of a table.
func cellsOf(row string) []string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "│"), "│"), "│")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// sameFields compares texts exactly, and numbers within their allowances.
func sameFields(a, b []string, allowed func(int) allowance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, err := strconv.ParseFloat(a[i], 64)
		y, err2 := strconv.ParseFloat(b[i], 64)
		if err != nil || err2 != nil || !allowed(i).admits(x, y) {
			return false
		}
	}
	return true
}

// beside finds a number, and its margin or its interval.
var beside = regexp.MustCompile(`^(\S+) (?:± (\S+)|\((\S+) … (\S+)\))$`)

// sameCells compares the cells of a private answer: numbers within their allowances, and
// margins, which may differ a little and by their last digit. An interval is compared as its
// larger half, since whether it is even can depend on the noise.
func sameCells(a, b []string, allowed []allowance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		value, margin := parted(a[i])
		value2, margin2 := parted(b[i])
		_, places, _ := strings.Cut(margin2, ".")
		rounded := allowance{absolute: math.Pow10(-len(places)), relative: nearly.relative}
		if allowed[i] == unbound && strings.Contains(a[i]+b[i], "…") {
			rounded = unbound // where SET clamp cuts the interval off depends on the number
		}
		if !sameFields([]string{value, margin}, []string{value2, margin2}, func(k int) allowance { return []allowance{allowed[i], rounded}[k] }) {
			return false
		}
	}
	return true
}

// parted returns the number of a cell and its margin, "" for none.
func parted(cell string) (value, margin string) {
	m := beside.FindStringSubmatch(cell)
	if m == nil || m[2] != "" {
		value, margin, _ = strings.Cut(cell, " ± ")
		return value, margin
	}
	var ends [3]float64
	for i, text := range []string{m[1], m[3], m[4]} {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return cell, ""
		}
		ends[i] = x
	}
	return m[1], strconv.FormatFloat(max(ends[0]-ends[1], ends[2]-ends[0]), 'g', 6, 64)
}

// sameTokens compares a line of a chart, where a number stands before its ± and
// margin.
func sameTokens(a, b []string) bool {
	return sameFields(a, b, func(i int) allowance {
		switch {
		case i > 0 && b[i-1] == "±":
			return nearly
		case i+2 < len(b) && b[i+1] == "±":
			if m, err := strconv.ParseFloat(b[i+2], 64); err == nil {
				return noisy(m, 0.95)
			}
		}
		return allowance{}
	})
}

// sameCSV compares a row of CSV. A column called margin is about the column before
// it.
func sameCSV(header, a, b []string) bool {
	if len(header) != len(b) {
		return false
	}
	return sameFields(a, b, func(i int) allowance {
		switch {
		case header[i] == "margin":
			return nearly
		case i+1 < len(b) && header[i+1] == "margin":
			if m, err := strconv.ParseFloat(b[i+1], 64); err == nil {
				return noisy(m, 0.95)
			}
		}
		return allowance{}
	})
}

// sameJSON compares answers as programs read them.
func sameJSON(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	confidence, _ := y["confidence"].(float64)
	margins, _ := y["margins"].([]any)
	near := func(p, q any, i, j int) bool {
		m, ok := margins[i].([]any)[j].(float64)
		v, isNumber := p.(float64)
		w, both := q.(float64)
		return p == q || ok && isNumber && both && noisy(m, confidence).admits(v, w)
	}
	rows, ok := x["rows"].([]any)
	others, ok2 := y["rows"].([]any)
	if !ok || !ok2 || len(rows) != len(others) || len(margins) != len(rows) {
		return false
	}
	for i := range rows {
		p, q := rows[i].([]any), others[i].([]any)
		for j := range q {
			if len(p) != len(q) || !near(p[j], q[j], i, j) {
				return false
			}
		}
	}
	for _, name := range []string{"rows", "margins", "intervals"} {
		if (x[name] == nil) != (y[name] == nil) {
			return false
		}
		delete(x, name)
		delete(y, name)
	}
	return reflect.DeepEqual(x, y)
}

// TestDocsAreCompared shows that each rule lets noise pass, and nothing else.
func TestDocsAreCompared(t *testing.T) {
	answer := &engine.Result{Columns: []engine.Column{{Name: "year", Type: "INTEGER"}, {Name: "n", Type: "INTEGER"}, {Name: "margin", Type: "REAL"}},
		Rows:   [][]any{{int64(2025), int64(400), 10.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 10.0, nil}}, Confidence: 0.95}}
	table := func(row string) []string {
		return []string{"┌──────┬──────────┬────────┐", "│ year │        n │ margin │", "├──────┼──────────┼────────┤", row, "└──────┴──────────┴────────┘",
			"± at 95 % · release r (projection, m = 1) · cost 0 · 1.2 ms"}
	}
	printed := annotated(table("│ 2025 │ 400 ± 10 │     10 │"), answer, false)
	for _, c := range []struct {
		row  string
		same bool
	}{
		{"│ 2025 │ 400 ± 10 │     10 │", true},
		{"│ 2025 │ 480 ± 10 │     10 │", true},  // 8 margins
		{"│ 2025 │ 483 ± 10 │     10 │", false}, // and 1 for the rounding
		{"│ 2024 │ 400 ± 10 │     10 │", false},
		{"│ 2025 │ 400 ± 12 │     12 │", true},
		{"│ 2025 │ 400 ± 15 │     10 │", false},
		{"│ 2025 │ 400 ± 10 │     15 │", false},
		{"│ 2025 │ 400 (393 … 411) │     10 │", true}, // as wide
		{"│ 2025 │ 400 (393 … 416) │     10 │", false},
		{"│ 2025 │ 400 │     10 │", false},
		{"│ 2025 │     │     10 │", false},
		{"│ 2025 │ 400 ± 10 │", false},
	} {
		if err := compare(table(c.row), printed, false); (err == nil) != c.same {
			t.Errorf("%s: %v", c.row, err)
		}
	}
	if compare(table("│ 2025 │ 400 ± 10 │     10 │")[1:], printed, false) == nil {
		t.Error("a line too few passes")
	}
	sketch := annotated(table("│ 2025 │ 400 ± 10 │     10 │"), answer, true)
	if compare(table("│ 2025 │ 900 ± 10 │     10 │"), sketch, false) != nil || compare(table("│ 2024 │ 900 ± 10 │     10 │"), sketch, false) == nil {
		t.Error("a row of a sketch is not held to what is public in it, or to more")
	}
	listing := []printedLine{{text: "┌───┐"}, {text: "│ release │ bytes │"}, {text: "├───┤"}, {text: "│ r │ 500 │"}, {text: "└───┘"}}
	for row, same := range map[string]bool{"│ r │ 900 │": true, "│ s │ 500 │": false} {
		if err := compare([]string{"┌───┐", "│ release │ bytes │", "├───┤", row, "└───┘"}, listing, false); (err == nil) != same {
			t.Errorf("%s: %v", row, err)
		}
	}
	for _, c := range []struct {
		shown, got  string
		about, same bool
	}{
		{"error unknown: no column a", "error unknown: no column a", false, true},
		{"error unknown: no column a", "error unknown: no column b", false, false},
		{"± at 95 % · direct · cost ρ 0.0012 · 3 ms", "± at 95 % · direct · cost ρ 0.0012 · 20 s", false, true},
		{"± at 95 % · direct · cost ρ 0.0012 · 3 ms", "± at 95 % · direct · cost ρ 0.0012 · 1m20s", false, true},
		{"CREATE RELEASE", "CREATE RELEASE · 1.2 ms", false, true},
		{"± at 95 % · direct · cost ρ 0.0012 · 3 ms", "± at 95 % · direct · cost ρ 0.0013 · 3 ms", false, false},
		{"± at 95 % · release a · cost 0 · 3 ms", "± at 95 % · release b · cost 0 · 3 ms", false, false},
		{"± at 95 % · release a · cost 0 · 3 ms", "± at 95 %, fit and proof disagree in 2 answers · release a · cost 0 · 3 ms", false, true},
		{"F ██████▒┤ 100 ± 5", "F █████▒┤  130 ± 5", false, true},
		{"F ██████▒┤ 100 ± 5", "F █████▒┤  160 ± 5", false, false},
		{"F ██████▒┤ 100 ± 5", "M █████▒┤  100 ± 5", false, false},
		{"│ r │ 0.5 │ 2026-01-01T00:00:00Z │ 0123456789abcdef │", "│ r │ 0.5 │ 2027-11-21T12:34:56Z │ fedcba9876543210 │", false, true},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1100 │", false, false},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1100 │", true, true},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1300 │", true, false},
		{"│ r │ 0.5 │ 1000 │", "│ s │ 0.5 │ 1000 │", true, false},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[130]],"margins":[[5]],"confidence":0.95,"via":"r"}`, false, true},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[160]],"margins":[[5]],"confidence":0.95,"via":"r"}`, false, false},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"s"}`, false, false},
	} {
		if got := same(c.shown, printedLine{text: c.got}, "", c.about); got != c.same {
			t.Errorf("%q for %q: %v", c.shown, c.got, got)
		}
	}
	for shown, same := range map[string]bool{"│ F │ 53 (50 … 60) │": true, "│ M │ 54 ± 3 │": false, "│ F │ NULL │": true, "│ F │        │": true, "│ F │": false, "│ F │ 12 ± ? │": true, "│ F │ F │": false} {
		if err := compareShapes([]string{shown}, []printedLine{{text: "│ F │ 54.0 ± 3.1 │"}}); (err == nil) != same {
			t.Errorf("%s: %v", shown, err)
		}
	}
	rows := []printedLine{{text: "sex,n,margin"}, {text: "F,100,5"}}
	if compare([]string{"sex,n,margin", "F,130,5"}, rows, false) != nil || compare([]string{"sex,n,margin", "F,160,5"}, rows, false) == nil {
		t.Error("a row of CSV is not held to its margin")
	}
}

// TestDocument reads a page and writes it anew.
func TestDocument(t *testing.T) {
	const page = "# A\n\n```console\n$ dpsql a.db\n$ ls\nx\n```\ntext\n```sql\nSHOW BUDGET;\n```\n\n```text about\n1\n2\n```\nend\n"
	d := parseDocument(page)
	if len(d.blocks) != 3 || d.String() != page {
		t.Fatalf("%d blocks, and\n%s", len(d.blocks), d)
	}
	console, sql, text := d.blocks[0], d.blocks[1], d.blocks[2]
	if c := console.commands(); len(c) != 2 || c[1].text != "ls" || !slices.Equal(c[1].shown, []string{"x"}) {
		t.Errorf("the commands %q", c)
	}
	if !text.follows(sql) || text.follows(text) || sql.follows(console) || !text.about() {
		t.Errorf("%+v after %+v", text, sql)
	}
	d.replace(text, []string{"3"})
	if want := strings.Replace(page, "1\n2", "3", 1); d.String() != want || !d.changed {
		t.Errorf("written anew:\n%s", d)
	}
}

// TestDocsNameDataSources holds the page of the driver to its options.
func TestDocsNameDataSources(t *testing.T) {
	text := readText(t, filepath.Join(docsDir, "driver.md"))
	for _, name := range append([]string{"role", "readonly", "busy_timeout", "times"}, engine.SettingNames...) {
		if !strings.Contains(text, "| `"+name+"` |") || !strings.Contains(text, name+"=") {
			t.Errorf("docs/driver.md has no line, or no example, of %s", name)
		}
	}
}

// link finds the links of a page that stay in the repository.
var link = regexp.MustCompile(`\]\(([^):]*)\)`)

// TestDocsLink follows the links of the pages and the README to files and
// headings.
func TestDocsLink(t *testing.T) {
	for _, name := range append(pageNames(t), "../README.md") {
		path := filepath.Join(docsDir, name)
		for _, found := range link.FindAllStringSubmatch(readText(t, path), -1) {
			file, heading, _ := strings.Cut(found[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: %v", name, found[1], err)
			} else if heading != "" && !slices.Contains(headings(readText(t, to)), heading) {
				t.Errorf("%s: %s has no heading #%s", name, to, heading)
			}
		}
	}
}

// headings returns the names of a page's headings in links.
func headings(text string) (names []string) {
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			name := strings.ToLower(strings.TrimSpace(title))
			name = strings.NewReplacer(" ", "-", ",", "", ".", "", ":", "", "±", "", "\"", "").Replace(name)
			names = append(names, name)
		}
	}
	return names
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package dpsql_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Privacy rests on the files that KERNEL.md lists. A reviewer can read so many lines and no more.
const (
	mostKernel   = 13_000
	mostPostgres = 4_800 // of the files below source/postgres
)

// kernelPackages are in the kernel with all their files: whoever is in the package reaches what is unexported.
var kernelPackages = []string{"accounting", "noise", "noise/coin", "noise/law", "catalog/internal/ledger",
	"engine/internal/pay", "engine/internal/rows", "source", "source/definition", "source/postgres"}

// kernelFiles returns the files that the first cells of KERNEL.md's tables name, in their order.
// `a/{b,c}.go` names a/b.go and a/c.go.
func kernelFiles(t *testing.T) (files []string) {
	t.Helper()
	text, err := os.ReadFile("KERNEL.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		row, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		cell, _, _ := strings.Cut(row, " |")
		for _, name := range regexp.MustCompile("[^`,{} ][^`{} ]*(\\{[^}]*\\})?\\.go").FindAllString(cell, -1) {
			files = append(files, braced(name)...)
		}
	}
	return files
}

// braced expands the braces of a name.
func braced(name string) (all []string) {
	before, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}
	}
	inside, after, _ := strings.Cut(rest, "}")
	for _, part := range strings.Split(inside, ",") {
		all = append(all, before+strings.TrimSpace(part)+after)
	}
	return all
}

// TestKernel holds the kernel to its list and its size.
func TestKernel(t *testing.T) {
	listed := kernelFiles(t)
	kernel, postgres, largest := 0, 0, make(map[string]int)
	for i, name := range listed {
		text, err := os.ReadFile(name)
		if err != nil || slices.Contains(listed[:i], name) {
			t.Errorf("KERNEL.md lists %s, which is listed before or missing: %v", name, err)
			continue
		}
		lines := bytes.Count(text, []byte("\n"))
		if path.Dir(name) == "source/postgres" {
			postgres += lines
			continue
		}
		kernel += lines
		largest[path.Dir(name)] += lines
	}
	for _, f := range moduleFiles(t) {
		if !f.test() && slices.Contains(kernelPackages, f.pkg()) && !slices.Contains(listed, f.path) {
			t.Errorf("KERNEL.md does not list %s, whose package is in the kernel", f.path)
		}
	}
	t.Logf("%d lines, and %d of PostgreSQL: %v", kernel, postgres, largest)
	if kernel > mostKernel || postgres > mostPostgres {
		t.Errorf("%d lines and %d of PostgreSQL, more than %d and %d: move out what does not belong", kernel, postgres, mostKernel, mostPostgres)
	}
}

// wall is something that only the kernel may do, and what else does it, with the reason.
type wall struct {
	what    string
	word    string // stands in each breach; to look for it first takes a tenth of the time
	breach  *regexp.Regexp
	besides map[string]string // by file, or by package with all its files
}

var walls = []wall{
	{"imports what draws noise", `"dpsql/noise"`, regexp.MustCompile(`"dpsql/noise"`), map[string]string{
		"internal/audit": "runs mechanisms on databases that it makes up; its arrows reach no row",
		"bench":          "measures mechanisms on public data", "bench/baseline": "draws the noise of other systems for comparison"}},
	{"makes a source of noise", "noise.", regexp.MustCompile(`\bnoise\.NewSource|\bnew\(noise\.Source\)|\bnoise\.Source\{`), map[string]string{
		"internal/audit": "see above", "bench": "see above"}},
	{"takes noise from a receipt", ".Noise", regexp.MustCompile(`\.Noise\b`), nil},
	{"names a receipt", "pay.Receipt", regexp.MustCompile(`\bpay\.Receipt\b`), nil},
	{"pays for a receipt", "esk.", regexp.MustCompile(`\b[dD]esk\.(Build|GoOn|Answers|StartRun|ResumeRun)\b`), nil},
	{"sets the noise of a desk", "Random", regexp.MustCompile(`\bpay\.Desk\{[^}]*Random|[dD]esk\.Random\b`), nil},
	{"names a reader of rows, or a permit", "source.", regexp.MustCompile(`\bsource\.(Reader|SQLite|Permit|Admit|Table\{[^}]*Admits)\b`), nil},
	{"names the rows of a statement's own transaction", ".SQL()", regexp.MustCompile(`\.SQL\(\)`), map[string]string{
		"engine/import.go":                   "IMPORT, DRAFT and CHECK, a curator's own statements on raw tables",
		"engine/rehearsal.go":                "makes empty tables in a copy without rows",
		"engine/internal/declare/declare.go": "makes and drops public tables and views, and looks at schemas",
		"engine/internal/schemas/schemas.go": "looks at schemas, and copies public tables (source.Copy)"}},
	{"copies rows of public tables", "source.", regexp.MustCompile(`\bsource\.(Copy|Values)\(`), map[string]string{
		"engine/internal/declare/declare.go": "lists the values of a public column, for a domain",
		"engine/internal/schemas/schemas.go": "copies public tables for SQLite in memory"}},
	{"counts what a declaration loses", "source.", regexp.MustCompile(`\bsource\.Outside\(`), map[string]string{
		"engine/import.go": "CHECK, a curator's own look at raw rows"}},
	{"reaches around types", "", regexp.MustCompile(`"unsafe"|//go:linkname|"plugin"`), map[string]string{
		"sqlfront/around/native.go": "sets a limit of SQLite's"}},
}

// breaches returns which walls the text of a file breaks, in words.
func breaches(f goFile, kernel []string) (out []string) {
	if f.test() || slices.Contains(kernel, f.path) {
		return nil
	}
	for _, w := range walls {
		_, file := w.besides[f.path]
		_, pkg := w.besides[f.pkg()]
		if !file && !pkg && strings.Contains(f.text, w.word) && w.breach.MatchString(f.text) {
			out = append(out, fmt.Sprintf("%s %s: %q; only the kernel does (KERNEL.md)", f.path, w.what, w.breach.FindString(f.text)))
		}
	}
	return out
}

// TestOnlyTheKernel fails where another file does what only the kernel may.
func TestOnlyTheKernel(t *testing.T) {
	kernel, files := kernelFiles(t), moduleFiles(t)
	for _, f := range files {
		for _, fault := range breaches(f, kernel) {
			t.Error(fault)
		}
	}
	for _, w := range walls {
		for name := range w.besides {
			used := func(f goFile) bool {
				return !f.test() && (f.path == name || f.pkg() == name) && w.breach.MatchString(f.text)
			}
			if !slices.ContainsFunc(files, used) {
				t.Errorf("%s is let through a wall that it does not need: %s", name, w.what)
			}
		}
	}
}

// TestMeasuring: of a mechanism's files the one that measures alone imports what draws noise.
func TestMeasuring(t *testing.T) {
	found := 0
	for _, f := range moduleFiles(t) {
		if f.test() || path.Dir(f.pkg()) != "mechanisms" || !slices.Contains(f.imports, "dpsql/noise") {
			continue
		}
		if found++; path.Base(f.path) != "measure.go" {
			t.Errorf("%s imports dpsql/noise: what comes after the noise must not", f.path)
		}
	}
	if found < 4 {
		t.Errorf("%d mechanisms measure", found)
	}
}

// TestCatalogReadsItsOwnTables: catalog has the file open, beside the raw tables. Its statements name
// tables of its own and those that SQLite has. The copy for rehearsals takes rows of public tables.
func TestCatalogReadsItsOwnTables(t *testing.T) {
	from := regexp.MustCompile(`\b(?:FROM|INTO|JOIN|UPDATE) ("?[\w%\[\]]+"?(?:\.[\w%\[\]]+)?)`)
	own := regexp.MustCompile(`^(dpsql_\w*|sqlite_schema|pragma_\w+|json_each|SET|ON|original\.sqlite_schema)$`)
	copies := regexp.MustCompile(`^(main|original)\.%`)
	found := 0
	for _, f := range moduleFiles(t) {
		if f.test() || f.pkg() != "catalog" {
			continue
		}
		for _, m := range from.FindAllStringSubmatch(f.text, -1) {
			found++
			if !own.MatchString(m[1]) && !(path.Base(f.path) == "copy.go" && copies.MatchString(m[1])) {
				t.Errorf("%s reads or writes %s, which is no table of the catalog", f.path, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d statements are found", found)
	}
}

// TestKernelIsChecked shows that each wall finds its breach.
func TestKernelIsChecked(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"engine/a.go", `import "dpsql/noise"`, "imports what draws noise"},
		{"engine/a.go", `import "dpsql/noise/law"`, ""},
		{"mechanisms/smw/fit.go", `import "dpsql/noise"`, "imports what draws noise"},
		{"mechanisms/smw/measure.go", `import "dpsql/noise"`, ""},
		{"engine/a.go", `src := noise.NewSourceFrom(r)`, "makes a source of noise"},
		{"engine/internal/answer/explain.go", `src, err := paid.Noise()`, "takes noise from a receipt"},
		{"engine/show.go", `func f(paid *pay.Receipt)`, "names a receipt"},
		{"engine/show.go", `return s.db.desk.Build(ctx, nil)`, "pays for a receipt"},
		{"engine/db.go", `db.desk = &pay.Desk{Store: store, Random: fixed}`, "sets the noise of a desk"},
		{"engine/internal/schemas/schemas.go", `source.SQLite(tx.SQL()).Count(ctx, p, t, q)`, "names a reader of rows"},
		{"engine/show.go", `tx.SQL().QueryContext(ctx, text)`, "names the rows"},
		{"engine/show.go", `source.Copy(ctx, q, name, 9)`, "copies rows"},
		{"query/a.go", `import "unsafe"`, "reaches around types"},
		{"engine/a_test.go", `import "dpsql/noise"`, ""},
	} {
		got := breaches(goFile{path: c.file, text: c.text}, []string{"mechanisms/smw/measure.go"})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %s: breaches %q, want %q", c.file, c.text, got, c.want)
		}
	}
	if got := braced("a/{b,c}.go"); !slices.Equal(got, []string{"a/b.go", "a/c.go"}) {
		t.Errorf("braces are expanded to %q", got)
	}
}

package dpsql_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// arrows says which packages of the tree, of whichever of its modules, each
// package may import, its tests included. ARCHITECTURE.md draws it. A new package needs a line here.
var arrows = map[string][]string{
	".":                       {"driver", "engine", "sqlerr"},
	"cmd/dpsql":               {"cmd/dpsql/internal/host", "cmd/dpsql/internal/render", "cmd/dpsql/internal/terminal", "engine", "internal/answerjson", "internal/audit", "internal/complete", "internal/exporter", "internal/importer", "internal/places", "internal/scram", "page/publish", "query", "server", "sqlerr", "sqlfront/syntax", "web"},
	"internal/audit":          {"accounting", "mechanisms/direct", "mechanisms/marginals", "mechanisms/projection", "mechanisms/smw", "noise", "noise/coin", "noise/law", "internal/period", "query", "source", "sqlerr"},
	"driver":                  {"engine", "query", "sqlerr"},
	"server":                  {"engine", "query", "internal/places", "internal/scram", "server/pgcatalog", "sqlerr", "sqlfront/syntax"}, // tokens and trees: a text is read once
	"server/pgcatalog":        {"sqlerr", "sqlfront/syntax"},                                                                             // plain data comes in: it cannot reach the file
	"engine":                  {"accounting", "catalog", "engine/internal/answer", "engine/internal/declare", "engine/internal/kind", "engine/internal/pay", "engine/internal/rows", "engine/internal/schemas", "engine/internal/view", "internal/complete", "internal/draft", "internal/exporter", "internal/importer", "internal/released", "mechanisms/direct", "mechanisms/smw", "noise/coin", "internal/period", "page", "page/publish", "query", "internal/scram", "source", "sqlerr", "sqlfront", "sqlfront/around", "sqlfront/syntax"},
	"engine/internal/answer":  {"accounting", "catalog", "engine/internal/kind", "engine/internal/pay", "engine/internal/rows", "engine/internal/schemas", "engine/internal/slots", "engine/internal/view", "internal/places", "internal/released", "mechanisms/direct", "mechanisms/smw", "noise/law", "internal/period", "sqlfront/post", "query", "source", "sqlerr", "sqlfront", "sqlfront/syntax"},
	"engine/internal/declare": {"accounting", "catalog", "engine/internal/kind", "engine/internal/pay", "engine/internal/rows", "engine/internal/schemas", "engine/internal/view", "internal/released", "mechanisms/direct", "mechanisms/projection", "mechanisms/smw", "noise/law", "internal/period", "query", "internal/scram", "source", "sqlerr", "sqlfront", "sqlfront/syntax"},
	"engine/internal/pay":     {"accounting", "catalog", "engine/internal/view", "mechanisms/direct", "noise", "noise/law", "internal/period", "source", "sqlerr"},
	"engine/internal/rows":    {"catalog", "engine/internal/pay", "engine/internal/schemas", "engine/internal/view", "mechanisms/smw", "noise/coin", "internal/period", "query", "source", "source/postgres", "sqlerr"},
	"engine/internal/schemas": {"catalog", "engine/internal/view", "internal/places", "query", "source", "sqlerr", "sqlfront", "sqlfront/syntax"},
	"engine/internal/slots":   {"internal/places", "sqlerr"},
	"engine/internal/view":    {"accounting", "catalog", "internal/released", "internal/period", "query", "source", "sqlerr", "sqlfront/syntax"},
	"sqlfront":                {"internal/calendar", "internal/period", "sqlfront/post", "query", "sqlerr", "sqlfront/syntax", "sqlfront/types", "internal/sqlvalue"},
	"sqlfront/syntax":         {"internal/calendar", "query", "sqlerr"},
	"internal/sqlvalue":       {"query"},
	"sqlfront/types":          {"query", "sqlfront/syntax", "internal/sqlvalue"},
	"sqlfront/post":           {"internal/calendar", "query", "internal/sqlvalue"},
	"sqlfront/around":         {"internal/calendar", "internal/places", "sqlfront/post", "query", "sqlerr", "sqlfront/syntax", "sqlfront/types", "internal/sqlvalue"}, // no catalog and no source: it cannot reach the file
	"source":                  {"internal/calendar", "internal/period", "query", "source/definition", "sqlerr", "internal/sqlvalue"},
	"source/definition":       {},
	"internal/draft":          {"query", "sqlerr", "sqlfront/syntax"},
	"internal/importer":       {"query", "sqlerr"},
	"internal/answerjson":     {"internal/released", "query", "sqlerr"},
	"internal/complete":       {"internal/released", "query", "sqlfront/syntax"},
	"internal/exporter":       {"internal/answerjson"},
	"internal/places":         {"sqlerr"},
	"internal/admissions":     {},
	"internal/mutate":         {}, // it changes sources, and runs go
	"internal/sealed":         {"sqlerr"},
	"internal/released":       {"internal/sealed", "internal/period", "accounting", "mechanisms/marginals", "mechanisms/projection", "mechanisms/smw", "sqlfront", "sqlfront/around", "sqlfront/post", "sqlfront/syntax", "query", "sqlerr"},
	"page":                    {"internal/complete", "internal/period", "internal/released", "query", "sqlerr", "sqlfront", "sqlfront/around", "sqlfront/syntax"}, // no catalog and no source: it has no file
	"page/publish":            {"internal/answerjson", "page", "sqlerr", "web/dist"},
	"page/wasm":               {"internal/answerjson", "internal/complete", "page", "sqlerr", "sqlfront/syntax"}, // the engine in a browser
	"engine/internal/kind":    {"accounting", "catalog", "engine/internal/pay", "engine/internal/rows", "engine/internal/view", "internal/released", "mechanisms/direct", "mechanisms/marginals", "mechanisms/projection", "mechanisms/smw", "noise", "noise/coin", "noise/law", "query", "source", "sqlerr", "sqlfront", "sqlfront/syntax"},
	"internal/seeds":          {}, // any test draws with them
	"internal/typecheck":      {}, // it reads sources
	"catalog":                 {"accounting", "catalog/internal/ledger", "internal/period", "query", "sqlerr"},
	"catalog/internal/ledger": {"accounting", "internal/period"},
	"mechanisms/direct":       {"noise", "noise/law", "query", "sqlerr"},
	"mechanisms/marginals":    {"internal/sealed", "noise", "noise/coin", "noise/law", "query", "sqlerr"},
	"mechanisms/projection":   {"internal/sealed", "noise", "noise/coin", "noise/law", "query", "sqlerr"},
	"mechanisms/smw":          {"internal/sealed", "noise", "noise/coin", "noise/law", "query", "sqlerr"},
	"examples/analyst":        {".", "sqlerr"}, // ordinary programs over database/sql
	"examples/ask":            {"."},
	"examples/dashboard":      {".", "sqlerr"},
	"examples/nightly":        {".", "sqlerr"},
	"examples/office":         {"internal/admissions"},
	"examples/plot":           {".", "sqlerr"},
	"web":                     {"engine", "internal/answerjson", "internal/complete", "internal/places", "internal/scram", "query", "sqlerr", "sqlfront/syntax", "web/dist"}, // no catalog: what it may, the engine says
	"web/build":               {},                                                                                                                                            // it bundles scripts
	"web/dist":                {},
	"web/journeys":            {"web/dist", "web/webtest"},
	"bench":                   {"accounting", "bench/baseline", "bench/report", "bench/workload", "engine", "mechanisms/direct", "mechanisms/marginals", "mechanisms/projection", "mechanisms/smw", "noise", "noise/coin", "noise/law", "sqlfront/post", "query", "internal/pgtest"},
	"bench/baseline":          {"mechanisms/smw", "noise", "noise/law", "query"},
	"bench/report":            {},
	"bench/workload":          {"query"},
	"clients":                 {},
	"clients/load":            {"clients", "internal/pgtest"},
	"clients/record":          {"clients", "internal/pgtest"},
	"clients/programs/pgx":    {}, // clients of a server: they know nothing of dpsql
	"clients/programs/pq":     {},
	"clients/programs/gorm":   {},
	"clients/programs/hello":  {},
	"accounting":              {"sqlerr"},
	"noise":                   {"noise/law", "sqlerr"},
	"noise/coin":              {"noise", "noise/law", "sqlerr"},
	"noise/law":               {"sqlerr"},
	"query":                   {"internal/calendar", "sqlerr"},
	"internal/calendar":       {},
	"internal/period":         {"internal/calendar", "query", "sqlerr"},
	"internal/scram":          {"sqlerr"},
	"sqlerr":                  {},

	"cmd/dpsql/internal/host":     {"sqlerr"},
	"cmd/dpsql/internal/render":   {"engine", "internal/answerjson", "internal/exporter", "sqlerr"},
	"cmd/dpsql/internal/terminal": {"engine", "internal/complete", "query", "sqlerr", "sqlfront/syntax"},

	"source/postgres": {"internal/calendar", "internal/period", "query", "source", "sqlerr"},
	// It starts servers for tests and for bench: no other line names it.
	"internal/pgtest": {},
	// It keeps files of tests in memory: any test may import it.
	"internal/scratch": {},
	// It holds packages to published figures, in their tests.
	"accounting/goldentest": {},
	// It adds up the weights of laws in many digits, for tests.
	"noise/law/lawtest": {},
	// It holds replies to their schema, in tests.
	"web/webtest": {},
}

// testArrows says what a package's tests may import beyond that.
var testArrows = map[string][]string{
	"examples/plot": {"engine"},                                          // its tests set a database up
	"cmd/dpsql":     {"noise", "internal/admissions", "internal/pgtest"}, // an audited mechanism draws from a source

	"page/publish":     {"query", "sqlfront/around"},
	"web":              {"server", "web/webtest"}, // what is measured beside it
	"driver":           {"internal/pgtest"},
	"engine":           {"internal/answerjson", "internal/sealed", "internal/pgtest", "mechanisms/marginals", "mechanisms/projection", "noise", "noise/law", "page", "sqlfront/post", "server"}, // a server's clock is what a user has
	"server":           {"internal/pgtest"},
	"source/postgres":  {"internal/pgtest"},
	"server/pgcatalog": {"internal/pgtest"},
	"sqlfront/around":  {"sqlfront"}, // which takes what is cut

	"accounting":             {"accounting/goldentest"},
	"internal/audit":         {"accounting/goldentest"},
	"mechanisms/direct":      {"accounting/goldentest"},
	"internal/released":      {"noise", "noise/coin", "noise/law"},             // its tests draw releases
	"engine/internal/answer": {"mechanisms/projection", "noise", "noise/coin"}, // so do these
	"mechanisms/marginals":   {"accounting"},
	"mechanisms/projection":  {"accounting/goldentest"},
	"noise":                  {"noise/law/lawtest"},
	"noise/law":              {"accounting/goldentest", "noise/law/lawtest"},
}

// kept says which packages may use an import from outside the module, or one
// below it, in code that is shipped. None means tests only.
var kept = map[string][]string{
	"log":                                    {"driver", "examples/ask", "examples/dashboard", "server", "web", "cmd/dpsql", "sqlerr"}, // what is logged is read by others than who asked: server logs no value, and sqlerr says what a log has of an error
	"math/rand":                              {"bench/workload", "internal/admissions", "internal/seeds"},                              // draw data, never noise
	"crypto/rand":                            {"noise", "internal/scram", "server", "web", "cmd/dpsql/internal/host"},                  // noise, salts, keys to cancel by and to log in with, certificates
	"github.com/xdg-go":                      {"internal/scram"},
	"gonum.org/v1/gonum":                     {"bench/report"},
	"gonum.org/v1/plot":                      {"examples/plot"}, // heavy: the product's go.mod is without it
	"pgregory.net/rapid":                     {"internal/seeds"},
	"github.com/google/differential-privacy": {},
	"github.com/google/jsonschema-go":        {"web/webtest"},
	"github.com/rogpeppe/go-internal":        {},
	"github.com/xwb1989/sqlparser":           {"sqlfront", "sqlfront/syntax"},
	"modernc.org/sqlite":                     {"catalog", "server/pgcatalog", "sqlfront/around"},
	"github.com/jackc/pgx":                   {"clients/load", "clients/programs/pgx", "clients/programs/gorm", "clients/programs/hello", "server", "source/postgres"},
	"github.com/gofrs/flock":                 {"catalog"},
	"github.com/olekukonko/tablewriter":      {"cmd/dpsql/internal/render", "cmd/dpsql/internal/terminal"},
	"github.com/reeflective/readline":        {"cmd/dpsql/internal/terminal"},
}

// maxFiles keeps a package one subject: no more files than this, tests not counted.
const maxFiles = 25

// goFile is what the rules look at in a file.
type goFile struct {
	path    string // from the top of the module, with slashes
	text    string
	imports []string
}

func (f goFile) pkg() string { return path.Dir(f.path) }

func (f goFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// faults returns the rules that the file breaks, in words.
func (f goFile) faults() []string {
	allowed, known := arrows[f.pkg()]
	if !known {
		return []string{fmt.Sprintf("%s: package %s has no line in arrows: add one, and draw it in ARCHITECTURE.md", f.path, f.pkg())}
	}
	if f.test() {
		allowed = slices.Concat(allowed, testArrows[f.pkg()], []string{"internal/seeds", "internal/scratch"})
	}
	var out []string
	for _, imported := range f.imports {
		if inner, ok := inModule(imported); ok && inner != f.pkg() && !slices.Contains(allowed, inner) {
			out = append(out, fmt.Sprintf("%s imports %q: %s may import only %v of the module", f.path, imported, f.pkg(), allowed))
		}
		for prefix, keepers := range kept {
			if !f.test() && within(imported, prefix) && !slices.Contains(keepers, f.pkg()) {
				out = append(out, fmt.Sprintf("%s imports %q: outside tests only %v may", f.path, imported, keepers))
			}
		}
	}
	return out
}

// crowd returns what is wrong with a package of n files, or "".
func crowd(pkg string, n int) string {
	if n > maxFiles {
		return fmt.Sprintf("%s has %d files, more than %d: is it one subject?", pkg, n, maxFiles)
	}
	return ""
}

// inModule returns the package's place in the module, if it is one of it.
func inModule(imported string) (string, bool) {
	if imported == "dpsql" {
		return ".", true
	}
	return strings.CutPrefix(imported, "dpsql/")
}

// within reports whether the import path is the prefix or lies below it.
func within(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

// moduleFiles reads every Go file of the module, whatever it is built for.
func moduleFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || hidden || filepath.Ext(name) != ".go":
			return nil
		}
		f, err := readFile(name)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readFile(name string) (goFile, error) {
	f := goFile{path: filepath.ToSlash(name)}
	text, err := os.ReadFile(name)
	if err != nil {
		return f, err
	}
	f.text = string(text)
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		return f, err
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// TestArrows holds the module to arrows, kept and maxFiles.
func TestArrows(t *testing.T) {
	seen, files := make(map[string]bool), make(map[string]int)
	for _, f := range moduleFiles(t) {
		seen[f.pkg()] = true
		if !f.test() {
			files[f.pkg()]++
		}
		for _, fault := range f.faults() {
			t.Error(fault)
		}
	}
	for pkg, n := range files {
		if fault := crowd(pkg, n); fault != "" {
			t.Error(fault)
		}
	}
	for pkg := range arrows {
		if !seen[pkg] {
			t.Errorf("arrows has a line for %s, where no Go file is", pkg)
		}
	}
}

// lexers are the packages that cut SQL into tokens. Whoever else needs the meaning of a text gets its
// tree. The terminal colours what is being typed, and is no statement yet.
var lexers = []string{"sqlfront/syntax", "source/definition", "cmd/dpsql/internal/terminal"}

// TestTextIsReadOnce: nobody else has a lexer, which would know the marks of comments. The parsers of
// others are held by kept.
func TestTextIsReadOnce(t *testing.T) {
	found := make(map[string]bool)
	for _, f := range moduleFiles(t) {
		if f.test() || !strings.Contains(f.text, `"/*"`) {
			continue
		}
		if found[f.pkg()] = true; !slices.Contains(lexers, f.pkg()) {
			t.Errorf("%s cuts SQL into tokens: sqlfront/syntax does so", f.path)
		}
	}
	for _, pkg := range lexers {
		if !found[pkg] {
			t.Errorf("%s is said to have a lexer, and has none", pkg)
		}
	}
}

// TestArrowsAreChecked shows that each rule finds its breach.
func TestArrowsAreChecked(t *testing.T) {
	for _, c := range []struct {
		file goFile
		want string // in the fault; "" for none
	}{
		{goFile{path: "source/a.go", imports: []string{"dpsql/query", "database/sql"}}, ""},
		{goFile{path: "source/a_test.go", imports: []string{"dpsql/source", "math/rand/v2"}}, ""},
		{goFile{path: "noise/a.go", imports: []string{"crypto/rand"}}, ""},
		{goFile{path: "a_test.go", imports: []string{"dpsql", "dpsql/engine"}}, ""},
		{goFile{path: "a.go", imports: []string{"dpsql/catalog"}}, `a.go imports "dpsql/catalog"`},
		{goFile{path: "source/a.go", imports: []string{"dpsql/catalog"}}, `source/a.go imports "dpsql/catalog"`},
		{goFile{path: "source/a_test.go", imports: []string{"dpsql/engine"}}, `source/a_test.go imports "dpsql/engine"`},
		{goFile{path: "query/a.go", imports: []string{"dpsql/noise"}}, `query/a.go imports "dpsql/noise"`},
		{goFile{path: "engine/a.go", imports: []string{"dpsql/driver"}}, `engine/a.go imports "dpsql/driver"`},
		{goFile{path: "cmd/dpsql/a.go", imports: []string{"dpsql"}}, `cmd/dpsql/a.go imports "dpsql"`},
		{goFile{path: "engine/a.go", imports: []string{"crypto/rand"}}, `engine/a.go imports "crypto/rand"`},
		{goFile{path: "engine/a.go", imports: []string{"math/rand/v2"}}, `engine/a.go imports "math/rand/v2"`},
		{goFile{path: "noise/a.go", imports: []string{"gonum.org/v1/gonum/stat"}}, `noise/a.go imports "gonum.org/v1/gonum/stat"`},
		{goFile{path: "bench/a.go", imports: []string{"math/rand/v2"}}, `bench/a.go imports "math/rand/v2"`},
		{goFile{path: "engine/a.go", imports: []string{"gonum.org/v1/plot"}}, `engine/a.go imports "gonum.org/v1/plot"`},
		{goFile{path: "engine/a.go", imports: []string{"dpsql/bench/report"}}, `engine/a.go imports "dpsql/bench/report"`},
		{goFile{path: "util/a.go"}, "package util has no line"},
	} {
		got := c.file.faults()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%+v: faults %q, want %q", c.file, got, c.want)
		}
	}
	if crowd("noise", maxFiles) != "" || !strings.Contains(crowd("noise", maxFiles+1), "noise has 26 files") {
		t.Errorf("crowd does not hold packages to %d files", maxFiles)
	}
}

// TestContextsCarryNoValues: what a function needs is among its arguments, where
// its callers see it. A context carries an end and nothing else, but for what a program tells
// the driver: database/sql hands on a context and no other argument.
func TestContextsCarryNoValues(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if f.test() {
			continue
		}
		if n := strings.Count(f.text, "context.WithValue("); n > 1 || n == 1 && f.path != "driver/settings.go" {
			t.Errorf("%s puts a value into a context", f.path)
		}
	}
}

// TestDrawsAreSeeded: what a test draws, beside noise, it draws in every run, so that none is red by
// chance. How long it sleeps is not drawn.
func TestDrawsAreSeeded(t *testing.T) {
	rapid, seeded := make(map[string]bool), make(map[string]bool)
	own := regexp.MustCompile(`\brand\.(Uint|Int|Float|Perm|Shuffle|N\()|(rand\.NewSource|NewPCG)\((uint64\()?time\.`)
	for _, f := range moduleFiles(t) {
		if !f.test() {
			continue
		}
		rapid[f.pkg()] = rapid[f.pkg()] || slices.Contains(f.imports, "pgregory.net/rapid")
		seeded[f.pkg()] = seeded[f.pkg()] || slices.Contains(f.imports, "dpsql/internal/seeds")
		for line := range strings.Lines(f.text) {
			if own.MatchString(line) && !strings.Contains(line, "time.Sleep(") && f.path != "arrows_test.go" {
				t.Errorf("%s draws without a seed of internal/seeds: %s", f.path, strings.TrimSpace(line))
			}
		}
	}
	for pkg := range rapid {
		if rapid[pkg] && !seeded[pkg] {
			t.Errorf("the tests of %s draw through rapid, and do not import internal/seeds", pkg)
		}
	}
}

// TestFilesRunDown: in an order of a package's files, fewer than 15 of 100 references between them run back up. A
// reference is a file that uses something of another. The order is searched for, and any will do.
func TestFilesRunDown(t *testing.T) {
	if !*long {
		t.Skip("checks types: -long does")
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports
	all, err := packages.Load(&packages.Config{Mode: mode}, "./sqlfront/syntax", "./sqlfront", "./server", "./server/pgcatalog", "./engine/internal/answer")
	if err != nil || len(all) != 5 {
		t.Fatal(len(all), err)
	}
	for _, p := range all {
		uses := make(map[[2]string]bool)
		for name, of := range p.TypesInfo.Uses {
			from, to := p.Fset.Position(name.Pos()).Filename, p.Fset.Position(of.Pos()).Filename
			if from != to && of.Pkg() == p.Types && of.Pos().IsValid() {
				uses[[2]string{from, to}] = true
			}
		}
		best := len(uses)
		for first := range p.GoFiles { // each begins a search
			best = min(best, fewestUp(slices.Concat(p.GoFiles[first:], p.GoFiles[:first]), uses))
		}
		if t.Logf("%s: %d of %d references run up", p.Types.Path(), best, len(uses)); best*100 >= 15*len(uses) {
			t.Errorf("in %s %d of %d references between files run back up", p.Types.Path(), best, len(uses))
		}
	}
}

// fewestUp moves files to where the fewest of their references run up, until no move helps, and returns how many do.
func fewestUp(order []string, uses map[[2]string]bool) (up int) {
	count := func(order []string) (n int) {
		for i, file := range order {
			for _, above := range order[:i] {
				if uses[[2]string{file, above}] {
					n++
				}
			}
		}
		return n
	}
	up = count(order)
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Clone(order) {
			rest := slices.DeleteFunc(slices.Clone(order), func(f string) bool { return f == file })
			for at := range order {
				if tried := slices.Insert(slices.Clone(rest), at, file); count(tried) < up {
					order, up, moved = tried, count(tried), true
				}
			}
		}
	}
	return up
}

// TestOnlyReceiptsAdmit: of all that is shipped, the receipts of engine/internal/pay
// alone are permits to read private rows.
func TestOnlyReceiptsAdmit(t *testing.T) {
	found := 0
	for _, f := range moduleFiles(t) {
		if f.test() {
			continue
		}
		if !regexp.MustCompile(`\) Admits\(\w* ?(source\.)?Table\)`).MatchString(f.text) {
			continue
		}
		if found++; f.pkg() != "engine/internal/pay" {
			t.Errorf("%s has a permit of its own", f.path)
		}
	}
	if found == 0 {
		t.Error("no permit is found at all")
	}
}

package engine_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xwb1989/sqlparser"

	"dpsql/engine"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// world is what the statements of a file of testdata/statements are asked of. The noise is always 0.
type world struct {
	name    string
	raw     func(t *testing.T) []string // statements for SQLite
	declare []string
}

var worlds = []world{
	{"visits", func(*testing.T) []string { return goldenTable }, append(slices.Clone(goldenPublic),
		fmt.Sprintf(goldenDeclaration, "epsilon = 1000, delta = 1e-6, interactive = 0.9"), goldenStays, goldenRelease(`transform = identity`))},
	{"clinic", func(t *testing.T) []string { return append(corpusRaw(t), `DELETE FROM raw_visits WHERE rowid % 10`) }, corpusDeclared},
	{"admissions", func(*testing.T) []string {
		return append(clinicRaw(400),
			`CREATE TABLE raw_people AS SELECT sex, age, zip, age % 7 AS n FROM raw_admissions`,
			`CREATE TABLE raw_days AS SELECT date('2024-01-01', age || ' days') AS day, datetime('2024-01-01', age || ' hours') AS at, age % 2 AS b FROM raw_admissions`,
			`CREATE TABLE raw_shifts AS SELECT time('2024-01-01', (age * 977) || ' seconds') AS began, CASE WHEN age % 7 THEN strftime('%H:%M', '2024-01-01', (age * 13) || ' minutes') END AS ended, age % 2 AS b FROM raw_admissions`)
	}, []string{`CREATE PUBLIC TABLE icd10`,
		`CREATE PRIVATE TABLE admissions (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, diagnosis TEXT IN (SELECT code FROM icd10), zip TEXT)
			FROM raw_admissions WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`,
		`CREATE PRIVATE TABLE people (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, zip TEXT, n INTEGER BETWEEN 0 AND 6)
			FROM raw_people WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`,
		`CREATE PRIVATE TABLE t (day DATE BETWEEN '2024-01-01' AND '2024-12-31', at TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-31' STEP '1 hour', b BOOLEAN)
			FROM raw_days WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`,
		`CREATE PRIVATE TABLE shifts (began TIME STEP '15 minutes', ended TIME BETWEEN '08:00' AND '17:45' STEP '15 minutes' OR NULL CLAMP, b BOOLEAN)
			FROM raw_shifts WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`,
		`CREATE RELEASE adm_cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1, transform = identity)`}},
}

// make declares the tables of a world, and a user to whom nothing is granted.
func (w world) make(t *testing.T) *engine.DB {
	db := open(t, filepath.Join(t.TempDir(), w.name+".db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, w.raw(t)...)
	for _, text := range append(slices.Clone(w.declare), `CREATE USER eve PASSWORD 'a password of hers'`) {
		must(t, s, text)
	}
	return db
}

// TestStatements holds statements to what they gave when they were recorded: what is read, the types
// that are foreseen, the answer under no noise, and the refusal, its position and its hint; for the
// curator, and for a user to whom nothing is granted. The statements are those of the documentation,
// of the tests and of testdata, each of them once. All of them run with -long, or by -run; else the
// first tenth: an answer hangs on what was asked before.
//
// go test ./engine -run '^TestStatements$' -update records anew.
func TestStatements(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("../testdata/statements", w.name+".txt")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			db := w.make(t)
			curator, eve := db.NewSession(), db.NewUserSession("eve")
			records := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"+parting+"\n")
			if !*long && !*update && !named() {
				records = records[:len(records)/10]
			}
			var out strings.Builder
			for _, record := range records {
				text, want, _ := strings.Cut(record, "\n"+mark)
				got := mark + strings.Join(recorded(t, curator, eve, text), "\n"+mark)
				if !*update && got != mark+want {
					t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, mark+want)
				}
				if sets.MatchString(text) {
					curator, eve = db.NewSession(), db.NewUserSession("eve")
				}
				if out.Len() > 0 {
					out.WriteString(parting + "\n")
				}
				out.WriteString(text + "\n" + got + "\n")
			}
			if *update {
				if err := os.WriteFile(path, []byte(out.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// parting stands between two records.
const parting = "================"

// asks reports whether a statement changes nothing, so that it can be run here.
var asks = regexp.MustCompile(`(?is)^(\s|\(|--[^\n]*\n|/\*.*?\*/)*(SELECT|WITH|VALUES|EXPLAIN|SHOW|DESCRIBE|SET|RESET|ADVISE)\b`)

// sets reports whether a statement may leave something in its session.
var sets = regexp.MustCompile(`(?i)\b(RE)?SET\b`)

// makes reports whether EXPLAIN tells what a statement would make.
var makes = regexp.MustCompile(`(?is)^\s*CREATE\s+(RELEASE|MECHANISM)\b`)

// clocked reports whether an answer hangs on the time of day.
var clocked = regexp.MustCompile(`(?i)\bnow\b|\bcurrent_|SHOW LEDGER|SHOW USERS`)

// recorded says what becomes of a statement.
func recorded(t *testing.T, curator, eve *engine.Session, text string) (out []string) {
	if parsed, err := syntax.Parse(text); err == nil {
		if s, ok := parsed.(*syntax.Select); ok {
			out = append(out, "tree: "+treeOf(s))
		}
	}
	if p, err := engine.Prepare(text); err == nil {
		for _, core := range curator.Cores(t.Context(), p) {
			if tree := "tree: " + treeOf(core); !slices.Contains(out, tree) {
				out = append(out, "core: "+treeOf(core))
			}
		}
	}
	became := whatBecomes(t, curator, text)
	out = append(out, became...)
	if hers := whatBecomes(t, eve, text); !slices.Equal(hers, became) {
		for _, line := range hers {
			out = append(out, "eve: "+line)
		}
	}
	return out
}

// whatBecomes says what a session foresees of a statement, and what it gives.
func whatBecomes(t *testing.T, s *engine.Session, text string) (out []string) {
	must(t, s, `SET accuracy = 100000`)
	p, err := engine.Prepare(text)
	if err != nil {
		return outcome{err: err}.lines()
	}
	if types, err := s.ParameterTypes(t.Context(), p); err == nil && len(types) > 0 {
		out = append(out, fmt.Sprintf("takes: %v", types))
	}
	if columns, err := s.Columns(t.Context(), p, nil); err == nil && len(columns) > 0 {
		said := "foreseen:"
		for _, c := range columns {
			said += fmt.Sprintf(" %s %v,", c.Name, c.SQL)
		}
		out = append(out, strings.TrimSuffix(said, ","))
	} else if err != nil {
		said := outcome{err: err}.lines()
		if _, again := s.ExecPrepared(t.Context(), p, nil); again == nil || again.Error() != err.Error() {
			said[0] = "foreseen: " + said[0]
		}
		return append(out, said...)
	}
	var o outcome
	switch {
	case makes.MatchString(text):
		o.result, o.err = s.Exec(t.Context(), "EXPLAIN "+text, nil)
	case asks.MatchString(text):
		o.result, o.err = s.ExecPrepared(t.Context(), p, nil)
	default:
		return append(out, "reads")
	}
	if e := (*sqlerr.Error)(nil); errors.As(o.err, &e) && e.Code == sqlerr.Internal {
		t.Errorf("%s: %v", text, o.err)
	}
	lines := o.lines()
	if clocked.MatchString(text) {
		lines = lines[:min(1, len(lines))]
	}
	const most = 9
	if len(lines) > most {
		h := fnv.New64a()
		h.Write([]byte(strings.Join(lines[most:], "\n")))
		lines = append(lines[:most:most], fmt.Sprintf("and %d lines, %x", len(lines)-most, h.Sum64()))
	}
	return append(out, lines...)
}

// places are the names and values of a tree, which it has as the places where they stand.
var places = regexp.MustCompile("`?i[0-9]+`?|:v[0-9]+")

// treeOf writes the tree that a SELECT is read as.
func treeOf(s *syntax.Select) string {
	var parts []string
	put := func(of string, n sqlparser.SQLNode) {
		text := places.ReplaceAllStringFunc(sqlparser.String(n), func(place string) string {
			switch k, _ := s.Tokens.Token(strings.Trim(place, "`")); k.Kind {
			case syntax.KindParameter:
				return fmt.Sprintf("?%d", k.Parameter)
			case syntax.KindWord:
				return strings.ToUpper(k.Value)
			default:
				return "'" + k.Value + "'"
			}
		})
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, strings.TrimSpace(of+" "+text))
		}
	}
	if s.Distinct {
		parts = append(parts, "distinct")
	}
	for _, item := range s.List {
		if item.Star != nil {
			put("", item.Star)
			continue
		}
		put("", item.Expr)
	}
	if s.Where != nil {
		put("where", s.Where)
	}
	put("", s.GroupBy)
	if s.Having != nil {
		put("having", s.Having)
	}
	put("", s.OrderBy)
	put("", s.Limit)
	return strings.Join(parts, "; ")
}

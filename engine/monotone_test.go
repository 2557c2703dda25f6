package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
)

// flags is a table of twenty columns of two values. Six rows of seven have a 1 in all of
// them. In the seventh a third of the columns are 0, so few of those rows have 18 ones.
const (
	flagColumns = 20
	flagRows    = 30_000
)

func flagNames() (names []string) {
	for j := range flagColumns {
		names = append(names, fmt.Sprintf("f%d", j))
	}
	return names
}

func flags(t testing.TB, path string) *engine.Session {
	t.Helper()
	s := open(t, path, engine.Options{}).NewSession()
	var values []string
	for j := range flagColumns {
		values = append(values, fmt.Sprintf("i %% 7 <> 0 OR (i * %d >> 16) %% 3 <> 0", 2654435761*(2*j+1)))
	}
	fill(t, s, `CREATE TABLE raw_flags (`+strings.Join(flagNames(), " INTEGER, ")+` INTEGER)`,
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO raw_flags SELECT %s FROM n`, flagRows-1, strings.Join(values, ", ")))
	must(t, s, `CREATE PRIVATE TABLE flags (`+strings.Join(flagNames(), " INTEGER BETWEEN 0 AND 1, ")+` INTEGER BETWEEN 0 AND 1)
		FROM raw_flags WITH (epsilon = 8, delta = 1e-6, interactive = 0)`)
	return s
}

// flagCells counts the rows by the set of columns that are 1.
func flagCells(t testing.TB, s *engine.Session) map[uint32]int64 {
	t.Helper()
	list := strings.Join(flagNames(), ", ")
	rows, err := plain(t, s).Query(`SELECT count(*), ` + list + ` FROM raw_flags GROUP BY ` + list)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cells := make(map[uint32]int64)
	for rows.Next() {
		var n int64
		values := make([]uint32, flagColumns)
		to := []any{&n}
		for j := range values {
			to = append(to, &values[j])
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		x := uint32(0)
		for j, v := range values {
			x |= v << j
		}
		cells[x] = n
	}
	return cells
}

// TestMonotoneConjunctions builds the paper's release of C_{d−k} for d = 20 and k = 2 over
// 2²⁰ records. Each of its 211 conjunctions must be within the margin: false-failure rate
// 1e-7. The start is uniform, so the first conjunction fires, 25,000 off. The others then
// differ from it by less than 100, so another fires only if noise passes 0.4·x_β, in one
// of twelve releases. Nine of them, each in a run of its own, have a probability below
// 1e-7.
func TestMonotoneConjunctions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.db")
	s := flags(t, path)
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE cube ON flags USING SMW WITH (epsilon = 4, free_columns = 2)`) // 5e7 conjunctions
	must(t, s, `CREATE RELEASE cube ON flags USING SMW WITH (epsilon = 4, free_columns = 2, class = monotone, max_updates = 10, prior = uniform, beta = 1e-7)`)
	cells := flagCells(t, s)
	s.DB().Close()
	s = open(t, path, engine.Options{}).NewSession()
	method := must(t, s, `SHOW RELEASES`).Rows[0][3].(string)
	t.Log(method)
	if !strings.HasPrefix(method, "smw, monotone conjunctions, free columns: 2 at most") || strings.Contains(method, " 0 updates") {
		t.Errorf("the release is %q, or it never learned", method)
	}
	must(t, s, `SET confidence = 0.9999999`)
	worst, margin, asked := 0.0, 0.0, 0
	var all []uint32
	for fixed := range uint32(1 << flagColumns) {
		if bits.OnesCount32(fixed) >= flagColumns-2 {
			all = append(all, fixed)
		}
	}
	for _, fixed := range some(t, 8, all) {
		asked++
		r := must(t, s, monotone(fixed))
		if !r.Answer.Verified || r.Answer.Via != "cube" {
			t.Fatalf("%s: %+v", monotone(fixed), r.Answer)
		}
		want := int64(0)
		for x, n := range cells {
			if x&fixed == fixed {
				want += n
			}
		}
		margin = r.Answer.Margins[0][0].(float64)
		worst = max(worst, math.Abs(float64(r.Rows[0][0].(int64)-want)))
	}
	t.Logf("%d conjunctions, the worst off by %.0f of ±%.0f", asked, worst, margin)
	if len(all) != 211 || worst > margin {
		t.Errorf("%d conjunctions, the worst off by %.0f of ±%.0f", asked, worst, margin)
	}
	if r := must(t, s, monotone(1<<flagColumns-1)+` AND f0 = 1`); !r.Answer.Verified {
		t.Error("a conjunction of the class in other words has no error bar")
	}
	if r := must(t, s, monotone(1<<flagColumns-2)+` AND f0 = 0`); r.Answer.Verified {
		t.Error("a conjunction that asks for a 0 has an error bar")
	}
	refused(t, s, sqlerr.Uncovered, monotone(1<<(flagColumns-3)-1)) // three free
}

// monotone returns a query for the rows in which these columns are 1.
func monotone(fixed uint32) string {
	var where []string
	for j, name := range flagNames() {
		if fixed>>j&1 == 1 {
			where = append(where, name+" = 1")
		}
	}
	return `SELECT COUNT(*) FROM flags WHERE ` + strings.Join(where, " AND ")
}

// TestMonotoneClassIsItsDefinition compares the class with Q_S(x) = ∏_{i∈S} x_i for all S
// of at least d − k columns, over columns of two values in each way to declare them. It
// asks the class about every product of sets. The greater value is the true one: 1, 'yes',
// and 1 again beside NULL.
func TestMonotoneClassIsItsDefinition(t *testing.T) {
	t.Parallel()
	yes := []query.Value{query.Int(1), query.Text("yes"), query.Int(1)}
	no := []query.Value{query.Int(0), query.Text("no"), query.Null()}
	var columns []query.Column
	for j, d := range []string{"flag", "word", "known"} {
		list, err := query.NewList([]query.Type{query.TypeInteger, query.TypeText, query.TypeInteger}[j], []query.Value{yes[j], no[j]})
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, query.Column{Name: d, Domain: list})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 5 {
		c, err := released.Conjunctions(u, k, true)
		if err != nil {
			t.Fatal(err)
		}
		listed := make(map[[32]byte]bool)
		for q := range c.Queries() {
			listed[q.Digest()] = true
		}
		in, support := 0, uint64(0)
		for i := range 64 { // for each column: nothing, no, yes, or both
			q, literals, free := query.All(u), 0, 0
			for j, column := range columns {
				d := column.Domain
				of := i >> (2 * j) & 3
				q, _ = q.And(query.Where(u, j, []query.Set{d.None(), d.SetOf(no[j]), d.SetOf(yes[j]), d.All()}[of]))
				literals += map[int]int{2: 1}[of]
				free += map[int]int{3: 1}[of]
			}
			want := literals+free == len(columns) && free <= k
			if listed[q.Digest()] != want || c.Contains(q) != want {
				t.Errorf("k = %d: %v is listed %v, contained %v, want %v", k, q, listed[q.Digest()], c.Contains(q), want)
			}
			if want {
				m, _ := q.SizeWithin(math.MaxUint64)
				in, support = in+1, max(support, m)
			}
		}
		if n, m := c.Size(); int(n) != in || uint64(m) != support || in != len(listed) {
			t.Errorf("k = %d: %v queries of support %v at most, want %d, %d; listed %d", k, n, m, in, support, len(listed))
		}
	}
}

// TestMonotoneClassIsRefused tries class where it has no meaning. Nothing is charged.
func TestMonotoneClassIsRefused(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	before := ledger(t, s)
	for with, want := range map[string]string{
		`class = monotone`:                     "free_columns",
		`class = all`:                          "free_columns",
		`workload = 'w.sql', class = monotone`: "free_columns",
		`free_columns = 1, class = some`:       "all, monotone",
		`free_columns = 1, class = monotone`:   "sex has 3",
	} {
		e := refused(t, s, sqlerr.Invalid, `CREATE RELEASE r ON admissions (age, sex) USING SMW WITH (epsilon = 1, `+with+`)`)
		if !strings.Contains(e.Message, want) || e.Hint == "" && e.Position == 0 {
			t.Errorf("%s: %v (%s)", with, e, e.Hint)
		}
	}
	if ledger(t, s) != before {
		t.Error("a refused release has cost something")
	}
}

// TestRehearsalOfAMonotoneClass plans a class over a column whose domain is read from a
// table that does not exist yet. Whether it has two values is unknown, and the release is
// planned. If the domain is known the release is refused as in a run.
func TestRehearsalOfAMonotoneClass(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "new.db"), engine.Options{}).NewSession()
	r := rehearsal(t, s)
	plan := func(text string) (*engine.Result, error) { return r.Plan(context.Background(), text, nil) }
	for _, text := range []string{`CREATE PUBLIC TABLE words`,
		`CREATE PRIVATE TABLE p (a INTEGER BETWEEN 0 AND 1, b TEXT IN (SELECT word FROM words), c INTEGER BETWEEN 0 AND 9)
			FROM raw WITH (epsilon = 2, delta = 1e-6)`} {
		if _, err := plan(text); err != nil {
			t.Fatal(err)
		}
	}
	out, err := plan(`CREATE RELEASE r ON p (a, b) USING SMW WITH (epsilon = 0.25, free_columns = 1, class = monotone)`)
	if err != nil || !strings.Contains(fmt.Sprint(out.Rows), "the domain of b is read from words") {
		t.Errorf("%v, %v", out, err)
	}
	_, err = plan(`CREATE RELEASE q ON p (a, c) USING SMW WITH (epsilon = 0.25, free_columns = 1, class = monotone)`)
	if sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a column of ten values: %v", err)
	}
}

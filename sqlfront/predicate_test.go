package sqlfront_test

import (
	"database/sql"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// chooser draws a number below n, which is positive.
type chooser func(n int) int

func (c chooser) of(values ...string) string { return values[c(len(values))] }

// fuzzTable is a table with a random schema and random rows.
type fuzzTable struct {
	u           *query.Universe
	definitions string // of the columns, in SQL
	rows        [][]query.Value
	db          *sql.DB
}

func (fuzzTable) Name() string                { return "t" }
func (s fuzzTable) Universe() *query.Universe { return s.u }

var sampleTexts = []string{"", "a", "B", "b", "ab", "aBc", "10", "-1", "2.5", " 3", "1e1", "it's", "é", "%", "_", "éa%"}

// drawDomain returns a domain, the last kind without bounds.
func drawDomain(c chooser, kind int) (query.Domain, error) {
	var values []query.Value
	if c(2) == 0 {
		values = append(values, query.Null())
	}
	switch kind {
	case 0, 1, 2:
		lo := int64(c(9) - 4)
		return query.NewRange(lo, lo+int64(c(7)), len(values) > 0)
	case 7: // wide
		lo := []int64{-150, 1<<62 - 100, -1 << 63, 1<<63 - 301, 0}[c(5)]
		return query.NewRange(lo, lo+300, len(values) > 0)
	case 3:
		for i, n := range []int64{-1 << 63, -7, 0, 5, 1 << 53, 1<<63 - 1} {
			if c(2) == 0 || i == 0 {
				values = append(values, query.Int(n))
			}
		}
		return query.NewList(query.TypeInteger, values)
	case 4, 5:
		for i, s := range sampleTexts {
			if c(3) == 0 || i == 0 {
				values = append(values, query.Text(s))
			}
		}
		return query.NewList(query.TypeText, values)
	}
	return query.Unbounded(), nil
}

func drawTable(t failer, c chooser) fuzzTable {
	columns := make([]query.Column, 1+c(4))
	definitions := make([]string, len(columns))
	for i := range columns {
		kinds := 8
		if i > 0 {
			kinds = 7 // two wide ones take long
		}
		d, err := drawDomain(c, c(kinds))
		if err != nil {
			t.Fatal(err)
		}
		columns[i] = query.Column{Name: string(rune('a' + i)), Domain: d}
		definitions[i] = columns[i].Name + " " + d.Type().String()
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return fuzzTable{u: u, definitions: strings.Join(definitions, ", ")}
}

// draw adds random rows.
func (s *fuzzTable) draw(c chooser) {
	for range 40 {
		row := make([]query.Value, len(s.u.Columns()))
		for i, col := range s.u.Columns() {
			switch size := col.Domain.Size(); {
			case size > 0:
				row[i] = col.Domain.Value(uint64(c(int(size))))
			case c(8) > 0:
				row[i] = query.Text(append(sampleTexts, "zz")[c(len(sampleTexts)+1)])
			}
		}
		s.rows = append(s.rows, row)
	}
}

// fill makes the SQLite table; the rowid of a row is its index plus 1.
func (s *fuzzTable) fill(t failer) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	s.db = db
	rows := make([]string, len(s.rows))
	for i, row := range s.rows {
		values := make([]string, len(row))
		for k, v := range row {
			values[k] = v.String()
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	_, err = db.Exec("CREATE TABLE t (" + s.definitions + "); INSERT INTO t VALUES " + strings.Join(rows, ", "))
	if err != nil {
		t.Fatal(err)
	}
}

// anyRows returns a chooser for rows that is determined by its seed.
func anyRows(seed int) chooser { return rand.New(rand.NewSource(int64(seed))).Intn }

// selected returns the rows that SQLite selects.
func (s fuzzTable) selected(where string) ([]bool, error) {
	rows, err := s.db.Query("SELECT rowid FROM t WHERE " + where)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	in := make([]bool, len(s.rows))
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		in[id-1] = true
	}
	return in, rows.Err()
}

// checkPredicate holds the query of a random condition on a random table to
// the rows that SQLite selects. It returns the refusal, if any.
func checkPredicate(t failer, c, rows chooser) (string, error) {
	table := drawTable(t, c)
	s := &speaker{c: c, u: table.u, left: 2 + c(12)}
	text := s.condition()
	statement, err := syntax.Parse("SELECT COUNT(*) FROM t WHERE " + text)
	var b *sqlfront.Bound
	if err == nil {
		b, err = sqlfront.Bind(statement.(*syntax.Select), table, nil)
	}
	if err != nil {
		return text, err
	}
	table.draw(rows)
	table.fill(t)
	defer table.db.Close()
	in, err := table.selected(text)
	if err != nil && strings.Contains(err.Error(), "integer overflow") {
		return text, nil // of abs(): then there is no result to agree with
	}
	if err != nil {
		t.Fatalf("%s: accepted, and SQLite says %v", text, err)
	}
	for i, row := range table.rows {
		if got := counted(b).Weight(row) == 1; got != in[i] {
			t.Fatalf("%s on %v of %v: got %v, SQLite says %v; compiled to %.2000v", text, row, describeColumns(table.u), got, in[i], counted(b))
		}
	}
	return text, nil
}

// counted returns the query of a SELECT COUNT(*).
func counted(b *sqlfront.Bound) query.Query { return b.Queries[0] }

func describeColumns(u *query.Universe) string {
	text := ""
	for _, c := range u.Columns() {
		text += fmt.Sprintf("%s %v %v; ", c.Name, c.Domain.Type(), c.Domain)
	}
	return text
}

// TestPredicatesAgainstSQLite compares random conditions with SQLite. Those
// that are refused are counted: most must not be.
func TestPredicatesAgainstSQLite(t *testing.T) {
	drawn, compared := 0, 0
	reasons := make(map[string]int)
	rapid.Check(t, func(rt *rapid.T) {
		drawn++
		text, err := checkPredicate(rt,
			func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }, anyRows(drawn))
		switch code := sqlerr.CodeOf(err); {
		case err == nil:
			compared++
		case code == sqlerr.Unsupported || code == sqlerr.Invalid || code == sqlerr.Malformed:
			reasons[err.Error()]++
		default:
			rt.Fatalf("%s: %v", text, err)
		}
	})
	t.Logf("compared %d of %d conditions; refused: %v", compared, drawn, reasons)
	// Three quarters are: of 100 less than half with probability 1e-8.
	if compared*2 < drawn {
		t.Errorf("only %d of %d conditions were compared", compared, drawn)
	}
}

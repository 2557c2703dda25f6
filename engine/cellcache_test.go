package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// trueCount counts in the way of a mechanism over all columns.
func trueCount(t testing.TB, s *engine.Session, text string) int64 {
	t.Helper()
	r := bindText(t, s, text)
	n, err := countNow(s.DB(), r, nil, r.Query)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func bindText(t testing.TB, s *engine.Session, text string) answer.Request {
	t.Helper()
	statement, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.DB().Current(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r, err := bindOne(s, v, statement.(*syntax.Select))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// loadNow makes loading pay at the next count over all columns of a table.
func loadNow(s *engine.Session, table int64) {
	c := &s.DB().Rows().Cache
	c.Mu.Lock()
	defer c.Mu.Unlock()
	state := c.Get(keyOfCells(table, nil))
	state.Spent, state.Price = 1, 1
}

// inMemory reports whether cells over all columns of the first table are held.
func inMemory(s *engine.Session) bool {
	c, table := &s.DB().Rows().Cache, firstTable(s).ID
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Get(keyOfCells(table, nil)).Histogram != nil
}

// TestCellsAreLoadedWhenItPays counts until the cells are in memory, and again after each
// change that may have affected the rows.
func TestCellsAreLoadedWhenItPays(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	// This buys N̂. Without it a million rows are assumed, and loading pays only after
	// seconds.
	must(t, s, `CREATE MECHANISM m ON admissions (age) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 5)`)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	const q = `SELECT COUNT(*) FROM admissions WHERE age < 10 AND zip IN ('15211', '15212')`
	for i := 0; !inMemory(s); i++ {
		if got := trueCount(t, s, q); got != 160 {
			t.Fatalf("count %d: %d, want 160", i, got)
		}
		if i > 100_000 {
			t.Fatal("the cells are never loaded")
		}
	}
	if got := trueCount(t, s, q); got != 160 || !inMemory(s) {
		t.Errorf("from memory: %d, want 160", got)
	}
	must(t, s, `SET accuracy = 50`)
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 3`) // three commits of our own
	if got := trueCount(t, s, q); got != 160 || !inMemory(s) {
		t.Errorf("after own records: %d, want 160; still in memory: %v", got, inMemory(s))
	}
	const row = `INSERT INTO raw_admissions VALUES ('F', 5, 'E10', '15211')`
	for i, on := range []*engine.Session{other, s} {
		loadNow(s, firstTable(s).ID)
		trueCount(t, s, q)
		fill(t, on, row)
		if got := trueCount(t, s, q); got != int64(161+i) {
			t.Errorf("after a row of %d: %d, want %d", i, got, 161+i)
		}
	}
	loadNow(s, firstTable(s).ID)
	trueCount(t, s, q)
	fill(t, other, `ALTER TABLE raw_admissions ADD COLUMN more`)
	r := bindText(t, s, q)
	if _, err := countNow(s.DB(), r, nil, r.Query); err == nil {
		t.Error("a changed source is counted from memory")
	}
}

// TestPublicTablesAreLookedAtAgain counts from memory over a view whose table stops being
// public. That changes only this process's own records, so the cells stay.
func TestPublicTablesAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE VIEW coded AS SELECT a.age FROM raw_admissions a JOIN icd10 c ON c.code = a.diagnosis`)
	must(t, s, `CREATE PRIVATE TABLE coded (age INTEGER BETWEEN 0 AND 120) FROM coded WITH (epsilon = 4, delta = 1e-6)`)
	r := bindText(t, s, `SELECT COUNT(*) FROM coded WHERE age = 7`)
	loadNow(s, r.Table.ID)
	for range 2 {
		if n, err := countNow(s.DB(), r, nil, r.Query); err != nil || n != 40 {
			t.Fatalf("%d, %v, want 40", n, err)
		}
	}
	err := s.DB().Store().Write(context.Background(), func(tx *catalog.Tx) error { return tx.DropPublic("icd10") })
	if err != nil {
		t.Fatal(err)
	}
	if h := s.DB().Rows().Cache.Get(keyOfCells(r.Table.ID, nil)).Histogram; h == nil {
		t.Fatal("the cells are not in memory")
	}
	if _, err := countNow(s.DB(), r, nil, r.Query); err == nil {
		t.Error("rows of a table that is not public any more are counted")
	}
}

// TestCellsAreOneSnapshot counts while another connection adds rows in pairs, one to each
// of two cells, and this process writes its own records. A count of both cells must be
// even. It must have every pair that was there before it began, and none that began after
// it ended.
func TestCellsAreOneSnapshot(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "pairs.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a INTEGER)`)
	must(t, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 4, delta = 1e-6)`)
	writer, err := sql.Open("sqlite", "file:"+s.DB().Store().Path()+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	var begun, done atomic.Int64
	var readers sync.WaitGroup
	const pairs, rounds = 400, 4
	for i := range rounds {
		readers.Add(1)
		go func() {
			defer readers.Done()
			own := s.DB().NewSession()
			r := bindText(t, own, `SELECT COUNT(*) FROM t WHERE a IN (2, 7)`)
			for n := 0; done.Load() < pairs; n++ {
				if (n+i)%3 == 0 {
					loadNow(own, firstTable(own).ID)
				}
				least := 2 * done.Load()
				got, err := countNow(own.DB(), r, nil, r.Query)
				if most := 2 * begun.Load(); err != nil || got%2 != 0 || got < least || got > most {
					t.Errorf("counted %d (%v), want an even number from %d to %d", got, err, least, most)
					return
				}
			}
		}()
	}
	for i := range pairs {
		begun.Add(1)
		if _, err := writer.Exec(`INSERT INTO raw VALUES (2), (7)`); err != nil {
			t.Fatal(err)
		}
		done.Add(1)
		if i%50 == 0 {
			must(t, s, fmt.Sprintf(`CREATE MECHANISM m%d ON t USING SMW WITH (epsilon = 0.01)`, i))
		}
	}
	readers.Wait()
}

// TestMechanismCountsFromMemory asks a mechanism over some columns while its cells are in
// memory, and compares the counts with those of SQL.
func TestMechanismCountsFromMemory(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	columns := []int{0, 1}
	loaded := 0
	for age := int64(0); age < 40; age++ {
		r := bindText(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age BETWEEN %d AND %d`, age, 2*age))
		see := released.Cover(r.Query, columns, 1<<20)
		want, err := countInFile(s, r)
		if err != nil {
			t.Fatal(err)
		}
		if age == 5 {
			c := &s.DB().Rows().Cache
			c.Get(keyOfCells(r.Table.ID, columns)).Spent = 1 << 60
		}
		got, err := countNow(s.DB(), r, columns, see.Query)
		if err != nil || got != want {
			t.Errorf("ages %d to %d: %d, %v, want %d", age, 2*age, got, err, want)
		}
		if s.DB().Rows().Cache.Get(keyOfCells(r.Table.ID, columns)).Histogram != nil {
			loaded++
		}
	}
	if loaded != 35 {
		t.Errorf("%d of 40 counts came after loading, want 35", loaded)
	}
}

// TestCellsArePrintedNowhere searches for true counts in the printed forms of a database
// and a session that hold cells in memory.
func TestCellsArePrintedNowhere(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "counts.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a INTEGER)`, `INSERT INTO raw SELECT iif(i <= 27182, 3, 4) FROM `+numbers(31337))
	must(t, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 4, delta = 1e-6)`)
	r := bindText(t, s, `SELECT COUNT(*) FROM t WHERE a = 3`)
	loadNow(s, firstTable(s).ID)
	if n, err := countNow(s.DB(), r, nil, r.Query); err != nil || n != 27182 || !inMemory(s) {
		t.Fatalf("%d, %v, in memory: %v", n, err, inMemory(s))
	}
	held := s.DB().Rows().Cache.Get(keyOfCells(r.Table.ID, nil))
	encoded, err := json.Marshal(s.DB())
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(encoded)}
	for _, v := range []any{s, s.DB(), *s, held, *held, held.Histogram, *held.Histogram} {
		texts = append(texts, fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v))
	}
	// Numbers of their own, since addresses and times have any digits.
	counts := regexp.MustCompile(`\b(27182|31337|4155|(0x)?(6a2e|7a69|103b))\b`)
	for _, text := range texts {
		if found := counts.FindString(text); found != "" {
			t.Errorf("printed: %.300s", text)
		}
	}
}

// countInFile counts in the file, whatever is in memory.
func countInFile(s *engine.Session, r answer.Request) (n int64, err error) {
	err = s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		n, err = source.SQLite(tx.SQL()).Count(context.Background(), anyone{}, r.Table.Rows(), r.Query)
		return err
	})
	return n, err
}

// TestViewIsSharedUntilACommit gets the view repeatedly. It is the same one until a
// commit, and then a new one.
func TestViewIsSharedUntilACommit(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	now := func() *view.View {
		t.Helper()
		v, err := s.DB().Current(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := now()
	if now() != first {
		t.Error("the view was read again though nothing happened")
	}
	must(t, other, `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1)`)
	second := now()
	if second == first || second.Release("r") == nil {
		t.Fatal("a release of another database on the file is not seen")
	}
	must(t, s, `DROP RELEASE r`)
	if now().Release("r") != nil {
		t.Error("a dropped release is still seen")
	}
	if second.Release("r") == nil {
		t.Error("a view was changed while it may be in use")
	}
	third := now()
	program, err := sql.Open("sqlite", s.DB().Store().Path())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := program.Exec(`CREATE TABLE theirs (a)`); err != nil {
		t.Fatal(err)
	}
	if now() == third {
		t.Error("a commit of another program is not noticed at once")
	}
}

// TestOthersCommitsAreSeen runs every statement that uses the shared view immediately
// after another database on the file has changed it.
func TestOthersCommitsAreSeen(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	const q = `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`
	set := func(on *engine.Session, name, value string) {
		if err := on.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, s, sqlerr.Uncovered, q)
	set(other, "accuracy", "50")
	bought := count(t, other, q)
	if got := must(t, s, q); got.Rows[0][0] != bought || got.Answer.Cost != (engine.Cost{}) {
		t.Errorf("the other's answer %d is not served: %v at %v", bought, got.Rows[0][0], got.Answer.Cost)
	}
	if a, b := ledger(t, s), ledger(t, other); a != b {
		t.Error("the ledgers differ")
	}
	must(t, other, `CREATE PRIVATE TABLE again (age INTEGER BETWEEN 0 AND 9) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
	must(t, s, `DESCRIBE again`)
	must(t, other, `DROP PRIVATE TABLE again`)
	refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM again`)
}

// TestPublicViewsMayCallAnyFunction declares a public view whose functions can fail on a
// row, which reveals no secret. A private source may not call them.
func TestPublicViewsMayCallAnyFunction(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE VIEW codes AS SELECT json_extract('{"a": "' || code || '"}', '$.a') AS code, abs(length(label)) AS n FROM icd10`,
		`CREATE VIEW failing AS SELECT abs(age) AS age FROM raw_admissions`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	must(t, s, `CREATE PRIVATE TABLE coded (diagnosis TEXT IN (SELECT code FROM codes)) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE absolute (age INTEGER BETWEEN 0 AND 9) FROM failing WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Invalid, `CREATE PUBLIC TABLE failing`) // it reads private rows
}

// A table with texts of any kind has no codes for its cells. Direct answers about its other columns are counted from the cells
// over these, which are loaded when it pays, and anew when a row changes.
func TestDirectAnswersCountFromTheColumnsTheyName(t *testing.T) {
	t.Parallel()
	s, raw := freeTexts(t, 3000)
	s.DB().Rows().Cache.Mu.Lock()
	state := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, []int{0, 1}))
	state.Spent, state.Price = 1, 1
	s.DB().Rows().Cache.Mu.Unlock()
	held := func() bool {
		s.DB().Rows().Cache.Mu.Lock()
		defer s.DB().Rows().Cache.Mu.Unlock()
		return state.Histogram != nil
	}
	count := func(low int, want int64) {
		t.Helper()
		r := must(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM notes WHERE age >= %d AND sex = 'F'`, low))
		if got, _ := r.Rows[0][0].(int64); got < want-3 || got > want+3 {
			t.Errorf("age >= %d: %d, want %d", low, got, want)
		}
	}
	for low := range 5 {
		count(low, int64(30*(50-low/2)))
	}
	if !held() {
		t.Error("the cells were not loaded")
	}
	if _, err := raw.Exec(`INSERT INTO raw_notes SELECT 'F', 99, 'new' FROM raw_notes LIMIT 50`); err != nil {
		t.Fatal(err)
	}
	count(5, 30*(50-2)+50)
	must(t, s, `SELECT COUNT(*) FROM notes WHERE note = 'n7'`) // texts of any kind are looked up one by one
	count(6, 30*(50-3)+50)
}

// Several direct answers of a statement are counted from the cells over the columns that they name. These are kept for
// other statements, and read anew when a row changes.
func TestGroupsKeepTheirCells(t *testing.T) {
	t.Parallel()
	s, raw := freeTexts(t, 3000)
	count := func(low, want int64) {
		t.Helper()
		for _, row := range must(t, s, fmt.Sprintf(`SELECT sex, COUNT(*) FROM notes WHERE age >= %d GROUP BY sex`, low)).Rows {
			if got, _ := row[1].(int64); got < want-3 || got > want+3 {
				t.Errorf("age >= %d, %v: %d, want %d", low, row[0], got, want)
			}
		}
	}
	loaded := func(want bool) {
		t.Helper()
		s.DB().Rows().Cache.Mu.Lock()
		defer s.DB().Rows().Cache.Mu.Unlock()
		state := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, []int{0, 1}))
		if state.Histogram == nil || (state.Price != 1) != want {
			t.Errorf("loaded at the price %v, loaded now: want %v", state.Price, want)
		}
		state.Price = 1
	}
	count(2, 30*49)
	loaded(true)
	count(4, 30*48)
	loaded(false)
	if _, err := raw.Exec(`INSERT INTO raw_notes SELECT iif(age % 2, 'F', 'M'), 99, 'new' FROM raw_notes WHERE age < 10`); err != nil {
		t.Fatal(err)
	}
	count(6, 30*47+150)
	loaded(true)
}

// freeTexts returns a session over n rows with sex, age and a text of any kind, which answers directly, within 3 but
// with a chance below 1e-12; and a connection to the file.
func freeTexts(t testing.TB, n int) (*engine.Session, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notes.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	if _, err := raw.Exec(fmt.Sprintf(`CREATE TABLE raw_notes (sex TEXT, age INTEGER, note TEXT);
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO raw_notes SELECT CASE WHEN i %% 2 THEN 'F' ELSE 'M' END, i %% 100, 'n' || i FROM n`, n-1)); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, engine.Options{}).NewSession()
	must(t, s, `CREATE PRIVATE TABLE notes (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 120, note TEXT)
		FROM raw_notes WITH (epsilon = 1000, delta = 1e-6, interactive = 0.99)`)
	must(t, s, `SET accuracy = 0.5`)
	must(t, s, `SET mechanism = direct`)
	return s, raw
}

// BenchmarkDirectScript asks 100 different direct answers about 400,000 rows, one after the other. Seconds of processors: 2.6 for
// counts, 2.1 for those about one column, and 0.7 for groups. A statement that reads the rows takes about 0.5.
func BenchmarkDirectScript(b *testing.B) {
	for _, c := range []struct{ name, query string }{
		{"counts", `SELECT COUNT(*) FROM notes WHERE age >= %d AND age <= %d AND sex = 'F'`},
		{"columns", `SELECT COUNT(*) FROM notes WHERE age >= %d AND age <= %d`},
		{"groups", `SELECT sex, COUNT(*) FROM notes WHERE age >= %d AND age <= %d GROUP BY sex`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := freeTexts(b, 400_000)
			must(b, s, `SET accuracy = 500`)
			b.ResetTimer()
			for i := range b.N {
				for k := range 100 {
					n := (100*i + k) % 7000
					must(b, s, fmt.Sprintf(c.query, n%70, n%70+n/70%50))
				}
			}
		})
	}
}

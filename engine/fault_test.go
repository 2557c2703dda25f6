package engine_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/sqlerr"
)

// sound is an intact database with one of everything: a release, a mechanism with firings,
// agreed answers and an open run, direct answers. It is made once, and each fault uses a
// copy.
type sound struct {
	content                        []byte
	stored, agreed, direct, ledger *engine.Result // its answers
}

// Queries that a sound database has answered, and some that it has not.
const (
	askedOnce  = `SELECT COUNT(*) FROM ward WHERE age = 3` // by the mechanism, without firing: nobody is 3
	boughtOnce = `SELECT COUNT(*) FROM ward WHERE age = 4`
	askedNever = `SELECT COUNT(*) FROM ward WHERE age = 6 AND sex = 'F'`
	firing     = `SELECT COUNT(*) FROM ward WHERE age IN (10, 15, 20, 25, 30, 35, 40, 45)` // 800 rows of 2,000; 160 expected
)

// sure declares a mechanism with a threshold of 53 counts, τ of scale 1.3 and ν of scale
// 1.7. A query of one age without rows, for which the hypothesis expects at most 20, fires
// with probability below 1e-8. A query that is off by 160 or more does not fire with
// probability below 1e-20.
const sure = ` ON ward USING SMW WITH (epsilon = 200, max_updates = 60, max_support = 600, queries = 1000000, beta = 1e-6, prior = uniform)`

func newSound(t *testing.T) sound {
	t.Helper()
	soundOnce.Lock()
	defer soundOnce.Unlock()
	if soundOnce.made == nil {
		soundOnce.made = new(makeSound(t))
	}
	return *soundOnce.made
}

// soundOnce is the sound database of a process.
var soundOnce struct {
	sync.Mutex
	made *sound
}

func makeSound(t *testing.T) sound {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, wardTable("ward"), `CREATE MECHANISM m0`+sure, `CREATE RELEASE r0 ON ward USING PROJECTION WITH (epsilon = 1)`)
	db := open(t, path, engine.Options{})
	for _, age := range []int{50, 60, 70} {
		mustWith(t, db, "m0", fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (%d, %d)`, age, age+5))
	}
	if p, err := kind.ReadMechanism(new(mechanism(t, db.NewSession(), "m0"))); err != nil || p.Threshold != 53 {
		t.Fatalf("a threshold of %d, %v", p.Threshold, err)
	}
	var s sound
	s.agreed = mustWith(t, db, "m0", askedOnce)
	s.direct = mustWith(t, db, "direct", boughtOnce)
	s.stored = mustWith(t, db, "r0", boughtOnce)
	s.ledger = must(t, db.NewSession(), `SHOW LEDGER`)
	if n := len(history(t, db.NewSession(), "m0")); n != 3 {
		t.Fatalf("%d queries fired, want 3", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.content, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return s
}

func mustWith(t testing.TB, db *engine.DB, mechanism, text string) *engine.Result {
	t.Helper()
	r, err := patiently(func() (*engine.Result, error) { return askVia(db, mechanism, text) })
	if err != nil {
		t.Fatalf("%s by %s: %v", text, mechanism, err)
	}
	return r
}

// patiently does again what found the file busy. The waits of some tests are short, and on a
// busy machine a lease that is given back, or another test's disk, outlasts them.
func patiently(do func() (*engine.Result, error)) (r *engine.Result, err error) {
	for range 100 {
		if r, err = do(); sqlerr.CodeOf(err) != sqlerr.Busy {
			break
		}
	}
	return r, err
}

// refusedWith runs a query that must fail with a code.
func refusedWith(t testing.TB, db *engine.DB, code sqlerr.Code, mechanism, text string) {
	t.Helper()
	if r, err := askVia(db, mechanism, text); sqlerr.CodeOf(err) != code {
		t.Errorf("%s by %s: %v, want %s; %v", text, mechanism, err, code, r)
	}
}

// restore writes content as the database at path, without any other file beside it.
func restore(t testing.TB, path string, content []byte) {
	t.Helper()
	for _, beside := range []string{"-wal", "-shm", "-lease", "-mark"} {
		os.Remove(path + beside)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// goesOn checks that a database gives the same answers as before, and can still sell and
// build.
func (s sound) goesOn(t testing.TB, db *engine.DB) {
	t.Helper()
	for _, known := range []struct {
		mechanism, text string
		want            *engine.Result
	}{{"m0", askedOnce, s.agreed}, {"direct", boughtOnce, s.direct}, {"r0", boughtOnce, s.stored}} {
		if r := mustWith(t, db, known.mechanism, known.text); r.Rows[0][0] != known.want.Rows[0][0] || r.Answer.Cost != (engine.Cost{}) {
			t.Errorf("%s by %s: %v at a cost of %v, it was %v", known.text, known.mechanism, r.Rows, r.Answer.Cost, known.want.Rows)
		}
	}
	for _, text := range []string{`CREATE RELEASE late ON ward USING PROJECTION WITH (epsilon = 0.1)`, `DROP RELEASE late`,
		`CREATE MECHANISM late` + strings.Replace(sure, "200", "10", 1), `DROP MECHANISM late`} {
		mustWith(t, db, "auto", text)
	}
	mustWith(t, db, "direct", `SELECT COUNT(*) FROM ward WHERE age = 7`)
	mustWith(t, db, "m0", `SELECT COUNT(*) FROM ward WHERE age = 8`)
	audit(t, db)
}

// audit verifies the ledger, and the records against it.
func audit(t testing.TB, db *engine.DB) *picture {
	t.Helper()
	p, err := photograph(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.checkBudget(), p.checkRecords()); err != nil {
		t.Error(err)
	}
	return p
}

// exercise are statements that write, each in its own way.
func exercise(n int) [][2]string {
	return [][2]string{
		{"direct", fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (%d, %d)`, n%100, n/100)},
		{"m0", fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (%d, %d) AND sex = 'M'`, n%100, n/100)},
		{"m0", fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (10, 15, 20, 25, 30, 35, 40, 45, %d)`, n%100)},
		{"auto", fmt.Sprintf(`CREATE RELEASE x%d ON ward USING PROJECTION WITH (epsilon = 0.1)`, n)},
		{"auto", fmt.Sprintf(`CREATE MECHANISM y%d`, n) + strings.Replace(sure, "200", "10", 1)},
		{"auto", fmt.Sprintf(`DROP MECHANISM y%d`, n)},
		{"auto", wardTable(fmt.Sprintf("z%d", n))},
	}
}

// rounds returns how often to repeat something: n times, or a fifth of it with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// TestDiskFull fills the disk under an open database and then frees space. It does so at
// every distance from the end that makes a difference to the pages written.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	dir := tmpfs(t, len(s.content)+2<<20)
	path := filepath.Join(dir, "ward.db")
	restore(t, path, s.content)
	db := open(t, path, engine.Options{})
	mustWith(t, db, "direct", `SELECT COUNT(*) FROM ward WHERE age = 9`)
	full, done := 0, 0
	before := audit(t, db)
	for n := range rounds(20) {
		filler := filepath.Join(dir, "filler")
		fillDisk(t, filler, int64(n*7%20)*4096)
		for _, e := range exercise(n) {
			_, err := askVia(db, e[0], e[1])
			switch code := sqlerr.CodeOf(err); {
			case code == "":
				done++
			case code == sqlerr.IO:
				full++
				var told *sqlerr.Error
				if errors.As(err, &told); !strings.Contains(told.Message, "no space") || told.Hint == "" {
					t.Errorf("%s on a full disk: %v, hint %q", e[1], err, told.Hint)
				}
			case code == sqlerr.Unknown && strings.HasPrefix(e[1], "DROP"): // its creation failed
			default:
				t.Errorf("%s on a full disk: %v", e[1], err)
			}
		}
		_, err := photograph(db)
		if err != nil {
			t.Errorf("a full disk cannot be read: %v", err)
		}
		if n%8 == 0 { // a database that is opened then needs space for what SQLite keeps beside it
			db.Close()
			fillDisk(t, filler, int64(n/8%3)*4096)
			if db, err = engine.Open(path, engine.Options{}); err == nil {
				_, err = askVia(db, "direct", `SELECT COUNT(*) FROM ward WHERE age = 9`)
			}
			var e *sqlerr.Error
			if errors.As(err, &e) && (!strings.Contains(e.Message, "no space") || e.Hint == "") {
				t.Errorf("opened on a full disk: %v, hint %q", err, e.Hint)
			}
		}
		if err := errors.Join(os.Truncate(filler, 0), os.Remove(filler)); err != nil { // a process that another test starts may hold it open for a moment
			t.Fatal(err)
		}
		if db == nil {
			db = open(t, path, engine.Options{})
		}
		now := audit(t, db)
		if err := now.follows(before); err != nil {
			t.Error(err)
		}
		before = now
	}
	t.Logf("%d statements met a full disk, %d went through; %d direct answers and %d releases were charged and not stored",
		full, done, before.unstored(), before.unbuilt())
	if full == 0 {
		t.Error("the disk was never full")
	}
	s.goesOn(t, db)
}

// tmpfs mounts a small file system, if that is permitted.
func tmpfs(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", size), "tmpfs", dir).CombinedOutput()
	if err != nil {
		t.Skipf("no small file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fillDisk makes a file that leaves the given number of bytes free.
func fillDisk(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(0)
	for page := make([]byte, 4096); err == nil; {
		var n int
		n, err = f.Write(page)
		size += int64(n)
	}
	if err := f.Truncate(max(0, size-left)); err != nil {
		t.Fatal(err)
	}
}

// TestFileFull does the same without mounting: SQLite may add no more pages to the file.
func TestFileFull(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, s.content)
	db := open(t, path, engine.Options{})
	limit := func(pages int) { fill(t, db.NewSession(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)) }
	limit(1) // SQLite takes the present size instead
	full := tally{}
	before := audit(t, db)
	for n := range sized(0, 12, 30) { // the free pages of the file are used first
		for i, e := range exercise(n) {
			_, err := askVia(db, e[0], e[1])
			switch code := sqlerr.CodeOf(err); {
			case code == sqlerr.IO:
				full[fmt.Sprint("statement ", i)]++
			case code != "" && !strings.HasPrefix(e[1], "DROP"):
				t.Errorf("%s in a full file: %v", e[1], err)
			}
		}
	}
	now := audit(t, db)
	if err := now.follows(before); err != nil {
		t.Error(err)
	}
	t.Logf("%v\n%d direct answers and %d releases were charged and not stored", full, now.unstored(), now.unbuilt())
	if len(full) < 4 {
		t.Errorf("only %d kinds of statements met a full file", len(full))
	}
	limit(1 << 20)
	s.goesOn(t, db)
}

// field is the place of a record's value in a database file.
type field struct {
	name       string
	start, end int // of its bytes
}

// fields finds the values of the records of a table or an index. The bytes of a record that belong to
// no value are a field named "header". The names of an object's fields begin with its kind.
func fields(t *testing.T, content []byte, path, table string) (all []field) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var root int
	if err := raw.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&root); err != nil {
		t.Fatal(table, err)
	}
	names := columnNamesOf(t, raw, table)
	for _, n := range leaves(t, content, root) {
		at := (n - 1) * pageSize
		page := content[at : at+pageSize]
		for i := range int(binary.BigEndian.Uint16(page[3:])) {
			kind := ""
			record := recordFields(page, int(binary.BigEndian.Uint16(page[8+2*i:])), names)
			if k := slices.IndexFunc(record, func(f field) bool { return f.name == "kind" }); table == "dpsql_objects" && k >= 0 {
				kind = string(page[record[k].start:record[k].end]) + " "
			}
			for _, f := range record {
				all = append(all, field{kind + f.name, at + f.start, at + f.end})
			}
		}
	}
	return all
}

const pageSize = 4096

// The kinds of pages of SQLite's trees. Those of indexes are of tables WITHOUT ROWID too.
const tableInterior, tableLeaf, indexLeaf = 5, 13, 10

// leaves returns the numbers of the leaves of a tree.
func leaves(t *testing.T, content []byte, n int) (all []int) {
	t.Helper()
	page := content[(n-1)*pageSize : n*pageSize]
	switch page[0] {
	case tableLeaf, indexLeaf:
		return []int{n}
	case tableInterior:
		for i := range int(binary.BigEndian.Uint16(page[3:])) {
			child := binary.BigEndian.Uint32(page[binary.BigEndian.Uint16(page[12+2*i:]):])
			all = append(all, leaves(t, content, int(child))...)
		}
		return append(all, leaves(t, content, int(binary.BigEndian.Uint32(page[8:])))...)
	}
	t.Fatalf("page %d is of kind %d", n, page[0])
	return nil
}

// recordFields finds the values of the record that begins at a place of a page.
func recordFields(page []byte, start int, names []string) (all []field) {
	p := start
	varint(page, &p) // the record's length
	if page[0] == tableLeaf {
		varint(page, &p) // the row's id
	}
	value := p
	value += int(varint(page, &p))
	all = append(all, field{"header", start, value})
	for c, header := 0, value; p < header; c++ {
		size := valueSize(varint(page, &p))
		if size > 0 && value < len(page) { // the rest of a large one is elsewhere
			all = append(all, field{names[c], value, min(value+size, len(page))})
		}
		value += size
	}
	return all
}

func columnNamesOf(t *testing.T, db *sql.DB, table string) (all []string) {
	t.Helper()
	rows, err := db.Query(`SELECT name FROM (SELECT name, cid AS n FROM pragma_table_info(?1)
		UNION ALL SELECT COALESCE(name, 'id'), seqno FROM pragma_index_xinfo(?1)) ORDER BY n`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// varint reads a number as SQLite's records have them.
func varint(b []byte, at *int) (n uint64) {
	for i := range 9 {
		c := b[*at]
		*at++
		if i == 8 {
			return n<<8 | uint64(c)
		}
		n = n<<7 | uint64(c&0x7f)
		if c < 0x80 {
			break
		}
	}
	return n
}

// valueSize returns the length of a value of a serial type.
func valueSize(serial uint64) int {
	if serial >= 12 {
		return int(serial-12) / 2
	}
	return [...]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[serial]
}

// TestFaultsLetGo has statements end by a fault of dpsql in each of their steps. The session, and others, go on: a fault
// holds no lock, no transaction, no place and no lease. Without -long the session and another go on in turn. Steps that other goroutines take, as those of marginals, are left
// out: a fault of theirs ends the process.
func TestFaultsLetGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, wardTable("ward"), `CREATE MECHANISM m0`+sure)
	db := open(t, path, engine.Options{})
	s := db.NewSession()
	faults := 0
	for n, text := range []string{`CREATE RELEASE r%d ON ward USING PROJECTION WITH (epsilon = 1)`, `SELECT /*+ accuracy(1000), mechanism(direct) */ sex, COUNT(*) FROM ward WHERE age < %d GROUP BY sex`, `SELECT /*+ mechanism(m0) */ COUNT(*) FROM ward WHERE age = %d`} {
		for step := 1; ; step++ {
			steps := 0
			failing := func() {
				if steps++; steps == step {
					panic("a fault of the test")
				}
			}
			s.SetProgress(func(done, all int64) { failing() })
			s.SetConfirm(func(string) bool { failing(); return true })
			ended := func() (ended bool) {
				defer func() { recover() }()
				_, err := s.Exec(t.Context(), fmt.Sprintf(text, 10*step+n), nil) // a purchase has a goroutine of its own, which says what failed
				if err != nil && !strings.Contains(err.Error(), "dpsql itself failed at fault_test.go") {
					t.Error(err)
				}
				return err == nil
			}()
			s.SetProgress(nil)
			s.SetConfirm(nil)
			for i, other := range []*engine.Session{s, db.NewSession()} {
				if !*long && i == step%2 {
					continue
				}
				must(t, other, fmt.Sprintf(`CREATE RELEASE again%d%d%d ON ward USING PROJECTION WITH (epsilon = 1)`, n, step, i))
				must(t, other, `SELECT /*+ accuracy(1000), mechanism(direct) */ COUNT(*) FROM ward WHERE age > 10`)
				must(t, other, `SELECT /*+ mechanism(m0) */ COUNT(*) FROM ward WHERE age = 3`)
			}
			if ended {
				break
			}
			faults++
		}
	}
	t.Logf("%d faults", faults)
	if faults < 4 {
		t.Errorf("%d faults", faults)
	}
}

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/internal/sealed"
	"dpsql/internal/seeds"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
)

var flips = flag.Int("flips", 0, "bits that TestFlippedBits turns over in each column of each table; 0 means 1, or 4 with -long")

// trial is a statement. A noisy one says something new each time.
type trial struct {
	mechanism, text string
	noisy           bool
}

const other = `SELECT COUNT(*) FROM ward WHERE age = 7`

// firstWrite is the first trial that changes the file.
const firstWrite = 17

// trials read and use every kind of record. They run in order.
var trials = []trial{
	{"auto", `SHOW LEDGER`, false}, {"auto", `SHOW TABLES`, false}, {"auto", `DESCRIBE ward`, false}, {"auto", `SHOW BUDGET`, false},
	{"auto", `SHOW RELEASES`, false}, {"auto", `SHOW MECHANISMS`, false},
	{"auto", `SHOW USERS`, false}, {"auto", `SHOW GRANTS`, false},
	{"auto", `SHOW SOURCES`, false}, {"auto", `DESCRIBE afar`, false}, {"direct", `EXPLAIN SELECT COUNT(*) FROM afar WHERE age = 7`, false},
	{"r0", boughtOnce, false}, {"direct", boughtOnce, false}, {"m0", askedOnce, false},
	{"m0", `SELECT COUNT(*) FROM ward WHERE age IN (60, 65)`, false}, // fired
	{"m0", `EXPLAIN ` + askedNever, false}, {"direct", `EXPLAIN ` + askedNever, false},
	{"m0", askedNever, false}, // fires with probability below 1e-8
	{"direct", askedNever, true},
	{"auto", `CREATE PRIVATE TABLE again (diagnosis TEXT IN (SELECT code FROM codes)) FROM raw_ward WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`, true},
	{"auto", `CREATE SOURCE lake USING POSTGRES WITH (dsn_env = 'LAKE_DSN')`, false}, {"auto", `SHOW SOURCES`, true},
	{"auto", `DROP MECHANISM m0`, false}, {"auto", `SHOW BUDGET`, false},
	{"auto", `CREATE RELEASE r1 ON ward USING PROJECTION WITH (epsilon = 1)`, false}, {"r1", `EXPLAIN ` + other, false},
	{"auto", `CREATE MECHANISM m1` + sure, false}, {"m1", `EXPLAIN ` + other, false}, {"auto", `SHOW BUDGET`, false},
}

// tryAll runs the trials and returns their outcomes.
func tryAll(path string) (all []string) {
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return slices.Repeat([]string{refusedBecause(err)}, len(trials))
	}
	defer db.Close()
	for _, s := range trials {
		r, err := askVia(db, s.mechanism, s.text)
		if err != nil {
			all = append(all, refusedBecause(err))
			continue
		}
		text := fmt.Sprint(r.Columns, len(r.Rows), r.Warnings)
		if !s.noisy {
			text += fmt.Sprint(r.Rows)
		}
		if r.Answer != nil {
			a := *r.Answer
			if s.noisy {
				a.Intervals = nil
			}
			text += fmt.Sprint(a)
		}
		all = append(all, text)
	}
	return all
}

const refusedAs = "refused: "

func refusedBecause(err error) string { return refusedAs + err.Error() }

// knownContent is the sound database, with a public table and with things dropped, and the
// outcomes of its trials.
func knownContent(t *testing.T) (content []byte, says []string) {
	t.Helper()
	knownOnce.Lock()
	defer knownOnce.Unlock()
	if knownOnce.content == nil {
		knownOnce.content, knownOnce.says = makeKnown(t)
	}
	return knownOnce.content, knownOnce.says
}

// knownOnce is the database of knownContent, which a process makes once.
var knownOnce struct {
	sync.Mutex
	content []byte
	says    []string
}

func makeKnown(t *testing.T) (content []byte, says []string) {
	t.Helper()
	s := newSound(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, s.content)
	db := open(t, path, engine.Options{})
	fill(t, db.NewSession(), `CREATE TABLE codes (code TEXT)`, `INSERT INTO codes VALUES ('E10'), ('E11')`, `CREATE TABLE odd (a)`)
	for _, text := range []string{`CREATE PUBLIC TABLE codes`, `CREATE PUBLIC TABLE odd`, `DROP PUBLIC TABLE odd`, wardTable("gone"),
		`CREATE RELEASE gone0 ON gone USING PROJECTION WITH (epsilon = 1)`, `DROP RELEASE gone0`,
		`CREATE MECHANISM gone1` + strings.Replace(sure, "200", "10", 1), `DROP MECHANISM gone1`, `DROP PRIVATE TABLE gone`,
		`CREATE USER ana PASSWORD 'x-x-x-x-x'`, `CREATE USER bob PASSWORD 'x-x-x-x-x'`, `GRANT SELECT ON ward TO ana, bob WITH (rho = 1, charge = 0.1)`, `REVOKE SELECT ON ward FROM bob`, `DROP USER bob`} {
		must(t, db.NewSession(), text)
	}
	outsideOf(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	says = tryAll(path)
	for i, text := range says {
		if strings.HasPrefix(text, refusedAs) {
			t.Fatalf("%s: %s", trials[i].text, text)
		}
	}
	return content, says
}

// TestFlippedBits flips single bits of every column of every table of the catalog, and of
// its indexes, one at a time, of the objects those of every kind; by default of every sixteenth column, of which the seed says.
// It then runs statements that read and use all of them. Each must say what it said before,
// or be refused as corrupt. The bits are random, since there are too many to try all. The
// test fails only if a flipped bit changes an outcome, or, with probability below 1e-6 in
// all, if a query fires that should not.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, content)
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 3))
	met := seed % 16 // columns
	for _, table := range []string{"objects", "schema", "objects_live", "payloads", "history", "answers", "answer_counts", "answers_query", "ledger", "rolls"} {
		t.Run(table, func(t *testing.T) {
			noticed, harmless := tally{}, tally{}
			restore(t, path, content)
			byName := map[string][]field{}
			for _, f := range fields(t, content, path, "dpsql_"+table) {
				byName[f.name] = append(byName[f.name], f)
			}
			for _, name := range slices.Sorted(maps.Keys(byName)) {
				if met++; met%16 > 0 && !*long {
					continue
				}
				all := byName[name]
				for range sized(*flips, 1, 4) {
					f := all[random.IntN(len(all))]
					bit := 8*f.start + random.IntN(8*(f.end-f.start))
					flip(t, content, path, bit)
					if changed(t, fmt.Sprintf("bit %d of %s.%s", bit, table, name), tryAll(path), want) {
						noticed[name]++
					} else {
						harmless[name]++
					}
				}
			}
			t.Logf("noticed:%v\nof no effect:%v", noticed, harmless)
		})
	}
}

// TestStorageClasses flips the lowest bit of each byte of the headers of objects. This turns a
// text into a blob of the same bytes, and no outcome may change because of it. By default it flips every
// sixteenth byte, from one on that the seed says, and with -long each of them.
func TestStorageClasses(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, content)
	every := sized(0, 32, 1)
	n := int(seeds.Of(t) % uint64(every))
	t.Logf("every %d bytes, from byte %d on", every, n)
	for _, f := range fields(t, content, path, "dpsql_objects") {
		if !strings.HasSuffix(f.name, "header") {
			continue
		}
		for at := f.start; at < f.end; at++ {
			if n++; n%every != 0 {
				continue
			}
			flip(t, content, path, 8*at)
			changed(t, fmt.Sprintf("byte %d of the %s", at-f.start, f.name), tryAll(path), want)
		}
	}
}

// changed reports whether damage was noticed. It returns an error if a statement neither
// says what it said before nor is refused as corrupt. An unknown version of the catalog is
// unsupported.
func changed(t *testing.T, damage string, got, want []string) (noticed bool) {
	t.Helper()
	failed := false
	for i := range want {
		switch corrupt := strings.HasPrefix(got[i], refusedAs+string(sqlerr.Corrupt)); {
		case got[i] == want[i]:
		case corrupt, strings.HasPrefix(got[i], refusedAs+string(sqlerr.Unsupported)) && strings.Contains(damage, "schema.version"):
			noticed = true
		case noticed && !strings.HasPrefix(got[i], refusedAs+string(sqlerr.Internal)) && i > 0 && dependsOnRefused(got, i):
		default:
			failed = true
			t.Errorf("%s: %s by %s\nsays %.300s\nnot  %.300s", damage, trials[i].text, trials[i].mechanism, got[i], want[i])
		}
		if failed {
			break
		}
	}
	return noticed
}

// dependsOnRefused reports whether a trial uses or lists an object whose creation was
// refused in an earlier trial.
func dependsOnRefused(got []string, i int) bool {
	return slices.ContainsFunc(got[:i], func(s string) bool { return strings.HasPrefix(s, refusedAs) }) &&
		(trials[i].mechanism == "r1" || trials[i].mechanism == "m1" || strings.Contains(trials[i].text, "SHOW BUDGET") || trials[i].text == `SHOW SOURCES`)
}

// TestDamageAnywhere flips random bits all over the file: structure, rows, indexes and
// free space included. No statement may panic or end in an internal error, no damage may
// give budget back, and no stored answer may change.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 4))
	counts := tally{}
	for range sized(20**flips, 6, 160) {
		bit := random.IntN(8 * len(content))
		switch random.IntN(3) {
		case 0:
			bit %= 8 * 4096 * 6 // the header and the schema
		case 1:
			bit = bit/(8*4096)*(8*4096) + bit%(8*64) // the header of a page
		}
		flip(t, content, path, bit)
		refused := false
		for i, got := range tryAll(path) {
			s := trials[i]
			switch {
			case got == want[i]:
				counts["as before"]++
			case strings.HasPrefix(got, refusedAs):
				refused = true
				code, _, _ := strings.Cut(strings.TrimPrefix(got, refusedAs), ":")
				counts["refused: "+code]++
				if code == string(sqlerr.Internal) || strings.HasPrefix(code, "panic") {
					t.Errorf("bit %d: %s by %s: %s", bit, s.text, s.mechanism, got)
				}
			case refused && i >= firstWrite: // the object it depends on was refused
				counts["depends on what was refused"]++
			default:
				t.Errorf("bit %d: %s by %s\nsays %.500s\nnot  %.500s", bit, s.text, s.mechanism, got, want[i])
			}
		}
	}
	t.Log(counts)
}

// flip writes content with one bit flipped.
func flip(t *testing.T, content []byte, path string, bit int) {
	t.Helper()
	damaged := bytes.Clone(content)
	damaged[bit/8] ^= 1 << (bit % 8)
	restore(t, path, damaged)
}

// damageAsked are statements that open and use every kind of record, and change nothing.
var damageAsked = []string{
	`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`, `DESCRIBE visits`, `SHOW SOURCES`, `DESCRIBE afar`,
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE day < 3`, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 1`,
	`SET mechanism = cells`, `SELECT COUNT(*) FROM visits WHERE day = 2`, `SET mechanism = hashed`, `SELECT COUNT(*) FROM visits WHERE day = 2`,
	`SET mechanism = learned`, `SELECT COUNT(*) FROM visits WHERE day = 2`, `SET mechanism = live`, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 5`,
}

// losable are those of damageAsked that a stored answer serves. Damage can lose the
// answer: then another serves, or it must be bought again.
var losable = map[string]bool{
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE day < 3`: true, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 5`: true,
}

// damageable returns the bytes of a database with one record of each kind.
func damageable(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 8000)
	fill(t, s, `CREATE TABLE raw (patient INTEGER, day INTEGER)`, `INSERT INTO raw SELECT i, i % 10 FROM `+numbers(200))
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 400, delta = 1e-6)`,
		`CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE hashed ON visits USING PROJECTION WITH (epsilon = 0.5, transform = sparse, rows = 64, delta = 0)`,
		`CREATE RELEASE learned ON visits USING SMW WITH (epsilon = 20, delta = 1e-8, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM live ON visits USING SMW WITH (epsilon = 20, max_updates = 3, queries = 30, beta = 0.5)`,
		`SET mechanism = live`, `SELECT COUNT(*) FROM visits WHERE day = 5`, `SELECT COUNT(*) FROM visits WHERE day < 9`,
		`SET mechanism = direct`, `SET accuracy = 20`, `SELECT COUNT(*) FROM visits WHERE day < 3`,
	} {
		must(t, s, text)
	}
	outsideOf(t, s.DB())
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sights returns what a user sees of a file, with an error for each refused statement.
func sights(t testing.TB, path string) (seen []any) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{ReadOnly: true})
	if err != nil {
		return slices.Repeat([]any{err}, len(damageAsked))
	}
	defer db.Close()
	s := db.NewSession()
	for _, text := range damageAsked {
		r, err := s.Exec(context.Background(), text, nil)
		if err != nil {
			seen = append(seen, err)
			continue
		}
		seen = append(seen, fmt.Sprint(r.Columns, r.Rows))
	}
	return seen
}

// FuzzFile damages the bytes of a whole database. dpsql may fail only with errors whose
// code is not internal. Each statement says what it said before or is refused, and rows
// that have a budget do not get another.
func FuzzFile(f *testing.F) {
	data := damageable(f)
	path := filepath.Join(f.TempDir(), "base.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.Fatal(err)
	}
	want := sights(f, path)
	for i, seen := range want {
		if err, refused := seen.(error); refused {
			f.Fatalf("%s: %v", damageAsked[i], err)
		}
	}
	for at := 16; at < len(data); at += len(data) / 12 {
		f.Add([]byte{byte(at >> 16), byte(at >> 8), byte(at), 0x40, byte(at >> 17), byte(at >> 9), 5, 0xff}, uint32(len(data)))
	}
	f.Add([]byte{0, 0, 47, 2}, uint32(len(data))) // a schema format that SQLite does not know
	f.Add([]byte{}, uint32(4096))
	f.Add([]byte{}, uint32(511))
	f.Fuzz(func(t *testing.T, edits []byte, size uint32) {
		bytes := slices.Clone(data[:min(int(size), len(data))])
		for ; len(edits) >= 4; edits = edits[4:] {
			if at := int(edits[0])<<16 | int(edits[1])<<8 | int(edits[2]); at < len(bytes) {
				bytes[at] ^= edits[3]
			}
		}
		path := filepath.Join(t.TempDir(), "damaged.db")
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		for i, seen := range sights(t, path) {
			var e *sqlerr.Error
			err, refused := seen.(error)
			switch {
			case refused && (!errors.As(err, &e) || e.Code == sqlerr.Internal):
				t.Errorf("%s: %v", damageAsked[i], err)
			case !refused && seen != want[i] && len(bytes) >= 512 && !losable[damageAsked[i]]: // SQLite takes less than 512 bytes for an empty database
				t.Errorf("%s\nsays %s\nand said %s", damageAsked[i], seen, want[i])
			}
		}
		oneBudget(t, path)
	})
}

// oneBudget declares the rows once more, and fails if they then have a second budget.
func oneBudget(t *testing.T, path string) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return
	}
	defer db.Close()
	s := db.NewSession()
	if _, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 400, delta = 1e-6)`, nil); err != nil {
		return
	}
	r, err := s.Exec(context.Background(), `SHOW LEDGER`, nil)
	if err != nil {
		return
	}
	if n := strings.Count(fmt.Sprint(r.Rows), "raw releases budget declared"); n != 1 {
		t.Errorf("%d budgets are declared: %v", n, r.Rows)
	}
}

// fuzzTable is a table of two columns, one of any text, without a file.
func fuzzTable(t testing.TB) *view.Table {
	t.Helper()
	age, err := query.NewRange(0, 9, true)
	if err != nil {
		t.Fatal(err)
	}
	columns := []query.Column{{Name: "age", Domain: age}, {Name: "zip", Domain: query.Unbounded()}}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return &view.Table{Table: catalog.Table{ID: 1, Name: "p", Source: "raw", Columns: columns, Account: 1, MaxRows: 1}, Universe: u}
}

// fuzzParams are parameters in the form that a mechanism stores.
func fuzzParams(t testing.TB, alpha float64, update smw.Update) []byte {
	t.Helper()
	r := smw.Request{Alpha: alpha, MaxSupport: 100, Queries: 1000, Beta: 0.05, NHat: 5000, NHatBound: 20, Sensitivity: 2, MaxWeight: 1,
		Update: update, RunEpsilon: func(int64) *big.Rat { return big.NewRat(7, 2) }}
	if alpha == 0 {
		r.MaxUpdates = 20
	}
	p, err := smw.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readable fails unless an error is one that damaged state may cause.
func readable(t *testing.T, err error) bool {
	t.Helper()
	switch code := sqlerr.CodeOf(err); {
	case err == nil:
		return true
	case code == sqlerr.Corrupt, code == sqlerr.Unsupported, code == sqlerr.Uncovered, code == sqlerr.Budget:
	default:
		t.Fatalf("stored state gives %v (%s)", err, code)
	}
	return false
}

// FuzzStoredMechanism decodes a mechanism's record, its stored prior, τ, and a history of
// lines "noisy query". dpsql may fail only with an error that says so. Accepted input is
// written back unchanged, and a hypothesis made from it answers within the rows that it
// stands for.
func FuzzStoredMechanism(f *testing.F) {
	for i, p := range [][]byte{fuzzParams(f, 0, smw.Projection), fuzzParams(f, 0, smw.Paper), fuzzParams(f, 0.9, smw.Projection)} {
		f.Add(p, []byte("0123456789abcdef"), int64(i-1), "70 age{3: zip{'x': 1}}\n-4 age{NULL, 2..3: zip{'a', 'b': 1}}")
		f.Add(p, []byte("short"), int64(math.MaxInt64), "9000000000000000000 age{0..9: zip{NULL: 1}}\n0 0")
	}
	f.Add(append([]byte(`{"prior":"classes",`), fuzzParams(f, 0, smw.Projection)[1:]...), []byte("\x01\x01\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00"), int64(1), "")
	f.Add([]byte(`{"s":1,"updates":-1,"max_weight":0,"eps1":"1/0","eps2":"1e999999"}`), []byte{}, int64(0), "1 1")
	t := fuzzTable(f)
	f.Fuzz(func(tt *testing.T, params, prior []byte, tau int64, lines string) {
		m := &catalog.Mechanism{ID: 1, Name: "m", TableID: 1, Params: params, Updates: 20, RunsStarted: 1, Run: &catalog.OpenRun{Number: 1, Tau: tau}}
		p, err := kind.ReadMechanism(m)
		if !readable(tt, err) {
			return
		}
		sameParams(tt, p)
		l, err := answer.Reopen(t, m, prior)
		if !readable(tt, err) || !readable(tt, l.Resume(m, nil, parseHistory(lines))) {
			return
		}
		if _, err := l.Run.Test(50, 40, stream(1)); err != nil && sqlerr.CodeOf(err) != sqlerr.Internal {
			tt.Fatal(err)
		}
		plausible(tt, t.Universe, p.Params, l.Hypothesis)
	})
}

// sameParams encodes the parameters and decodes them again.
func sameParams(t *testing.T, p released.MechanismParams) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", p, err)
	}
	again, err := kind.ReadMechanism(&catalog.Mechanism{Params: text})
	if err != nil {
		t.Fatalf("%s cannot be read: %v", text, err)
	}
	if back, err := json.Marshal(again); err != nil || !bytes.Equal(back, text) {
		t.Fatalf("%s comes back as %s", text, back)
	}
}

// parseHistory reads lines "noisy query", numbered from 1.
func parseHistory(lines string) (rows []catalog.HistoryRow) {
	for line := range strings.SplitSeq(lines, "\n") {
		number, text, _ := strings.Cut(line, " ")
		noisy, _ := strconv.ParseInt(number, 10, 64)
		rows = append(rows, catalog.HistoryRow{Seq: int64(len(rows)) + 1, Query: text, Noisy: noisy})
	}
	return rows[:min(len(rows), 8)]
}

// plausible asks the hypothesis queries that the parameters admit.
func plausible(t *testing.T, u *query.Universe, p smw.Params, h *smw.Hypothesis) {
	t.Helper()
	columns := u.Columns()
	one := query.Where(u, 1, columns[1].Domain.SetOf(query.Text("x")))
	for _, age := range []int64{0, 3, 9} {
		q, err := query.Where(u, 0, columns[0].Domain.SetOf(query.Int(age))).And(one)
		if err != nil {
			t.Fatal(err)
		}
		if p.Admits(q) != nil {
			continue
		}
		if n := h.Count(q); n < 0 || n > p.NHat*p.MaxWeight {
			t.Fatalf("the hypothesis counts %d of %d rows", n, p.NHat)
		}
	}
	if w := p.UnfiredMargin(0.95); w < p.Threshold {
		t.Fatalf("a margin of %d, below the threshold %d", w, p.Threshold)
	}
}

// FuzzStoredHypothesis decodes a release built by SMW. Accepted input answers within the
// rows that it stands for, and states no margin below its threshold.
func FuzzStoredHypothesis(f *testing.F) {
	for _, c := range []*released.Class{{Free: 1}, {Free: -1, Workload: []string{"age{3: zip{'x': 1}}", "1"}}} {
		h := released.HypothesisPayload{Class: c, Complete: true,
			Steps: []released.Step{{Query: "age{3: zip{'x': 1}}", Noisy: 70}, {Query: "age{NULL, 2..3: zip{'a', 'b': 1}}", Noisy: -4}}}
		if err := json.Unmarshal(fuzzParams(f, 0, smw.Projection), &h.Params); err != nil {
			f.Fatal(err)
		}
		body, err := json.Marshal(h)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	u := fuzzTable(f).Universe
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := released.DecodeHypothesis(u, sealed.End(append(sealed.Begin(sealed.Hypothesis, 1, len(body)), body...)))
		if !readable(t, err) {
			return
		}
		p := h.Published.Params
		plausible(t, u, p.Params, h.Learned)
		q := query.Where(u, 0, u.Columns()[0].Domain.SetOf(query.Int(3)))
		if w, known, err := h.Margin(q, 0.95); err != nil || known && !(w >= float64(p.Threshold)) {
			t.Fatalf("margin %v, %v", w, err)
		}
	})
}

package engine_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// The proofs of the mechanisms pair the noise on a database with noise on its neighbour
// that gives the same outputs. These tests carry out that pairing. Every stream of random
// bits is scripted, and D′ gets the paired streams. Everything charged must then look the
// same to the last byte.

// stream returns the random bits of a seed.
func stream(seed uint64) *noise.Source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return noise.NewSourceFrom(sips{rand.NewChaCha8(key)})
}

// sips reads few bytes at a time, where a seed is looked for that decides one draw.
type sips struct{ io.Reader }

func (s sips) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(len(p), 64)]) }

// coins returns the coins of a seed.
func coins(seed uint64) *coin.Source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return coin.NewSourceFrom(rand.NewChaCha8(key))
}

// script gives a database the streams of the seeds, one for each request. At the end of
// the test it checks that all were requested.
func script(t *testing.T, db *engine.DB, seeds ...uint64) {
	used := 0
	coinsFrom(db, 1)
	db.SetRandom(func() *noise.Source {
		used++
		if used > len(seeds) {
			t.Errorf("a stream of random bits more than the %d scripted", len(seeds))
			return stream(0)
		}
		return stream(seeds[used-1])
	})
	t.Cleanup(func() {
		if used < len(seeds) {
			t.Errorf("%d of %d streams of random bits were used", used, len(seeds))
		}
	})
}

// fixed gives a database the streams of seed, seed + 1, and so on.
func fixed(db *engine.DB, seed uint64) {
	coinsFrom(db, seed)
	db.SetRandom(func() *noise.Source { seed++; return stream(seed - 1) })
}

// seedFor returns a seed whose draw is the wanted one.
func seedFor[T comparable](t *testing.T, draw func(seed uint64) T, want T) uint64 {
	t.Helper()
	return seedWhere(t, func(seed uint64) bool { return draw(seed) == want })
}

func seedWhere(t *testing.T, holds func(seed uint64) bool) uint64 {
	t.Helper()
	for seed := uint64(1); seed < 1<<22; seed++ {
		if holds(seed) {
			return seed
		}
	}
	t.Fatal("no seed draws what is wanted")
	return 0
}

// lawDraw returns the first draw of a law, given in text.
func lawDraw(t *testing.T, text string) func(uint64) int64 {
	t.Helper()
	law, err := law.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(seed uint64) int64 {
		k, err := noise.Draw(law, stream(seed))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
}

// histogramDraw returns the noise of the three cells of the identity release cells, from
// its record in the catalog.
func histogramDraw(t *testing.T, s *engine.Session) func(uint64) [3]int64 {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := v.Release("cells")
	u := v.TableByID(r.TableID).Over(r.Columns)
	var about released.ReleaseAbout
	if err := json.Unmarshal(r.Params, &about); err != nil {
		t.Fatal(err)
	}
	law, err := law.Parse(about.Law)
	if err != nil {
		t.Fatal(err)
	}
	p := projection.Params{Transform: projection.Identity, Rows: 3, Law: law, Bulk: about.Sampler == "table"}
	return func(seed uint64) (draws [3]int64) {
		b, err := projection.NewBuilder(u, p, coins(seed))
		if err != nil {
			t.Fatal(err)
		}
		release, err := b.Build(maps.All(map[query.Element]int64{}), stream(seed))
		if err != nil {
			t.Fatal(err)
		}
		d := u.Columns()[0].Domain
		for i, sex := range []query.Value{query.Text("F"), query.Text("M"), query.Null()} {
			a, err := release.Answer(context.Background(), query.Where(u, 0, d.SetOf(sex)), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			draws[i] = a.Value
		}
		return draws
	}
}

// The streams that story requests, in order.
const (
	ofCells  = iota // the noise of the release
	ofRows          // N̂
	ofTau           // the first run's τ
	ofAbove         // a comparison that misses firing by 1, from above
	ofBelow         // one that misses it by 1 from below
	ofFiring        // one that fires
	ofSecond        // the second run's τ
	ofLast          // a comparison far from firing
	ofDirect        // a direct answer
	streams
)

// story runs everything that is charged: a release, the number of rows, a mechanism with
// two runs, and a direct answer. The woman is counted in all of it except the last
// comparison.
var story = []string{
	`CREATE RELEASE cells ON admissions (sex) USING PROJECTION WITH (epsilon = 1)`,
	`CREATE MECHANISM live ON admissions (age, zip) USING SMW
		WITH (epsilon = 1.9, max_updates = 4, max_support = 500, queries = 10, beta = 0.5, update = paper)`,
	`SET mechanism = live`, above, below, heavy, light,
	`SET mechanism = direct`, `SET accuracy = 60`,
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex <> 'M' OR age < 3`,
}

const (
	above = `SELECT COUNT(*) FROM admissions WHERE age = 5 AND zip = '15211'`       // 8 rows
	below = `SELECT COUNT(*) FROM admissions WHERE age IN (5, 6) AND zip = '15211'` // 16 rows
	her   = `sex = 'F' AND age = 5 AND zip = '15211'`
)

// told is what story shows, and what can be seen of it afterwards. It leaves out the
// ledger's times, and the hashes over them, which depend on the clock.
func told(t *testing.T, s *engine.Session) (shown []string) {
	t.Helper()
	clock := []string{"at", "hash", "created"}
	tell := func(list ...string) {
		for _, text := range list {
			shown = append(shown, text+"\n"+seen(s, clock, text))
		}
	}
	tell(story...)
	if err := s.DB().Answers().Close(); err != nil { // as the idle timer would
		t.Fatal(err)
	}
	tell(`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`,
		`SET mechanism = auto`, `SET accuracy = default`, heavy, light, `EXPLAIN `+heavy, `EXPLAIN `+story[len(story)-1], story[len(story)-1],
		`SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT COUNT(*) FROM admissions WHERE sex IS NULL`, `EXPLAIN SELECT COUNT(*) FROM admissions`)
	return shown
}

// TestChargedNeighboursLookAlike runs the story on the clinic, and on neighbours with one
// woman of 5 years at 15211 more or less. The seeds are fixed, so nothing is random.
func TestChargedNeighboursLookAlike(t *testing.T) {
	t.Parallel()
	d := clinicAt(t, t.TempDir()+"/clinic.db")
	path := d.DB().Store().Path()
	if err := d.DB().Close(); err != nil {
		t.Fatal(err)
	}
	neighbours := map[int64]string{
		+1: neighbour(t, path, change{text: `INSERT INTO raw_admissions VALUES ('F', 5, 'E10', '15211')`}),
		-1: neighbour(t, path, change{text: `DELETE FROM raw_admissions WHERE rowid = (SELECT MAX(rowid) FROM raw_admissions WHERE ` + her + `)`}),
	}
	seeds := rehearse(t, neighbour(t, path, change{text: `SELECT 1`}))
	d = open(t, path, engine.Options{}).NewSession()
	script(t, d.DB(), seeds[:]...)
	want := told(t, d)
	if m := mechanism(t, d, "live"); m.RunsStarted != 2 || m.Comparisons != 4 || len(history(t, d, "live")) != 1 {
		t.Fatalf("the story has another course: %d runs, %d comparisons, %d firings", m.RunsStarted, m.Comparisons, len(history(t, d, "live")))
	}
	for difference, path := range neighbours {
		s := open(t, path, engine.Options{}).NewSession()
		paired := pair(t, d, seeds, difference)
		script(t, s.DB(), paired[:]...)
		for i, got := range told(t, s) {
			if got != want[i] {
				t.Errorf("with %+d row\n%s\nis no longer\n%s", difference, got, want[i])
			}
		}
	}
}

// TestBoughtOrdersLookAlike buys a distribution and a number of values on the clinic, and on a
// neighbour with one woman more, who adds a value. Each number measured of the distribution has
// noise of its own, which is paired by what she adds to it. The seeds are fixed.
func TestBoughtOrdersLookAlike(t *testing.T) {
	t.Parallel()
	d := clinicAt(t, t.TempDir()+"/clinic.db")
	path := d.DB().Store().Path()
	if err := d.DB().Close(); err != nil {
		t.Fatal(err)
	}
	other := neighbour(t, path, change{text: `INSERT INTO raw_admissions VALUES ('F', 5, 'E10', '77777')`})
	tell := func(s *engine.Session) (shown []string) {
		for _, text := range []string{`SET accuracy = 50`,
			`SELECT MEDIAN(age), MAX(age), MARGIN(MIN(age)), COUNT(DISTINCT diagnosis) FILTER (WHERE zip = '77777') AS n FROM admissions WHERE age BETWEEN 4 AND 6`,
			`SELECT PERCENTILE_CONT(age, 0.9) AS p, LOW(p), HIGH(p) FROM admissions WHERE age BETWEEN 4 AND 6`,
			`EXPLAIN SELECT COUNT(DISTINCT diagnosis) FROM admissions WHERE age BETWEEN 4 AND 6 AND zip = '77777'`, `SHOW BUDGET`, `SHOW LEDGER`} {
			shown = append(shown, text+"\n"+seen(s, []string{"at", "hash", "created"}, text))
		}
		var stored string // to the last noisy number
		if err := plain(t, s).QueryRow(`SELECT group_concat(kind || hex(sha256) || estimate || law) FROM dpsql_answers`).Scan(&stored); err != nil {
			t.Fatal(err)
		}
		return append(shown, stored)
	}
	seeds := []uint64{31, 32, 33, 34}
	d = open(t, path, engine.Options{}).NewSession()
	script(t, d.DB(), seeds...)
	want := tell(d)
	if strings.Contains(want[1], "Code:") || strings.Contains(want[2], "Code:") {
		t.Fatal(want[1:3])
	}
	law := func(kind catalog.AnswerKind, at string) func(uint64) int64 {
		var text string
		if err := plain(t, d).QueryRow(`SELECT json_extract(law, ?) FROM dpsql_answers WHERE kind = ?`, at, string(kind)).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return lawDraw(t, text)
	}
	paired := make([]uint64, 4)
	ofOrder, ofValues := law(catalog.AnswerDistribution, "$.law"), law(catalog.AnswerValues, "$")
	for i, adds := range (direct.Cumulative{Places: 3}).Measured([]int64{0, 1, 0}) {
		paired[i] = seedFor(t, ofOrder, ofOrder(seeds[i])-adds)
	}
	paired[3] = seedFor(t, ofValues, ofValues(seeds[3])-1)
	s := open(t, other, engine.Options{}).NewSession()
	script(t, s.DB(), paired...)
	for i, got := range tell(s) {
		if got != want[i] {
			t.Errorf("with a woman more\n%s\nis no longer\n%s", got, want[i])
		}
	}
}

// laws are the noise of the mechanism: the threshold T, and τ and ν by seed.
type laws struct {
	threshold int64
	tau       func(seed uint64) int64
	nu        func(seed uint64) [2]int64 // ν⁺ and ν⁻
}

func mechanismLaws(t *testing.T, s *engine.Session) laws {
	t.Helper()
	p, err := kind.ReadMechanism(new(mechanism(t, s, "live")))
	if err != nil {
		t.Fatal(err)
	}
	nu, err := law.NewLaplace(new(big.Rat).Quo(big.NewRat(2, 1), p.Eps2))
	if err != nil {
		t.Fatal(err)
	}
	return laws{p.Threshold, func(seed uint64) int64 {
		run, err := smw.StartRun(p.Params, stream(seed))
		if err != nil {
			t.Fatal(err)
		}
		return run.Tau()
	}, func(seed uint64) (draws [2]int64) {
		src := stream(seed)
		for i := range draws {
			if draws[i], err = noise.Draw(nu, src); err != nil {
				t.Fatal(err)
			}
		}
		return draws
	}}
}

// rehearse runs the story on a copy of the clinic, and returns seeds with which the first
// comparisons miss firing by 1: (c − h) + ν⁺ and (h − c) + ν⁻ are T + τ − 1. An unfired
// answer is h.
func rehearse(t *testing.T, path string) [streams]uint64 {
	t.Helper()
	seeds := [streams]uint64{11, 12, 14, 15, 16, 17, 18, 19, 20}
	s := open(t, path, engine.Options{}).NewSession()
	script(t, s.DB(), seeds[:]...)
	told(t, s)
	l := mechanismLaws(t, s)
	limit := l.threshold + l.tau(seeds[ofTau]) - 1
	off := 8 - count(t, s, above)
	seeds[ofAbove] = seedWhere(t, func(seed uint64) bool {
		nu := l.nu(seed)
		return off+nu[0] == limit && -off+nu[1] < limit
	})
	off = 16 - count(t, s, below)
	seeds[ofBelow] = seedWhere(t, func(seed uint64) bool {
		nu := l.nu(seed)
		return off+nu[0] < limit && -off+nu[1] == limit
	})
	return seeds
}

// pair returns the streams that give the same outputs when the counts have changed by the
// difference.
func pair(t *testing.T, s *engine.Session, seeds [streams]uint64, difference int64) [streams]uint64 {
	t.Helper()
	out := seeds
	cells := histogramDraw(t, s)
	noisy := cells(seeds[ofCells])
	noisy[0] -= difference
	out[ofCells] = seedFor(t, cells, noisy)
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rows := lawDraw(t, v.Tables[0].NHat.Law)
	out[ofRows] = seedFor(t, rows, rows(seeds[ofRows])-difference)
	l := mechanismLaws(t, s)
	out[ofTau] = seedFor(t, l.tau, l.tau(seeds[ofTau])+1)
	// The comparison that fires: ν with the change undone, and 1 more for τ. It fires
	// at ν⁺.
	first := func(seed uint64) int64 { return l.nu(seed)[0] }
	out[ofFiring] = seedFor(t, first, first(seeds[ofFiring])-difference+1)
	var law string
	if err := plain(t, s).QueryRow(`SELECT json_extract(law, '$') FROM dpsql_answers WHERE kind = 'direct'`).Scan(&law); err != nil {
		t.Fatal(err)
	}
	direct := lawDraw(t, law)
	out[ofDirect] = seedFor(t, direct, direct(seeds[ofDirect])-difference)
	return out
}

// TestChargedShapes charges neighbours for everything else, with the same random bits.
// Estimates, and margins read from a release, are outputs and may differ. Nothing else
// may: columns, the release or mechanism that answers, support, cost, warnings, refusals,
// the ledger. The seeds are fixed. Without -long one of the four neighbours is tried: the last, of which a row leaves the domains.
func TestChargedShapes(t *testing.T) {
	t.Parallel()
	d := clinicAt(t, t.TempDir()+"/clinic.db")
	path := d.DB().Store().Path()
	if err := d.DB().Close(); err != nil {
		t.Fatal(err)
	}
	want := shapes(t, neighbour(t, path, change{text: `SELECT 1`}))
	for i, c := range []string{
		`INSERT INTO raw_admissions VALUES ('F', 5, 'E10', '15211')`, `DELETE FROM raw_admissions WHERE rowid = 77`,
		`INSERT INTO raw_admissions VALUES (1.5, 'old', x'ff', NULL)`, `UPDATE raw_admissions SET zip = NULL, age = 9e99 WHERE rowid = 9`,
	} {
		if !*long && i < 3 {
			continue
		}
		for i, got := range shapes(t, neighbour(t, path, change{text: c})) {
			if got != want[i] {
				t.Errorf("%s\nmakes of %s\n%s", c, want[i], got)
			}
		}
	}
}

func shapes(t *testing.T, path string) (shown []string) {
	t.Helper()
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 5000)
	for _, text := range []string{
		`CREATE RELEASE a ON admissions (diagnosis, zip) USING PROJECTION WITH (epsilon = 0.1, rows = 512)`,
		`CREATE RELEASE b ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
		`CREATE RELEASE c ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5, transform = dense)`,
		`CREATE RELEASE d ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, free_columns = 1, max_updates = 2)`,
		`CREATE PUBLIC TABLE e AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 0.1, delta = 1e-8)`, `EXPLAIN CREATE PUBLIC TABLE f AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 9)`,
		`CREATE MECHANISM m ON admissions (age) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 5)`,
		`CREATE MECHANISM n ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, max_updates = 2, queries = 5, prior = classes, remeasure = on, max_weight = 2)`, `SHOW MECHANISMS`,
		`SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10' AND zip = '15211'`, `SELECT COUNT(*) FROM admissions WHERE age < 50`,
		`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`, `SET accuracy = 70`, `SET mechanism = direct`,
		`SELECT COUNT(*) FROM admissions`, `SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex IS NULL OR zip = '1'`, `SELECT COUNT(*) FROM admissions WHERE age = 500`,
		`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT zip, COUNT(*) FROM admissions GROUP BY zip`, `SELECT COUNT(*) FROM (SELECT zip, COUNT(*) FROM admissions GROUP BY zip)`, `SELECT sex, diagnosis, COUNT(*), AVG(age) FROM admissions GROUP BY 1, 2 ORDER BY 1, 2`,
		`SET accuracy = 300`, `SELECT MEDIAN(age), MIN(age), QUANTILE(age, 0.9) FROM admissions WHERE sex = 'F'`, `SELECT sex, MAX(age), COUNT(DISTINCT diagnosis) FROM admissions GROUP BY sex ORDER BY sex`,
		`SELECT COUNT(DISTINCT diagnosis) FROM admissions WHERE age = 5`, `SET mechanism = auto`, `SELECT MEDIAN(age), COUNT(DISTINCT age) FROM admissions WHERE sex = 'M'`,
		`SET accuracy = 3`, `SELECT COUNT(*) FROM admissions`, `SELECT COUNT(*) FROM admissions WHERE age = 5`, `SHOW BUDGET`, `SHOW LEDGER`,
	} {
		r, err := s.Exec(context.Background(), text, nil)
		if err == nil && r.Answer != nil {
			a := *r.Answer
			a.Margins, a.Intervals = nil, nil
			r = &engine.Result{Columns: r.Columns, Answer: &a, Warnings: r.Warnings}
		}
		shown = append(shown, text+"\n"+nhat.ReplaceAllString(written(r, err, []string{"at", "hash", "created", "paper's alpha"}), "N̂ = …"))
	}
	return shown
}

// nhat matches N̂ in a refusal, which is an output, and the numbers computed from it.
var nhat = regexp.MustCompile(`T is \S+ rows at N̂ = \d+`)

package engine_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/noise"
)

var (
	timedPairs   = flag.Int("timed.pairs", 0, "pairs of statements that TestNeighboursAnswerAtTheSameTimes times; 0 means 60, or 10,000 with -long")
	timedAnswers = flag.Duration("timed.answers", 25*time.Millisecond, "the answer time with -timed.pairs")
)

// timedNeighbour is one of two databases that differ in one unit, with sessions that answer the same
// statements: one whose answers are held, and one whose answers are not.
type timedNeighbour struct {
	testing.TB
	db         *engine.DB
	answerTime time.Duration
	held       *engine.Session
	unheld     *engine.Session
	work       time.Duration // that the next draw takes
	fails      bool          // the system's random source
}

// newNeighbour makes a database of 60 persons with two rows each, and of another with so many rows.
func newNeighbour(t testing.TB, rows int, answerTime time.Duration) *timedNeighbour {
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (person INTEGER, a INTEGER, b INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) INSERT INTO raw SELECT i / 2, i % 100, i % 89 FROM n`,
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO raw SELECT 1000, i %% 100, i %% 89 FROM n WHERE %[1]d > 0`, rows))
	must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE visits (a INTEGER BETWEEN 0 AND 99, b INTEGER BETWEEN 0 AND 99)
		FROM raw WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9, unit = person, max_rows = 200, answer_time = %d)`, answerTime.Milliseconds()))
	n := &timedNeighbour{TB: t, db: s.DB(), unheld: s, answerTime: answerTime}
	n.held = admits(t, s, `GRANT SELECT ON visits TO %s WITH (rho = 100)`)[0]
	for _, s := range []*engine.Session{n.held, n.unheld} {
		if err := s.Set("accuracy", "1000000"); err != nil {
			t.Fatal(err)
		}
	}
	random := n.db.Random()
	n.db.SetRandom(func() *noise.Source {
		time.Sleep(n.work)
		if n.fails {
			return noise.NewSourceFrom(iotest.ErrReader(errors.New("no random bits")))
		}
		return random()
	})
	return n
}

// The endings in which statements end.
const (
	endsPlain = iota
	endsCancelled
	endsFailing
	endsLate
	endings
)

// time returns how long a statement of a session takes. It sets the answer time back, and reports how long it was
// after the statement.
func (n *timedNeighbour) time(s *engine.Session, way int, text string, cancel, longer time.Duration) (took, answerTimeThen time.Duration) {
	ctx := context.Background()
	if way == endsCancelled {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, cancel)
		defer end()
	}
	n.fails, n.work = way == endsFailing, longer
	if way == endsLate {
		n.work += n.answerTime * 6 / 5
	}
	begun := time.Now()
	_, err := s.Exec(ctx, text, nil)
	took = time.Since(begun)
	if (err != nil) != (way == endsFailing) && way != endsCancelled {
		n.Fatalf("%s: %v", text, err)
	}
	err = n.db.Store().Write(context.Background(), func(tx *catalog.Tx) error {
		t, err := tx.Table("visits")
		if err != nil {
			return err
		}
		answerTimeThen = t.AnswerTime
		return tx.SetAnswerTime(t.ID, n.answerTime)
	})
	if err != nil {
		n.Fatal(err)
	}
	return took, answerTimeThen
}

// timings are the times that the same statement takes in two databases. Which comes first is random.
type timings struct {
	way  int
	took [2]time.Duration
}

// timeBoth times statements in two databases, one right after the other. Pairs of which one was doubled and the
// other was not, or more often, are left out and counted: this is what
// doublings tell. Where more than most of them are, it ends after 500.
func timeBoth(random *rand.Rand, of [2]*timedNeighbour, pairs int, longer time.Duration, most float64, session func(*timedNeighbour) *engine.Session) (all []timings, doubled int) {
	answerTime := of[0].answerTime
	for i := range pairs {
		if i >= 500 && float64(doubled) > most*float64(i) {
			break
		}
		way := max(endsPlain, random.IntN(10)-9+endsLate)                                           // one in ten each
		text := fmt.Sprintf(`SELECT COUNT(DISTINCT person) FROM visits WHERE a * 100 + b <> %d`, i) // each is new
		if session(of[0]) == of[0].unheld {
			text = fmt.Sprintf(`SELECT COUNT(DISTINCT person) FROM visits WHERE a * 100 + b NOT IN (%d, 10)`, 100+i)
		}
		p := timings{way: way}
		var then [2]time.Duration
		cancel := answerTime/2 + time.Duration(random.Int64N(int64(answerTime/2)))
		first := random.IntN(2)
		for _, d := range []int{first, 1 - first} {
			p.took[d], then[d] = of[d].time(session(of[d]), way, text, cancel, time.Duration(d)*longer)
		}
		if then[0] != then[1] {
			doubled++
			continue
		}
		p.took[0] -= then[0] - answerTime // relative to the slots
		p.took[1] -= then[1] - answerTime
		all = append(all, p)
	}
	return all, doubled
}

// toldApart returns the least of the p-values of many tests of the hypothesis that the two times of each pair
// have one distribution, times the number of tests, and the test that has it. Given the two times, which of
// the databases had which is then a fair coin, since a fair coin decided which came first. So for any score, of
// which the value may depend on all times but not on the database, the sum T of the differences d of a
// pair's scores has P(|T| ≥ t) ≤ 2 exp(−t²/(2 Σd²)), by Hoeffding's inequality. The scores are whether a
// time is above a quantile of all (as Kolmogorov and Smirnov compare), its rank (Wilcoxon), the logarithm of its tail
// (Anderson and Darling weigh the tails so), the time itself without its tail, and its distance from the median.
func toldApart(all []timings) (p float64, by string) {
	p = 1
	tests := 0.0
	try := func(name string, of []timings, score func(time.Duration) float64) {
		var sum, squares float64
		for _, pair := range of {
			d := score(pair.took[0]) - score(pair.took[1])
			sum, squares = sum+d, squares+d*d
		}
		tests++
		if squares == 0 {
			return
		}
		if one := 2 * math.Exp(-sum*sum/(2*squares)); one < p {
			p, by = one, fmt.Sprintf("%s of %d pairs: %.4g against √%.4g", name, len(of), sum, squares)
		}
	}
	for way := range endings + 1 {
		of := all
		if way < endings {
			of = slices.DeleteFunc(slices.Clone(all), func(p timings) bool { return p.way != way })
		}
		var pool []time.Duration
		for _, p := range of {
			pool = append(pool, p.took[:]...)
		}
		if len(pool) < 2 {
			continue
		}
		slices.Sort(pool)
		quantile := func(q float64) time.Duration { return pool[int(q*float64(len(pool)-1))] }
		rank := func(x time.Duration) float64 {
			i, _ := slices.BinarySearch(pool, x)
			return (float64(i) + 0.5) / float64(len(pool))
		}
		for i := range 40 {
			q := (float64(i) + 0.5) / 40
			try(fmt.Sprintf("way %d, quantile %.4f", way, q), of, func(x time.Duration) float64 {
				return map[bool]float64{true: 1}[x > quantile(q)]
			})
		}
		median := quantile(0.5)
		for name, score := range map[string]func(time.Duration) float64{
			"rank": rank, "upper tail": func(x time.Duration) float64 { return -math.Log1p(-rank(x) + 1e-9) }, "lower tail": func(x time.Duration) float64 { return math.Log(rank(x)) },
			"mean":  func(x time.Duration) float64 { return float64(min(x, quantile(0.95))) },
			"scale": func(x time.Duration) float64 { return float64(min((x - median).Abs(), quantile(0.95)-median)) },
		} {
			try(fmt.Sprintf("way %d, %s", way, name), of, score)
		}
	}
	return min(1, p*tests), cmp.Or(by, "nothing")
}

// Two databases that differ in one unit answer users at the same times. The unit has all the rows
// that it may have, and makes answers take longer: toldApart finds no difference. If there is none it fails with probability at most 1e-6. On a machine so busy that
// many answers are late it is skipped. Statements are cancelled, fail and are late among others.
// The same tests find the difference in answers that are not held.
func TestNeighboursAnswerAtTheSameTimes(t *testing.T) {
	pairs, unheld, answerTime, longer, level, most := 60, 60, 40*time.Millisecond, 20*time.Millisecond, 1e-6, 0.2 // times that even a busy machine keeps to
	if *long {
		pairs, unheld, answerTime, longer, most = 10_000, 2000, 5*time.Millisecond, time.Millisecond/2, 0.05
	}
	if *timedPairs > 0 {
		pairs, unheld, answerTime, longer, most = *timedPairs, 2000, *timedAnswers, *timedAnswers/10, 0.05
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 17))
	of := [2]*timedNeighbour{newNeighbour(t, 0, answerTime), newNeighbour(t, 200, answerTime)}
	all, doubled := timeBoth(random, of, pairs, longer, most, func(n *timedNeighbour) *engine.Session { return n.held })
	if n := len(all) + doubled; float64(doubled) > most*float64(n) {
		t.Skipf("seed %d: of %d pairs %d were doubled differently: the machine is too busy for %v", seed, n, doubled, answerTime)
	}
	p, by := toldApart(all)
	t.Logf("seed %d: %d pairs, and %d of which one was doubled more often; p = %.2g by %s", seed, len(all), doubled, p, by)
	if p < level {
		t.Errorf("the neighbours are told apart: p = %.2g by %s", p, by)
	}
	all, _ = timeBoth(random, of, unheld, longer, 1, func(n *timedNeighbour) *engine.Session { return n.unheld })
	if p, by := toldApart(all); p > level {
		t.Errorf("answers that are not held are not told apart, either: p = %.2g by %s", p, by)
	}
}

package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/server"
)

var (
	timedPairs   = flag.Int("timed.pairs", 0, "pairs of statements that TestNeighboursAnswerAtTheSameTimes times; 0 means 50, or 10,000 with -long")
	timedAnswers = flag.Duration("timed.answers", 25*time.Millisecond, "the answer time with -timed.pairs")
)

// timedNeighbour is one of some databases, of which two differ in one unit, with a server on it and
// connections: of a user, whose answers are held, and of a curator, whose answers are not.
type timedNeighbour struct {
	testing.TB
	db         *engine.DB
	curator    *engine.Session
	answerTime time.Duration
	asked      int    // of questions
	fired      int    // of those that take two slots
	url        string // of the server, for the user
	held       *pgx.Conn
	looking    *pgx.Conn // the user's, too
	unheld     *pgx.Conn
	work       atomic.Int64 // ns that each draw takes
	toils      bool         // whether a draw spends them at work, and not asleep
	fails      atomic.Bool  // the system's random source
}

// newNeighbour makes a database of 60 persons with two rows each, and of another with so many rows. A second table
// has 4,000 rows, and one more if the other has any.
func newNeighbour(t testing.TB, rows int, answerTime time.Duration) *timedNeighbour {
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	n := &timedNeighbour{TB: t, db: s.DB(), curator: s, answerTime: answerTime, toils: *long || *timedPairs > 0}
	fill(t, s, `CREATE TABLE raw_visits (person INTEGER, a INTEGER, b INTEGER)`, `CREATE TABLE raw_steps (b INTEGER, c INTEGER)`,
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO raw_visits SELECT CASE WHEN i > 120 THEN 1000 ELSE i / 2 END, i %% 100, i %% 89 FROM n`, 120+rows),
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO raw_steps SELECT i %% 3, i %% 2 FROM n`, 4000+min(rows, 1)))
	for _, text := range []string{
		`CREATE USER ana PASSWORD 's3cretive'`,
		`CREATE PRIVATE TABLE visits (a INTEGER BETWEEN 0 AND 99, b INTEGER BETWEEN 0 AND 99)
			FROM raw_visits WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9, unit = person, max_rows = 200)`,
		`CREATE PRIVATE TABLE steps (b INTEGER BETWEEN 0 AND 99, c INTEGER BETWEEN 0 AND 1) FROM raw_steps WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`,
		`GRANT SELECT ON visits TO ana WITH (rho = 1000)`, `GRANT SELECT ON steps TO ana WITH (rho = 1000)`,
	} {
		must(t, s, text)
	}
	n.setBack()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := server.New(server.Config{Database: n.db, Name: "visits", Curator: func(_ net.Conn, user string) bool { return user == "curator" }})
	ctx, cancel := context.WithCancel(context.Background())
	go served.Serve(ctx, l)
	t.Cleanup(cancel)
	n.url = fmt.Sprintf("postgres://ana:s3cretive@%s/visits", l.Addr())
	n.held, n.looking, n.unheld = n.connect(n.url), n.connect(n.url), n.connect(fmt.Sprintf("postgres://curator@%s/visits", l.Addr()))
	random := n.db.Random()
	n.db.SetRandom(func() *noise.Source {
		toil := time.Duration(n.work.Load())
		if !n.toils {
			time.Sleep(toil)
			toil = 0
		}
		for begun := time.Now(); time.Since(begun) < toil; { // as reading rows does, it works
		}
		if n.fails.Load() {
			return noise.NewSourceFrom(iotest.ErrReader(errors.New("no random bits")))
		}
		return random()
	})
	return n
}

// setBack sets the answer times back. It returns the longest that there was.
func (n *timedNeighbour) setBack() (longest time.Duration) {
	err := n.db.Store().Write(context.Background(), func(tx *catalog.Tx) error {
		all, err := tx.Tables()
		for _, t := range all {
			longest = max(longest, t.AnswerTime)
			err = errors.Join(err, tx.SetAnswerTime(t.ID, n.answerTime))
		}
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
	return longest
}

// connect connects, and sets the accuracy.
func (n *timedNeighbour) connect(url string) *pgx.Conn {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { c.Close(context.Background()) })
	if err := request(c, `SET accuracy = 1000000`); err != nil {
		n.Fatal(err)
	}
	return c
}

// request has statements executed and reads all replies.
func request(c *pgx.Conn, text string) error {
	_, err := c.PgConn().Exec(context.Background(), text).ReadAll()
	return err
}

// stored reports whether an answer is stored, so that the statement costs nothing more.
func (n *timedNeighbour) stored(text string) bool {
	results, err := n.looking.PgConn().Exec(context.Background(), "EXPLAIN "+text).ReadAll()
	if err != nil {
		n.Fatal(err)
	}
	return bytes.Contains(bytes.Join(slices.Concat(results[0].Rows...), nil), []byte("stored"))
}

// count returns a question that was not asked before.
func (n *timedNeighbour) count() string {
	n.asked++
	k := n.asked % 10_000
	return fmt.Sprintf(`SELECT COUNT(DISTINCT person) FROM visits WHERE a * 100 + b NOT IN (%d, %d)`, k, (k+1+n.asked/10_000)%10_000)
}

// The ways in which statements end.
const (
	endsPlain     = iota
	endsTwice     // a comparison fires, and the next one does in a slot of its own
	endsCancelled // by a request to cancel, while rows are read or the answer is held
	endsLeft      // the client leaves then, and another asks at once
	endsSeen      // not by the reply: another looks towards the end of the slot whether the answer is stored
	endsFailing
	endsLate
	endings
)

// time returns how long a statement takes. It sets the answer times back, and reports the longest
// that there was.
func (n *timedNeighbour) time(c *pgx.Conn, way int, disturb, longer time.Duration) (took, longest time.Duration) {
	text := n.count()
	work := longer
	switch way {
	case endsTwice:
		work /= 4 // noise is drawn several times
		must(n, n.curator, `CREATE MECHANISM live ON steps (b, c) USING SMW WITH (epsilon = 3, max_updates = 2, queries = 100, max_support = 200, prior = uniform)`)
		text = fmt.Sprintf(`SELECT /*+ mechanism(live) */ c, COUNT(*) FROM steps WHERE b < 3 OR b IN (%d, %d) GROUP BY c`, 3+n.fired%48, 51+n.fired/48%49)
		n.fired++
		defer func() {
			if fired := must(n, n.curator, `SHOW MECHANISMS`).Rows[0][4]; fired != "2 of 2" {
				n.Errorf("the runs are %v", fired)
			}
			must(n, n.curator, `DROP MECHANISM live`)
		}()
	case endsLeft:
		c = n.connect(n.url)
	case endsLate:
		work += n.answerTime
	}
	n.work.Store(int64(work))
	n.fails.Store(way == endsFailing)
	var err error
	other := make(chan error, 1)
	begun := time.Now()
	switch way {
	case endsLeft:
		c.PgConn().Frontend().SendQuery(&pgproto3.Query{String: text})
		if err = c.PgConn().Frontend().Flush(); err != nil {
			break
		}
		osSleep(disturb)
		c.PgConn().Conn().Close()
		err = request(n.held, n.count())
	case endsCancelled:
		go func() {
			osSleep(disturb)
			other <- c.PgConn().CancelRequest(context.Background())
		}()
		err = request(c, text)
	case endsSeen:
		go func() { other <- request(c, text) }()
		osSleep(n.answerTime * 9 / 10) // looking takes a processor from the work
		for !n.stored(text) {
			if len(other) > 0 && !n.stored(text) { // it has failed
				break
			}
		}
	default:
		err = request(c, text)
	}
	took = time.Since(begun)
	n.work.Store(0)
	n.fails.Store(false)
	if way == endsCancelled || way == endsSeen {
		if err := <-other; err != nil {
			n.Fatal(err)
		}
	}
	if (err != nil) != (way == endsFailing) && way != endsCancelled {
		n.Fatalf("%s: %v", text, err)
	}
	return took, n.setBack()
}

// timings are the times that the same statement takes in two databases. Which comes first is random.
type timings struct {
	way  int
	took [2]time.Duration
}

// timeAll times statements in databases, one right after the other. It returns the times of the first beside
// those of each other. Pairs of which one was doubled and the other was not, or more often, are left out and
// counted: this is what doublings tell. Where more than most of them are, it ends after 500.
func timeAll(random *rand.Rand, of []*timedNeighbour, pairs int, longer []time.Duration, most float64, c func(*timedNeighbour) *pgx.Conn) (all [][]timings, doubled []int) {
	answerTime := of[0].answerTime
	all, doubled = make([][]timings, len(of)), make([]int, len(of))
	for i := range pairs {
		if i >= 500 && float64(doubled[1]) > most*float64(i) {
			break
		}
		way := endsPlain
		if c(of[0]) == of[0].held {
			way = max(endsPlain, random.IntN(14)-14+endings) // one in fourteen each
		}
		took, then := make([]time.Duration, len(of)), make([]time.Duration, len(of))
		disturb := answerTime/2 + time.Duration(random.Int64N(int64(answerTime/2)))
		for _, d := range random.Perm(len(of)) {
			took[d], then[d] = of[d].time(c(of[d]), way, disturb, longer[d])
		}
		for d := range of {
			if then[0] != then[d] {
				doubled[d]++
			} else if d > 0 {
				all[d] = append(all[d], timings{way, [2]time.Duration{took[0] - (then[0] - answerTime), took[d] - (then[d] - answerTime)}}) // relative to the slots
			}
		}
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

// Two databases that differ in one unit answer users at the same times, over the wire. The unit has all the
// rows that it may have, and makes answers take longer: toldApart finds no difference. If there is none it fails
// with probability at most 1e-6. Statements are cancelled, left, fail and are late among others, some take
// two slots, and of some it is looked when their answer can be seen by others. On a machine so busy that many answers are late it is skipped. A third database is like the first: two
// such that were told apart would show a fault of the test. The same tests find the difference in answers that are not held.
func TestNeighboursAnswerAtTheSameTimes(t *testing.T) {
	pairs, unheld, answerTime, longer, level, most := 30, 50, 100*time.Millisecond, 50*time.Millisecond, 1e-6, 0.2 // times that even a busy machine keeps to
	if !*long && *timedPairs == 0 {
		t.Parallel() // most of it is waiting
	}
	if *long {
		pairs, unheld, answerTime, longer, most = 10_000, 2000, 5*time.Millisecond, time.Millisecond/2, 0.05
	}
	if *timedPairs > 0 {
		pairs, unheld, answerTime, longer, most = *timedPairs, 2000, *timedAnswers, *timedAnswers/10, 0.05
	}
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 17))
	of := []*timedNeighbour{newNeighbour(t, 0, answerTime), newNeighbour(t, 200, answerTime)}
	works := []time.Duration{0, longer}
	if *long || *timedPairs > 0 {
		of, works = append(of, newNeighbour(t, 0, answerTime)), append(works, 0)
	}
	all, doubled := timeAll(random, of, pairs, works, most, func(n *timedNeighbour) *pgx.Conn { return n.held })
	if n := len(all[1]) + doubled[1]; float64(doubled[1]) > most*float64(n) {
		t.Skipf("seed %d: of %d pairs %d were doubled differently: the machine is too busy for %v", seed, n, doubled[1], answerTime)
	}
	for d, what := range []string{"", "the neighbours", "two databases with the same rows"} {
		if d == 0 || d >= len(of) {
			continue
		}
		p, by := toldApart(all[d])
		t.Logf("seed %d, %s: %d pairs, and %d of which one was doubled more often; p = %.2g by %s", seed, what, len(all[d]), doubled[d], p, by)
		if p < level {
			t.Errorf("%s are told apart: p = %.2g by %s", what, p, by)
		}
	}
	var apart []timings // the busier the machine, the more it takes
	p, by := 1.0, "nothing"
	for p > level && len(apart) < 20*unheld {
		all, _ = timeAll(random, of[:2], unheld, works, 1, func(n *timedNeighbour) *pgx.Conn { return n.unheld })
		apart = append(apart, all[1]...)
		p, by = toldApart(apart)
	}
	if p > level {
		t.Errorf("answers that are not held are not told apart, either: of %d pairs p = %.2g by %s", len(apart), p, by)
	}
}

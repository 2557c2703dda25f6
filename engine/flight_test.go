package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// racing are spellings of one query.
var racing = []string{
	`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 30`,
	`SELECT COUNT(*) AS c FROM admissions WHERE age BETWEEN 0 AND 29 AND NOT sex <> 'F'`,
}

// racingUnits are spellings of one number of units.
var racingUnits = []string{
	`SELECT COUNT(DISTINCT patient) FROM visits WHERE day < 2`,
	`SELECT COUNT(DISTINCT v.patient) AS c FROM visits AS v WHERE day IN (1, 0)`,
}

// race asks the query eight times at once and returns the answers.
func race(db *engine.DB, texts []string, begin <-chan struct{}) []string {
	out := make([]string, 8)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			s := db.NewSession()
			s.Set("accuracy", "50")
			<-begin
			r, err := s.Exec(context.Background(), texts[i%len(texts)], nil)
			if err != nil {
				out[i] = err.Error()
				return
			}
			out[i] = fmt.Sprint(r.Rows[0][0])
		})
	}
	all.Wait()
	return out
}

// flightChild opens the database, and asks when it reads a line.
func flightChild() {
	db, err := engine.Open(os.Getenv("ENGINE_TEST_PATH"), engine.Options{})
	if err != nil {
		panic(err)
	}
	begin := make(chan struct{})
	fmt.Println("ready")
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(begin)
	}()
	texts := racing
	if os.Getenv("ENGINE_TEST_RACE") == "units" {
		texts = racingUnits
	}
	for _, line := range race(db, texts, begin) {
		fmt.Println(line)
	}
	if err := db.Close(); err != nil {
		panic(err)
	}
}

// TestRacingQueriesShareAFlight asks the same query at once from eight sessions of this
// process and of two others. There is one line in the ledger and one answer.
func TestRacingQueriesShareAFlight(t *testing.T) {
	t.Parallel()
	t.Run("rows", func(t *testing.T) { shareAFlight(t, clinic(t), "rows", racing) })
	t.Run("units", func(t *testing.T) { shareAFlight(t, ofPatients(t), "units", racingUnits) })
}

func shareAFlight(t *testing.T, s *engine.Session, name string, texts []string) {
	t.Helper()
	var answers []string
	var inputs []io.Writer
	var outputs []*bufio.Scanner
	for range 2 {
		child := childCommand("flight", "ENGINE_TEST_PATH="+s.DB().Store().Path(), "ENGINE_TEST_RACE="+name)
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		defer child.Wait()
		defer in.Close()
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("a child says %q", lines.Text())
		}
		inputs, outputs = append(inputs, in), append(outputs, lines)
	}
	begin := make(chan struct{})
	for _, in := range inputs {
		fmt.Fprintln(in)
	}
	close(begin)
	answers = race(s.DB(), texts, begin)
	for _, out := range outputs {
		for out.Scan() {
			answers = append(answers, out.Text())
		}
	}
	if len(answers) != 24 {
		t.Errorf("%d answers, want 24", len(answers))
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("answers differ: %s and %s", answers[0], a)
		}
	}
	if n := strings.Count(ledger(t, s), "direct answer"); n != 1 {
		t.Errorf("%d charges, want 1\n%s", n, ledger(t, s))
	}
	left, err := os.ReadDir(filepath.Dir(s.DB().Store().Path()))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if strings.Contains(entry.Name(), "-flight-") {
			t.Errorf("%s was left", entry.Name())
		}
	}
}

// held is a request that another process is buying.
func held(t *testing.T, s *engine.Session) *catalog.Flight {
	t.Helper()
	other := open(t, s.DB().Store().Path(), engine.Options{}) // as in another process
	f, err := other.Store().AcquireFlight(context.Background(), bindText(t, s, racing[0]).Digest(), time.Second, "it is tested")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWaitForAFlightIsCancellable(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 50`)
	before := ledger(t, s)
	defer held(t, s).Land()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Exec(ctx, racing[0], nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
	if ledger(t, s) != before {
		t.Error("a query that only waited was charged")
	}
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'M'`) // another query does not wait
}

func TestWaitForAFlightIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, clinic(t).DB().Store().Path(), engine.Options{BusyTimeout: 20 * time.Millisecond}).NewSession()
	must(t, s, `SET accuracy = 50`)
	defer held(t, s).Land()
	refused(t, s, sqlerr.Busy, racing[0])
}

// TestFailedFlightFailsNobodyElse makes the paying session fail after the charge, for a
// reason of its own. A waiting session buys the answer.
func TestFailedFlightFailsNobodyElse(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 50`)
	broken := open(t, s.DB().Store().Path(), engine.Options{})
	drawing, proceed := make(chan struct{}), make(chan struct{})
	broken.SetRandom(func() *noise.Source {
		close(drawing)
		<-proceed
		return noise.NewSourceFrom(failing{})
	})
	failed := make(chan error)
	go func() {
		other := broken.NewSession()
		other.Set("accuracy", "50")
		_, err := other.Exec(context.Background(), racing[1], nil)
		failed <- err
	}()
	<-drawing
	answered := make(chan error)
	go func() {
		_, err := s.Exec(context.Background(), racing[0], []query.Value{})
		answered <- err
	}()
	close(proceed)
	if err := <-failed; sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("the one without random bits: %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the one who waited: %v", err)
	}
	if n := strings.Count(ledger(t, s), "direct answer"); n != 2 {
		t.Errorf("%d charges, want 2: a failed answer stays charged", n)
	}
}

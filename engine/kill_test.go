package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

// long gives the campaigns of this package the size that .ci/run needs. A campaign's own
// flag overrides it.
var long = flag.Bool("long", false, "run the campaigns at full size")

// sized returns the size of a campaign: given if it is not 0, else the small or the full
// size.
func sized(given, small, full int) int {
	switch {
	case given != 0:
		return given
	case *long:
		return full
	}
	return small
}

// some returns each nth of a campaign's cases, from where the seed says, or all of them with -long.
func some[T any](t testing.TB, n int, of []T) (few []T) {
	t.Helper()
	if *long {
		return of
	}
	for i := int(seeds.Of(t) % uint64(n)); i < len(of); i += n {
		few = append(few, of[i])
	}
	return few
}

// named reports whether go test has -run, and so was told what to run.
func named() bool { return flag.Lookup("test.run").Value.String() != "" }

// waiting is the number of parallel tests that run at a time. Many of them wait for a
// server, a child process or the disk.
const waiting = 6

var killCount = flag.Int("kills", 0, "how often TestKill kills a process; 0 means 12, or 300 with -long")

// TestMain also starts the child processes of this package's tests.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(waiting, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	flag.Parse() // the flag may change the number
	if !*long {
		scratch.InMemory()
	}
	os.Setenv("WAREHOUSE_DSN", farDSN) // for parallel tests, which cannot call t.Setenv
	switch os.Getenv("ENGINE_TEST_CHILD") {
	case "kill":
		killChild()
	case "crowd":
		crowdChild()
	case "user":
		userChild()
	case "flight":
		flightChild()
	case "peak":
		peakChild()
	default:
		scratch.CollectSeldom()
		code := m.Run()
		os.RemoveAll(templates.dir)
		os.Exit(code)
	}
}

// childCommand returns a command that runs the test binary as a child in a role.
func childCommand(role string, environment ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "ENGINE_TEST_CHILD="+role), environment...)
	return c
}

// said is a line that a child prints, before a statement and after it.
type said struct {
	Worker   int
	Done     bool
	Kind     string
	Text     string
	Code     sqlerr.Code    `json:",omitempty"` // of the error, if any
	Value    int64          `json:",omitempty"`
	Margin   float64        `json:",omitempty"`
	Rho      accounting.Rho `json:",omitempty"`
	Via      string         `json:",omitempty"`
	Verified bool           `json:",omitempty"`
}

// say writes a line at once: a printed line has left the process.
func say(s said) {
	line, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(3) // the parent has ended
	}
}

// fillWard makes 2,000 rows, all in 20 cells of 600, and declares a table over them. Most
// queries that contain one of these cells surprise a uniform hypothesis.
func fillWard(t testing.TB, path string, declarations ...string) {
	t.Helper()
	copyOf(t, path, "ward\x00"+strings.Join(declarations, ";"), func(s *engine.Session) {
		fill(t, s, `CREATE TABLE raw_ward (sex TEXT, age INTEGER, diagnosis TEXT)`,
			`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
				INSERT INTO raw_ward SELECT CASE WHEN i % 2 THEN 'F' ELSE 'M' END, (i % 20) * 5, 'E1' || (i % 20 % 3) FROM n`,
			`CREATE INDEX raw_ward_all ON raw_ward (age, diagnosis, sex)`)
		for _, text := range declarations {
			must(t, s, text)
		}
	})
}

// wardTable declares a table over the rows, always with the same budget. The budget is
// absurdly large, so that thousands of statements fit.
func wardTable(name string) string {
	return `CREATE PRIVATE TABLE ` + name + ` (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, diagnosis TEXT IN ('E10', 'E11', 'E12'))
		FROM raw_ward WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`
}

func wardMechanism(name, table string) string {
	return `CREATE MECHANISM ` + name + ` ON ` + table + ` USING SMW
		WITH (epsilon = 60, max_updates = 60, max_support = 600, queries = 1000, beta = 0.5)`
}

// wardQuery draws a query. About half of them are likely to surprise a hypothesis that has
// not learned much.
func wardQuery(r *rand.Rand) string {
	ages := fmt.Sprintf("%d, %d, %d", r.IntN(20)*5+r.IntN(2), r.IntN(100), r.IntN(100))
	return fmt.Sprintf(`SELECT COUNT(*), MARGIN(COUNT(*)) FROM ward WHERE age IN (%s) AND diagnosis <> 'E1%d'`, ages, r.IntN(4))
}

// ward is a child: it runs statements until it is killed.
type ward struct {
	db        *engine.DB
	life      uint64       // distinguishes the names that it gives
	names     atomic.Int64 // names given
	mechanism atomic.Value // the mechanism to ask, a string
}

func killChild() {
	var life, seed uint64
	fmt.Sscan(os.Getenv("ENGINE_TEST_LIFE"), &life, &seed)
	db, err := engine.Open(os.Getenv("ENGINE_TEST_PATH"), engine.Options{BusyTimeout: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	w := &ward{db: db, life: life}
	w.mechanism.Store(os.Getenv("ENGINE_TEST_MECHANISM"))
	random := rand.New(rand.NewPCG(seed, 1))
	// A new query, which has to take the lease.
	w.ask(0, "first", fmt.Sprintf(`SELECT COUNT(*), MARGIN(COUNT(*)) FROM ward WHERE (age = %d OR age = %d AND sex = 'F') AND diagnosis = 'E1%d'`,
		life%100, (life+1+life/100)%100, seed%3))
	one := make([]byte, 1)
	if _, err := os.Stdin.Read(one); err != nil {
		return
	}
	go func() { // ends with the parent
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	go func() {
		for {
			w.inquire(random)
		}
	}()
	for other := rand.New(rand.NewPCG(seed, 2)); ; {
		w.act(other)
	}
}

// run executes one statement and prints it before and after.
func (w *ward) run(worker int, s *engine.Session, kind, text string) said {
	say(said{Worker: worker, Kind: kind, Text: text})
	done := said{Worker: worker, Done: true, Kind: kind, Text: text}
	r, err := s.Exec(context.Background(), text, nil)
	if err != nil {
		done.Code, done.Via = sqlerr.CodeOf(err), err.Error()
	} else if r.Answer != nil {
		done.Via, done.Verified = r.Answer.Via, r.Answer.Verified
		done.Value, _ = r.Rows[0][0].(int64) // NULL, if there may be no row
		done.Margin, _ = r.Rows[0][1].(float64)
		done.Rho = accounting.Rho(math.Round(r.Answer.Cost.Rho * 1e15))
	}
	say(done)
	return done
}

func (w *ward) ask(worker int, kind, text string) said {
	s := w.db.NewSession()
	s.Set("mechanism", w.mechanism.Load().(string))
	return w.run(worker, s, kind, text)
}

// inquire asks the mechanism, and sometimes gives the lease back as a close does.
func (w *ward) inquire(r *rand.Rand) {
	if r.IntN(10) > 0 {
		w.ask(1, "ask", wardQuery(r))
		return
	}
	say(said{Worker: 1, Kind: "yield"})
	done := said{Worker: 1, Done: true, Kind: "yield"}
	if err := w.db.Answers().Close(); err != nil {
		done.Code, done.Via = sqlerr.CodeOf(err), err.Error()
	}
	say(done)
}

func (w *ward) name() string { return fmt.Sprintf("x%d_%d", w.life, w.names.Add(1)) }

// act buys, declares or drops.
func (w *ward) act(r *rand.Rand) {
	s, name := w.db.NewSession(), w.name()
	switch n := r.IntN(20); {
	case n < 12:
		kind, text, accuracies := "direct", wardQuery(r), []string{"10", "12", "15"}
		switch n % 4 {
		case 2:
			kind, text = "values", strings.ReplaceAll(text, "COUNT(*)", "COUNT(DISTINCT diagnosis)")
		case 3:
			kind, text, accuracies = "order", strings.ReplaceAll(text, "COUNT(*)", "QUANTILE(age, 0.5)"), []string{"60", "70", "80"}
		}
		s.Set("mechanism", "direct")
		s.Set("accuracy", accuracies[r.IntN(3)])
		w.run(2, s, kind, text)
	case n < 15:
		w.run(2, s, "release", `CREATE RELEASE `+name+` ON ward USING PROJECTION WITH (epsilon = 0.5)`)
		if r.IntN(2) == 0 {
			w.run(2, s, "drop release", `DROP RELEASE `+name)
		}
	case n < 18:
		old := w.mechanism.Load().(string)
		w.run(2, s, "drop mechanism", `DROP MECHANISM `+old)
		if w.run(2, s, "mechanism", wardMechanism(name, "ward")).Code == "" {
			w.mechanism.Store(name)
		}
	default: // another table over the same rows, which buys N̂ again
		w.run(2, s, "table", wardTable("t"+name))
		w.run(2, s, "mechanism", wardMechanism(name, "t"+name))
		w.run(2, s, "drop mechanism", `DROP MECHANISM `+name)
		w.run(2, s, "drop table", `DROP PRIVATE TABLE t`+name)
	}
}

// life is one child from its start to its end.
type life struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	first   chan said     // receives the answer to the first statement
	ended   chan struct{} // closed at the end of its output
	lines   []said        // read after ended
}

func begin(path, mechanism string, n, seed uint64) (*life, error) {
	l := &life{first: make(chan said, 1), ended: make(chan struct{})}
	l.command = childCommand("kill", "ENGINE_TEST_PATH="+path, "ENGINE_TEST_MECHANISM="+mechanism, fmt.Sprintf("ENGINE_TEST_LIFE=%d %d", n, seed))
	l.command.Stderr = &l.stderr
	var err error
	if l.stdin, err = l.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.command.Start(); err != nil {
		return nil, err
	}
	go l.listen(out)
	return l, nil
}

func (l *life) listen(out io.Reader) {
	defer close(l.ended)
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		var s said
		if json.Unmarshal(scanner.Bytes(), &s) != nil {
			continue // the rest of a line that the kill cut
		}
		l.lines = append(l.lines, s)
		if s.Kind == "first" && s.Done {
			l.first <- s
		}
	}
}

// end kills the child. It is an error if something else ended it.
func (l *life) end() error {
	l.command.Process.Kill()
	<-l.ended
	if err := l.command.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		return fmt.Errorf("a child ended by itself: %v\n%s", err, l.stderr.String())
	}
	return nil
}

// unfinished returns the kinds of statements that had begun and not ended.
func (l *life) unfinished() map[int]string {
	begun := map[int]string{}
	for _, s := range l.lines {
		if s.Done {
			delete(begun, s.Worker)
		} else {
			begun[s.Worker] = s.Kind
		}
	}
	return begun
}

// TestKill kills processes with signal 9 at random moments of their statements. After each
// kill it compares the file with what the dead process had printed and with the file
// before. It counts and logs what the kills interrupted, and fails if none interrupted a
// statement. A child does nothing but run statements, two at a time: a kill between two of the one and
// two of the other is rarer than three in ten, and 12 of 12 have probability below 1e-6.
func TestKill(t *testing.T) {
	t.Parallel()
	total := sized(*killCount, 12, 300)
	seed := seeds.Of(t)
	dir := t.TempDir()
	fillWard(t, filepath.Join(dir, "ward.db"), wardTable("ward"), wardMechanism("m0", "ward"))
	content, err := os.ReadFile(filepath.Join(dir, "ward.db"))
	if err != nil {
		t.Fatal(err)
	}
	var left, files atomic.Int64
	left.Store(int64(total))
	var lanes sync.WaitGroup
	counts := make([]tally, 2)
	for lane := range counts {
		counts[lane] = tally{}
		lanes.Go(func() {
			for !t.Failed() && left.Load() > 0 {
				n := files.Add(1)
				path := filepath.Join(dir, fmt.Sprintf("ward%d.db", n))
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Error(err)
					return
				}
				newWitness(t, path, rand.New(rand.NewPCG(seed, uint64(n))), counts[lane]).watch(&left, 25)
			}
		})
	}
	lanes.Wait()
	for what, n := range counts[1] {
		counts[0][what] += n
	}
	t.Logf("%d files%v", files.Load(), counts[0])
	if !t.Failed() && counts[0]["kills: a statement was in flight"] == 0 {
		t.Error("no kill met a statement")
	}
}

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dpsql/bench/report"
	"dpsql/engine"
	"dpsql/internal/pgtest"
)

// rowPlace is where private rows are kept.
type rowPlace interface {
	name() string
	most() int // the number of rows that can be stored within minutes
	grow(n int) error
	run(statements ...string) (childOutput, error) // runs them in a process of its own
	serial() int                                   // returns a new number each time
	close() error
}

// rowsBetween is the SELECT list of rows i, in both dialects. Multiples of odd numbers
// modulo 2^32 fill the universe evenly. Squared, origins are skewed.
const rowsBetween = `((i * 2654435761 %% 4294967296) >> 16) * ((i * 2654435761 %% 4294967296) >> 16) * 228 / 4294967296,
	(i * 2246822519 %% 4294967296) * 228 / 4294967296, (i * 3266489917 %% 4294967296) * 24 / 4294967296`

// occupied returns how many cells of a release the rows up to n occupy.
func occupied(n int, sh shape) (cells int) {
	seen := make([]bool, sh.cells)
	for i := uint64(1); i <= uint64(n); i++ {
		a, b, c := i*2654435761%(1<<32), i*2246822519%(1<<32), i*3266489917%(1<<32)
		at := sh.cell((a>>16)*(a>>16)*228>>32, b*228>>32, c*24>>32)
		if !seen[at] {
			seen[at] = true
			cells++
		}
	}
	return cells
}

// rowsAt is a dpsql file and the child processes that use it.
type rowsAt struct {
	path string
	env  []string
	used int // serial numbers used
	rows int
}

const declareFlights = `CREATE PRIVATE TABLE flights (origin INTEGER BETWEEN 0 AND 227, destination INTEGER BETWEEN 0 AND 227,
	hour INTEGER BETWEEN 0 AND 23) FROM %s WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`

func (s *rowsAt) serial() int {
	s.used++
	return s.used
}

func (s *rowsAt) run(statements ...string) (childOutput, error) {
	return runChild(childInput{Path: s.path, Statements: statements}, s.env)
}

// filePlace keeps the rows in the dpsql file itself.
type filePlace struct {
	rowsAt
	raw *sql.DB
}

func newFilePlace(dir string) (*filePlace, error) {
	path := filepath.Join(dir, "file.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	p := &filePlace{rowsAt{path: path}, raw}
	if _, err = raw.Exec(`CREATE TABLE raw (origin INTEGER, destination INTEGER, hour INTEGER)`); err == nil {
		_, err = p.run(fmt.Sprintf(declareFlights, "raw"))
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *filePlace) name() string { return "SQLite" }

func (p *filePlace) most() int { return 10_000_000 }

func (p *filePlace) grow(n int) error {
	_, err := p.raw.Exec(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO raw SELECT `+rowsBetween+` FROM n`, p.rows+1, n))
	p.rows = n
	return err
}

func (p *filePlace) close() error {
	return errors.Join(p.raw.Close(), os.RemoveAll(filepath.Dir(p.path)))
}

// serverPlace keeps the rows in PostgreSQL.
type serverPlace struct {
	rowsAt
	cluster *pgtest.Cluster
	link    *pgtest.Proxy
}

// newServerPlace starts a server with settings for measuring: memory as a small
// server has it, two workers to a query.
func newServerPlace() (*serverPlace, error) {
	cluster, err := pgtest.New("shared_buffers=256MB", "work_mem=256MB", "max_parallel_workers_per_gather=2", "jit=on")
	if err != nil {
		return nil, err
	}
	p := &serverPlace{cluster: cluster}
	if err := p.declare(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *serverPlace) declare() error {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return err
	}
	p.path = filepath.Join(dir, "state.db")
	if p.link, err = p.cluster.NewProxy(); err != nil {
		return err
	}
	p.env = []string{"DPSQL_BENCH_DSN=" + p.cluster.DSN(), "DPSQL_BENCH_LINK=" + p.link.DSN()}
	if _, err := p.cluster.Exec(`CREATE TABLE flights (origin integer NOT NULL, destination integer NOT NULL, hour integer NOT NULL)`); err != nil {
		return err
	}
	_, err = p.run(`CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'DPSQL_BENCH_DSN')`, fmt.Sprintf(declareFlights, "warehouse.public.flights"))
	return err
}

func (p *serverPlace) name() string { return "PostgreSQL" }

func (p *serverPlace) most() int { return 1_000_000_000 }

func (p *serverPlace) grow(n int) error {
	_, err := p.cluster.Exec(fmt.Sprintf(`INSERT INTO flights SELECT `+rowsBetween+` FROM generate_series(%d::bigint, %d) AS i;
		VACUUM ANALYZE flights`, p.rows+1, n))
	p.rows = n
	return err
}

func (p *serverPlace) close() error {
	var linked, removed error
	if p.link != nil {
		linked = p.link.Close()
	}
	if p.path != "" {
		removed = os.RemoveAll(filepath.Dir(p.path))
	}
	return errors.Join(linked, removed, p.cluster.Close())
}

// missing turns the error that PostgreSQL is missing into a paragraph.
func missing(err error, s *report.Section) error {
	if !errors.Is(err, pgtest.ErrMissing) {
		return err
	}
	s.Say("PostgreSQL was not measured: %v.", err)
	return nil
}

// childVariable names the environment variable that tells a child process what to
// measure.
const childVariable = "DPSQL_BENCH_CHILD"

// childInput is a file to open and the statements to run in it.
type childInput struct {
	Path       string
	Statements []string
}

// childOutput is the time of each statement and the peak memory of the process in
// bytes, 0 if the system does not report it.
type childOutput struct {
	Seconds []float64
	Peak    float64
}

// runChild runs statements in a process of their own.
func runChild(in childInput, env []string) (out childOutput, err error) {
	job, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	child := exec.Command(self)
	child.Env = append(append(os.Environ(), childVariable+"="+string(job)), env...)
	var problems bytes.Buffer
	child.Stderr = &problems
	text, err := child.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return out, json.Unmarshal(text, &out)
}

// isChild reports whether runChild started this process. If so, the process has done
// its work, and its exit code is the second result.
func isChild() (bool, int) {
	job := os.Getenv(childVariable)
	if job == "" {
		return false, 0
	}
	if err := childWork(job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true, 1
	}
	return true, 0
}

func childWork(job string) error {
	var in childInput
	if err := json.Unmarshal([]byte(job), &in); err != nil {
		return err
	}
	db, err := engine.Open(in.Path, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	session := db.NewSession()
	var out childOutput
	for _, text := range in.Statements {
		start := time.Now()
		if _, err := session.Exec(context.Background(), text, nil); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		out.Seconds = append(out.Seconds, time.Since(start).Seconds())
	}
	out.Peak = peakMemory()
	return json.NewEncoder(os.Stdout).Encode(out)
}

// peakMemory returns the largest amount of memory that this process has had.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib * 1024
		}
	}
	return 0
}

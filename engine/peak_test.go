package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dpsql/engine"
	"dpsql/internal/pgtest"
)

var peakRows = flag.Int("peak", 0, "the rows that TestPeakMemory compares with a tenth of them; 0 means a million with -long, and none without")

// peakSlack is how much the peak memory of a process may grow from a tenth of the rows to
// all of them. The garbage collector's pace moves the peak by some MiB. A row is 27 bytes
// in a file and 160 as values, and nine tenths of the rows are new. So from 400,000 rows
// on the slack is less than the rows.
func peakSlack(rows int) int64 { return 5<<20 + 7*int64(rows) }

// TestPeakMemory imports files and builds releases of them, or of rows on a server, in
// separate processes. A process must not grow with the rows. Both sizes have rows in all
// cells, so the cells are the same. The test runs with -long alone: fewer rows would not be seen.
func TestPeakMemory(t *testing.T) {
	t.Parallel()
	if !*long && *peakRows == 0 {
		t.Skip("run with -args -long")
	}
	rows := sized(*peakRows, 0, 1_000_000)
	if _, err := vmHWM(); err != nil {
		t.Skipf("the system does not say how large a process was: %v", err)
	}
	cases := []struct{ name, with string }{
		{"flights.csv", "epsilon = 1"},
		{"flights.parquet", "epsilon = 1, unit = 'passenger', max_rows = 2"},
		{"PostgreSQL", "epsilon = 1"},
		{"PostgreSQL", "epsilon = 1, unit = 'passenger', max_rows = 2"},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.with, func(t *testing.T) {
			of := peakOfFile
			if c.name == "PostgreSQL" {
				of = peakOfServer
			}
			small, large := of(t, c.name, rows/10, c.with), of(t, c.name, rows, c.with)
			t.Logf("%d rows %.1f MiB, %d rows %.1f MiB", rows/10, mib(small), rows, mib(large))
			if large > small+peakSlack(rows) {
				t.Errorf("the peak grew by %.1f MiB with ten times the rows", mib(large-small))
			}
		})
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// peakOfFile returns the peak memory of a process that imports n rows from a
// file of the name's format and builds a release of them.
func peakOfFile(t *testing.T, name string, n int, with string) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writePassengers(t, path, n)
	return peakOf(t, "PEAK_FILE="+path, "PEAK_FROM=raw", "PEAK_WITH="+with)
}

// peakOfServer returns the peak memory of a process that builds a release of rows on a
// server.
func peakOfServer(t *testing.T, _ string, n int, with string) int64 {
	t.Helper()
	c := pgtest.Shared(t)
	c.MustExec(t, fmt.Sprintf(`DROP TABLE IF EXISTS raw; CREATE TABLE raw AS SELECT i * 7919 %% %d AS passenger,
		i * 31 %% 20 AS origin, i * 37 / 20 %% 20 AS destination, i / 7 %% 24 AS hour FROM generate_series(1::bigint, %d) AS i; ANALYZE raw`, n/3+1, n))
	return peakOf(t, "PEAK_DSN="+c.DSN(), "PEAK_FROM=peak.public.raw", "PEAK_WITH="+with)
}

func peakOf(t *testing.T, environment ...string) int64 {
	t.Helper()
	child := childCommand("peak", append(environment, "PEAK_DB="+filepath.Join(t.TempDir(), "peak.db"))...)
	var problems bytes.Buffer
	child.Stderr = &problems
	out, err := child.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.Bytes())
	}
	peak, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

// peakChild imports its file, if it has one, builds a release, and prints its peak memory.
func peakChild() {
	err := func() error {
		db, err := engine.Open(os.Getenv("PEAK_DB"), engine.Options{})
		if err != nil {
			return err
		}
		defer db.Close()
		s := db.NewSession()
		first := `CREATE SOURCE peak USING POSTGRES WITH (dsn_env = 'PEAK_DSN')`
		if file := os.Getenv("PEAK_FILE"); file != "" {
			if _, err := s.Import(context.Background(), engine.Import{Path: file, Table: "raw"}); err != nil {
				return err
			}
			first = `SHOW TABLES`
		}
		for _, text := range []string{
			first,
			`CREATE PRIVATE TABLE flights (origin INTEGER BETWEEN 0 AND 19, destination INTEGER BETWEEN 0 AND 19,
				hour INTEGER BETWEEN 0 AND 23) FROM ` + os.Getenv("PEAK_FROM") + ` WITH (` + os.Getenv("PEAK_WITH") + `)`,
			`CREATE RELEASE r ON flights USING PROJECTION WITH (epsilon = 1)`,
		} {
			if _, err := s.Exec(context.Background(), text, nil); err != nil {
				return err
			}
		}
		peak, err := vmHWM()
		fmt.Println(peak)
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// vmHWM returns the peak memory of this process in bytes.
func vmHWM() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("no VmHWM")
}

// passenger is a row of a generated file.
type passenger struct {
	Passenger   int64  `parquet:"passenger"`
	Origin      int64  `parquet:"origin"`
	Destination int64  `parquet:"destination"`
	Hour        int64  `parquet:"hour"`
	Remark      string `parquet:"remark"`
}

// writePassengers writes n rows, about three of each passenger.
func writePassengers(t *testing.T, path string, n int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := bufio.NewWriter(f)
	fmt.Fprintln(text, "passenger,origin,destination,hour,remark")
	put, done := func(p passenger) error {
		_, err := fmt.Fprintf(text, "%d,%d,%d,%d,%s\n", p.Passenger, p.Origin, p.Destination, p.Hour, p.Remark)
		return err
	}, text.Flush
	if strings.HasSuffix(path, ".parquet") {
		w := parquet.NewGenericWriter[passenger](f, parquet.MaxRowsPerRowGroup(50_000))
		put, done = func(p passenger) error { _, err := w.Write([]passenger{p}); return err }, w.Close
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		p := passenger{r.Int64N(int64(n/3 + 1)), r.Int64N(20), r.Int64N(20), r.Int64N(24), fmt.Sprintf("seat %d", i)}
		if err := put(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(passenger{Hour: -1}); err != nil { // outside the domains
		t.Fatal(err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
}

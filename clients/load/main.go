// Command load measures dpsql serve under pgbench, beside PostgreSQL with the same rows in
// the same run, and prints a table. Both answer the same count with another parameter each
// time, by prepared statements:
//
//	SELECT COUNT(*) FROM visits WHERE age = :age AND sex = 'F'
//
// dpsql answers from an identity release of a table that has a stored answer too, and in one line beside
// a client that asks one question after the other for which rows are read. PostgreSQL reads rows, with an
// index and without. Servers and pgbench share the machine's processors.
//
//	go run ./clients/load
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/clients"
	"dpsql/internal/pgtest"
)

const script = "\\set age random(0, 99)\nSELECT COUNT(*) FROM visits WHERE age = :age AND sex = 'F';\n"

func main() {
	rows := flag.Int("rows", 50_000, "private rows")
	duration := flag.Duration("time", 10*time.Second, "of each measurement")
	flag.Parse()
	if err := measure(context.Background(), *rows, *duration); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, rows int, duration time.Duration) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m := meter{dir: dir, duration: duration}
	if err := os.WriteFile(m.script(), []byte(script), 0o600); err != nil {
		return err
	}
	fmt.Printf("%d rows, %d processors, %s\n\n", rows, runtime.NumCPU(), load())
	fmt.Println("| server | connections | answers a second | median ms | p99 ms | its processor time an answer, µs |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	if err := m.postgres(rows); err != nil {
		return err
	}
	return m.dpsql(ctx, rows)
}

// load is the machine's load averages, where it tells them.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:3], " ")
}

// meter runs pgbench and prints lines of the table.
type meter struct {
	dir      string
	duration time.Duration
}

func (m meter) script() string { return filepath.Join(m.dir, "ask.sql") }

// postgres measures PostgreSQL, without an index and with one.
func (m meter) postgres(rows int) (err error) {
	host := fmt.Sprintf("127.%d.%d.1", os.Getpid()/250%250+1, os.Getpid()%250+1)
	c, err := pgtest.New("listen_addresses='"+host+"'", "max_connections=100")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	_, err = c.Exec(clients.Postgres + "\\copy visits FROM STDIN (FORMAT csv, HEADER)\n" + clients.Visits(rows) + "\\.\nVACUUM ANALYZE visits;")
	if err != nil {
		return err
	}
	server := clients.Server{Host: host, Port: "5432", Database: "postgres", User: "ana"}
	if err := m.line("PostgreSQL, no index", server, 0, 64); err != nil {
		return err
	}
	if _, err := c.Exec("CREATE INDEX ON visits (age, sex); VACUUM ANALYZE visits;"); err != nil {
		return err
	}
	return m.line("PostgreSQL, index", server, 0, 64)
}

// dpsql measures the command of this tree.
func (m meter) dpsql(ctx context.Context, rows int) (err error) {
	s, err := clients.Serve(ctx, m.dir, rows, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	grant := exec.CommandContext(ctx, filepath.Join(m.dir, "dpsql"), "clinic.db", "GRANT SELECT ON visits TO ana WITH (rho = 1)")
	grant.Dir = m.dir
	if said, err := grant.CombinedOutput(); err != nil {
		return fmt.Errorf("GRANT: %w: %s", err, said)
	}
	if err := buy(ctx, s, 1, nil); err != nil { // what is stored is looked for from then on
		return err
	}
	server := s.Server
	for _, n := range []int{64, 1, 8, 256, 1000} {
		if err := m.line("dpsql", server, s.PID, n); err != nil {
			return err
		}
	}
	stop, bought := make(chan struct{}), make(chan error, 1)
	go func() { bought <- buy(ctx, s, 1_000_000, stop) }()
	err = m.line("dpsql, beside answers for which rows are read", server, s.PID, 64)
	close(stop)
	if err := errors.Join(err, <-bought); err != nil {
		return err
	}
	server.TLS = true
	if err := m.line("dpsql, TLS", server, s.PID, 64); err != nil {
		return err
	}
	if err := m.line("dpsql, TLS, a login each time", server, s.PID, 8, "-C"); err != nil {
		return err
	}
	return idle(ctx, s, 900)
}

// buy asks so many questions for which rows are read, until it is told to stop.
func buy(ctx context.Context, s *clients.Service, n int, stop <-chan struct{}) error {
	c, err := pgx.Connect(ctx, dsn(s)+"disable")
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for i := range n {
		select {
		case <-stop:
			return nil
		default:
		}
		_, err := c.Exec(ctx, fmt.Sprintf("SELECT /*+ accuracy(5000) mechanism(direct) */ COUNT(*) FROM visits WHERE age NOT IN (%d, %d)", i%100, 100+i+n))
		if err != nil {
			return err
		}
	}
	return nil
}

// line measures one row of the table. A server of one process has a pid.
func (m meter) line(name string, server clients.Server, pid, connections int, more ...string) error {
	logs := filepath.Join(m.dir, "log")
	duration := m.duration + time.Duration(connections)*20*time.Millisecond // pgbench's counts from its first login
	args := append([]string{"-n", "-M", "prepared", "-c", strconv.Itoa(connections), "-j", strconv.Itoa(min(2, connections)),
		"-T", strconv.Itoa(int(duration.Seconds())), "-f", m.script(), "-l", "--sampling-rate=0.25", "--log-prefix=" + logs}, more...)
	run := exec.Command("pgbench", args...)
	run.Env = server.Environment(m.dir)
	before := busy(pid)
	said, err := run.CombinedOutput()
	spent := busy(pid) - before
	if err != nil {
		return fmt.Errorf("pgbench: %w: %s", err, said)
	}
	rate := regexp.MustCompile(`tps = (\d+)`).FindSubmatch(said)
	done := regexp.MustCompile(`actually processed: (\d+)`).FindSubmatch(said)
	failed := regexp.MustCompile(`failed transactions: (\d+)`).FindSubmatch(said)
	if rate == nil || done == nil || failed == nil || string(failed[1]) != "0" {
		return fmt.Errorf("pgbench said: %s", said)
	}
	times, err := m.times(logs)
	if err != nil {
		return err
	}
	at := func(q float64) float64 { return times[int(q*float64(len(times)-1))] / 1000 }
	cost := ""
	if n, err := strconv.Atoi(string(done[1])); err == nil && pid != 0 {
		cost = strconv.Itoa(int(spent.Microseconds()) / n)
	}
	fmt.Printf("| %s | %d | %s | %.1f | %.1f | %s |\n", name, connections, rate[1], at(0.5), at(0.99), cost)
	return nil
}

// busy is the processor time that a process has used so far, 0 where the system does not
// tell it. Linux counts it in hundredths of a second.
func busy(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name, which may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// times reads what pgbench logged, a line an answer with its microseconds in the third
// column, and returns the times in order.
func (m meter) times(prefix string) (out []float64, err error) {
	files, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 2 {
				us, err := strconv.ParseFloat(fields[2], 64)
				if err != nil {
					return nil, err
				}
				out = append(out, us)
			}
		}
		f.Close()
		os.Remove(name)
	}
	if len(out) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	slices.Sort(out)
	return out, nil
}

// dsn says how to connect to a service, but for the mode of TLS.
func dsn(s *clients.Service) string {
	return fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=", s.Host, s.Port, s.User, s.Password, s.Database)
}

// idle prints how much memory the server takes for each of n connections that wait.
func idle(ctx context.Context, s *clients.Service, n int) error {
	before, err := resident(s.PID)
	if err != nil {
		return err
	}
	for _, mode := range []string{"disable", "require"} {
		var open []*pgx.Conn
		for range n {
			c, err := pgx.Connect(ctx, dsn(s)+mode)
			if err != nil {
				return err
			}
			open = append(open, c)
			if _, err := c.Exec(ctx, "SELECT COUNT(*) FROM visits"); err != nil {
				return err
			}
		}
		after, err := resident(s.PID)
		if err != nil {
			return err
		}
		fmt.Printf("\n%d idle connections that have asked once, sslmode=%s: %d KiB resident more, %.0f KiB each\n", n, mode, after-before, float64(after-before)/float64(n))
		for _, c := range open {
			c.Close(ctx)
		}
	}
	return nil
}

// resident is a process's memory in KiB.
func resident(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the system does not say how much memory a process has")
	}
	return strconv.Atoi(string(found[1]))
}

package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
)

// mostResident is what a server of the floods' database may have in memory, in bytes: what docs/serve.md
// says that eve's connections can make it keep, and what it takes itself.
const mostResident = 2 << 30

// flood is what eve does to slow, fill or stop others. It is done over and over by some of her
// connections at a time, until the context ends. Errors are hers.
type flood struct {
	name    string
	clients int
	once    func(ctx context.Context, address string, client int)
	alone   bool // only by -long: its work takes long slots, which the end of the server waits for
}

// floods are those of the campaign. Another needs one entry.
var floods = []flood{
	{name: "nothing", clients: 1, once: func(ctx context.Context, _ string, _ int) { <-ctx.Done() }},
	{name: "replies that are not taken", clients: 8, once: func(ctx context.Context, address string, _ int) {
		as(ctx, address, func(c *pgx.Conn) {
			h, err := c.PgConn().Hijack()
			if err != nil {
				return
			}
			defer context.AfterFunc(ctx, func() { h.Conn.Close() })()
			h.Frontend.Send(&pgproto3.Parse{Name: "s", Query: "SELECT 1" + strings.Repeat(", 1", 300)})
			for range 20_000 {
				h.Frontend.Send(&pgproto3.Describe{ObjectType: 'S', Name: "s"})
			}
			h.Frontend.Flush()
			h.Conn.Close()
		})
	}},
	{name: "things to keep", clients: 8, once: func(ctx context.Context, address string, client int) {
		as(ctx, address, func(c *pgx.Conn) {
			tell(ctx, c, "BEGIN")
			for i := 0; ctx.Err() == nil && i < 2000 && tell(ctx, c, hoards[client%len(hoards)].step(i)) == nil; i++ {
			}
		})
	}},
	{name: "silent sockets", clients: 8, once: func(ctx context.Context, address string, _ int) {
		for range 200 {
			c, err := net.Dial("tcp", address)
			if err != nil || ctx.Err() != nil {
				break
			}
			defer c.Close()
		}
		sleep(ctx, 100*time.Millisecond)
	}},
	{name: "logins", clients: 8, once: func(ctx context.Context, address string, _ int) {
		for range 200 {
			if c, err := pgx.Connect(ctx, url(address, "eve")); err == nil {
				defer c.Close(context.Background())
			}
		}
	}},
	{name: "wrong passwords", clients: 40, once: func(ctx context.Context, address string, client int) {
		config, err := pgx.ParseConfig(url(address, []string{"ana", "carl"}[client%2]))
		if err != nil {
			return
		}
		// From elsewhere than ana and carl, where the machine has another address of its own. If not, these wait
		// for failures at their own address.
		config.Password, config.DialFunc = "wrong", (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
		if c, err := pgx.ConnectConfig(ctx, config); err == nil {
			c.Close(ctx)
		}
		sleep(ctx, 20*time.Millisecond)
	}},
	asking("recursive queries", 8, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT MAX(i) FROM n`),
	asking("EXPLAIN of a long condition", 24, `EXPLAIN SELECT COUNT(*) FROM wide WHERE (n * 7919 + m * 104729 + n * m) % 10007 < 500%d`),
	asking("refusals of 30,000 groups", 4, `SET accuracy = 5000; SET mechanism = direct; SELECT n, COUNT(*) FROM wide WHERE m < 100 + %d GROUP BY n`),
	groups(),
}

// groups asks for as many groups as the answer time of the long form has room for, until nothing is left of eve's quota.
func groups() flood {
	f := asking("answers of 1,000 groups", 4, `SET accuracy = 5000; SET mechanism = direct; SELECT n, COUNT(*) FROM wide WHERE m < 100 + %d AND n < 1000 GROUP BY n`)
	f.alone = true
	return f
}

// asking is a flood of one statement. The number in it is a new one each time.
func asking(name string, clients int, text string) flood {
	return flood{name: name, clients: clients, once: func(ctx context.Context, address string, client int) {
		as(ctx, address, func(c *pgx.Conn) {
			for i := client; ctx.Err() == nil; i += clients {
				one := text
				if strings.Contains(text, "%d") {
					one = strings.Replace(text, "%d", strconv.Itoa(i), 1)
				}
				if tell(ctx, c, one) != nil {
					sleep(ctx, time.Millisecond)
				}
			}
		})
	}}
}

func url(address, user string) string {
	password := strings.Join([]string{user, user, user}, "-")
	return "postgres://" + user + ":" + password + "@" + address + "/clinic?sslmode=disable"
}

// as connects as eve.
func as(ctx context.Context, address string, do func(*pgx.Conn)) {
	if c, err := pgx.Connect(ctx, url(address, "eve")); err == nil {
		do(c)
		c.Close(context.Background())
	}
}

func tell(ctx context.Context, c *pgx.Conn, text string) error {
	_, err := c.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// pour has eve's clients do a flood, in a process of their own, until the function that it returns is called. The
// process has what nobody else wants of the processors: what her clients compute is done elsewhere than on the
// server's machine.
func pour(t *testing.T, address string, f flood) (stop func()) {
	cmd, in, out := process(t, floodName+"="+f.name, floodAddress+"="+address)
	go io.Copy(io.Discard, out)
	return func() {
		in.Close()
		cmd.Wait()
	}
}

// floodProcess floods a server until its standard input ends.
func floodProcess(name, address string) {
	if os.Getenv("DPSQL_TEST_IDLE") == "" {
		for _, idle := range [][]string{{"chrt", "-i", "0"}, {"nice", "-n", "19"}} {
			if path, err := exec.LookPath(idle[0]); err == nil {
				syscall.Exec(path, append(idle, os.Args[0]), append(os.Environ(), "DPSQL_TEST_IDLE=1"))
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
		time.Sleep(5 * time.Second) // a client may wait for the server
		os.Exit(0)
	}()
	f := floods[slices.IndexFunc(floods, func(f flood) bool { return f.name == name })]
	var all sync.WaitGroup
	for client := range f.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				f.once(ctx, address, client)
			}
		})
	}
	all.Wait()
}

// served are the times that others took, by what they did.
type served struct {
	mu    sync.Mutex
	times map[string][]time.Duration
}

func newServed() *served { return &served{times: make(map[string][]time.Duration)} }

func (s *served) add(what string, begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[what] = append(s.times[what], time.Since(begun))
}

func (s *served) p99(what string) time.Duration {
	all := slices.Sorted(slices.Values(s.times[what]))
	return all[len(all)*99/100]
}

// asked numbers the answers that are bought, so that none is stored already.
var asked = make(chan int)

// enter logs in, from a network that eve does not have, where the machine has one: who logs in from hers may have
// to leave for one of her sockets. A login may also be late, or find no file left to open, by what the machine has
// to do: it is tried again, unless its password was refused.
func enter(t *testing.T, address, user string) *pgx.Conn {
	config, err := pgx.ParseConfig(url(address, user))
	if err != nil {
		t.Error(err)
		return nil
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}).DialContext(ctx, network, address)
		if err != nil {
			c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return c, err
	}
	for tries := 0; ; tries++ {
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			return c
		}
		var refused *pgconn.PgError
		if tries == 100 || errors.As(err, &refused) && refused.Code == "28P01" {
			t.Errorf("%s cannot log in: %v", user, err)
			return nil
		}
		t.Logf("%s logs in again: %v", user, err)
		sleep(t.Context(), 100*time.Millisecond)
	}
}

// works has ana and carl log in, ask some times what a release answers and buy an answer: once, or with -long for ten
// seconds, in which they log in often for each answer that they buy, so that a p99 is of hundreds.
func works(t *testing.T, address string, s *served) {
	logins, last := 1, time.Now()
	if *long {
		logins, last = 20, last.Add(10*time.Second)
	}
	var both sync.WaitGroup
	for _, user := range []string{"ana", "carl"} {
		both.Go(func() {
			for round := 0; round == 0 || time.Now().Before(last); round++ {
				var c *pgx.Conn
				for n := range logins {
					if n > 0 {
						c.Close(t.Context())
					}
					begun := time.Now()
					if c = enter(t, address, user); c == nil {
						return
					}
					s.add("login", begun)
					for range 3 {
						begun = time.Now()
						if err := tell(t.Context(), c, "SELECT COUNT(*) FROM visits WHERE age < 30"); err != nil {
							t.Errorf("%s asks a release: %v", user, err)
						}
						s.add("free", begun)
					}
				}
				begun := time.Now()
				n := <-asked
				if err := tell(t.Context(), c, fmt.Sprintf("SET accuracy = 600; SET mechanism = direct; SELECT COUNT(*) FROM visits WHERE age BETWEEN %d AND %d", n%50, 50+n/50%50)); err != nil {
					t.Errorf("%s buys: %v", user, err)
				}
				s.add("bought", begun)
				c.Close(t.Context())
			}
		})
	}
	both.Wait()
}

// floodFile makes a database of three users and two private tables.
func floodFile(t *testing.T, answerTime int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fill(t, db)
	rows := "n,m\n" + strings.Repeat("1,2\n3,4\n", 100)
	writeFile(t, path+".csv", rows)
	s := db.NewSession()
	if _, err := s.Import(t.Context(), engine.Import{Path: path + ".csv", Table: "wide_raw"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf(`ALTER PRIVATE TABLE visits SET (answer_time = %d)`, answerTime),
		fmt.Sprintf(`CREATE PRIVATE TABLE wide (n INTEGER BETWEEN 0 AND 29999, m INTEGER BETWEEN 0 AND 9999) FROM wide_raw WITH (epsilon = 2, delta = 1e-6, answer_time = %d)`, answerTime),
		`ALTER USER ana PASSWORD 'ana-ana-ana'`, `CREATE USER carl PASSWORD 'carl-carl-carl'`, `CREATE USER eve PASSWORD 'eve-eve-eve'`,
		`GRANT SELECT ON visits TO carl WITH (rho = 0.02)`, `GRANT SELECT ON visits TO eve WITH (rho = 0.01)`, `GRANT SELECT ON wide TO eve WITH (rho = 0.02)`,
	} {
		if _, err := s.Exec(t.Context(), text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return path
}

// resident returns the most memory that a process has had, in bytes; 0 where that is not known.
func resident(pid int) (n int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, after, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
		fmt.Sscan(string(after), &n)
	}
	return n << 10
}

// answerTimes returns what the tables of a file show of their limits.
func answerTimes(t *testing.T, path string) string {
	t.Helper()
	db, err := engine.Open(path, engine.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.NewSession().Exec(t.Context(), "SHOW TABLES", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, row := range r.Rows {
		all = append(all, fmt.Sprint(row[0], ": ", row[len(row)-1]))
	}
	return strings.Join(all, "; ")
}

// TestFloods has eve flood a server while ana and carl log in, ask a release and buy answers. All that they do
// goes on, and the server's memory is bounded.
//
// The short form has all of her floods at once, and asserts no time. With -long, which wants a machine of its own,
// each lasts a minute, by turns with none, and with a minute in which another server on the machine is flooded: what a
// flood takes from processors and the system's network is not this server's. No answer time is doubled by what she
// does, and their p99s are at most twice those that they have without her, or with her elsewhere.
func TestFloods(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for n := 0; ; n++ {
			select {
			case asked <- n:
			case <-stop:
				return
			}
		}
	}()
	if !*long {
		withServer(t, floodFile(t, 100), func(address string, server *exec.Cmd) {
			var stops []func()
			for _, f := range floods {
				if !f.alone {
					stops = append(stops, pour(t, address, f))
				}
			}
			sleep(t.Context(), 150*time.Millisecond) // the floods rise
			works(t, address, newServed())
			var all sync.WaitGroup
			for _, stop := range stops {
				all.Go(stop)
			}
			all.Wait()
			most := resident(server.Process.Pid)
			t.Logf("all floods: %d MiB", most>>20)
			if most > mostResident {
				t.Errorf("the server had %d MiB in memory", most>>20)
			}
		})
		return
	}
	for _, f := range floods {
		t.Run(f.name, func(t *testing.T) {
			path := floodFile(t, 250)
			before := answerTimes(t, path)
			withServer(t, path, func(address string, server *exec.Cmd) {
				alone, elsewhere, here := newServed(), newServed(), newServed()
				withServer(t, floodFile(t, 250), func(other string, _ *exec.Cmd) {
					for range 6 {
						works(t, address, alone)
						for _, turn := range []struct {
							to    string
							times *served
						}{{other, elsewhere}, {address, here}} {
							stop := pour(t, turn.to, f)
							sleep(t.Context(), time.Second)
							works(t, address, turn.times)
							stop()
						}
					}
				})
				most := resident(server.Process.Pid)
				line := fmt.Sprintf("%5d MiB", most>>20)
				for _, what := range []string{"login", "free", "bought"} {
					a, e, h := alone.p99(what), elsewhere.p99(what), here.p99(what)
					line += fmt.Sprintf(" · %s %.1f, elsewhere %.1f, here %.1f ms", what, a.Seconds()*1000, e.Seconds()*1000, h.Seconds()*1000)
					if h > 2*max(a, e) {
						t.Errorf("p99 of %s is %v, %v with the flood elsewhere, and %v without", what, h, e, a)
					}
				}
				t.Log(line)
				if most > mostResident {
					t.Errorf("the server had %d MiB in memory", most>>20)
				}
			})
			if after := answerTimes(t, path); after != before {
				t.Errorf("limits %s, and %s before", after, before)
			}
		})
	}
}

// withServer serves a file in a process of its own.
func withServer(t *testing.T, path string, do func(address string, server *exec.Cmd)) {
	t.Helper()
	server, in, out := process(t, serveFile+"="+path)
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	for _, user := range []string{"ana", "carl"} { // once from where they are, before somebody guesses their passwords
		if c := enter(t, address, user); c != nil {
			c.Close(t.Context())
		}
	}
	do(address, server)
	in.Close()
	server.Wait()
}

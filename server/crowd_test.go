package server_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/server"
)

// TestCrowds has more silent sockets than places, and then a user who logs in as often as she can. Others log
// in all the same, and the curator over a Unix socket does.
func TestCrowds(t *testing.T) {
	const most = 10
	db, err := engine.Open(filepath.Join(t.TempDir(), "clinic.db"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fill(t, db)
	if _, err := db.NewSession().Exec(t.Context(), `CREATE USER eve PASSWORD 'e-e-e-e-e'`, nil); err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Config{Database: db, Name: "clinic", Limits: server.Limits{Connections: most},
		Curator: func(c net.Conn, user string) bool { return c.RemoteAddr().Network() == "unix" && user == "curator" }})
	dir := t.TempDir()
	urls := make(map[string]string)
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, ".s.PGSQL.5432")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go s.Serve(ctx, l)
		urls[network] = l.Addr().String()
	}
	ana := "postgres://ana:s3cretive@" + urls["tcp"] + "/clinic?sslmode=disable"
	eve := strings.Replace(ana, "ana:s3cretive", "eve:e-e-e-e-e", 1)
	curator := "host=" + dir + " user=curator dbname=clinic"
	for _, network := range []string{"tcp", "unix"} {
		for range 3 * most {
			silent, err := net.Dial(network, urls[network])
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
		}
		for _, url := range []string{ana, curator} {
			c, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatalf("beside silent sockets of %s: %v", network, err)
			}
			c.Close(t.Context())
		}
	}
	var hers []*pgx.Conn
	for {
		c, err := pgx.Connect(t.Context(), strings.Replace(eve, "eve:", spelling("eve", len(hers))+":", 1))
		if err != nil {
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != "53300" {
				t.Errorf("a login too many: %v", err)
			}
			break
		}
		defer c.Close(context.Background())
		if hers = append(hers, c); len(hers) > most {
			t.Fatalf("one user has %d connections", len(hers))
		}
	}
	for i, url := range []string{ana, curator, curator, ana} {
		if got := show(t, connect(t, url), "SELECT 1"); got != "1" {
			t.Errorf("login %d beside many of another user: %s", i, got)
		}
	}
	if got := show(t, hers[0], "SELECT 1"); got != "1" {
		t.Errorf("the oldest of the others' connections: %s", got)
	}
	ended := 0
	for _, c := range hers {
		if _, err := c.Exec(t.Context(), "SELECT 1"); err != nil {
			ended++
		}
	}
	if ended < 1 || ended > 3 { // 2, and one if ana's first login had not been forgotten
		t.Errorf("%d connections made room for two", ended)
	}
}

// TestSilenceMakesRoom has three times as many silent sockets as places at one address, while a client there has begun
// to log in. It can end its login, at each step.
func TestSilenceMakesRoom(t *testing.T) {
	const most = 10
	url, s := start(t, func(c *server.Config) { c.Limits.Connections = most })
	for step := 1; step <= 2; step++ { // the packet that opens a session, and the client's first message
		config, err := pgx.ParseConfig(url + "?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := net.Dial(network, address)
			return writing{c, func() {
				if writes++; writes != step+1 {
					return
				}
				before := s.Counts().Connections.Load()
				for range 3 * most {
					silent, err := net.Dial(network, address)
					if err != nil {
						t.Error(err)
						return
					}
					t.Cleanup(func() { silent.Close() })
				}
				for s.Counts().Connections.Load() < before+3*most || s.Counts().Open.Load() > most {
					runtime.Gosched()
				}
			}}, err
		}
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		c.Close(t.Context())
	}
}

// writing calls a function before each write.
type writing struct {
	net.Conn
	before func()
}

func (w writing) Write(p []byte) (int, error) {
	w.before()
	return w.Conn.Write(p)
}

// spelling spells a name in one of several ways. All are one user's.
func spelling(name string, i int) string {
	return strings.ToUpper(name[:i%len(name)]) + name[i%len(name):]
}

// TestGuessesAtOnce tries 40 wrong passwords at once, for a user and for a name that nobody has. Nine may be
// tried, one after another, and the others are refused at once. Somebody else at that address logs in
// meanwhile.
func TestGuessesAtOnce(t *testing.T) {
	const tried = 9 // see TestFailures
	for _, name := range []string{"ana", "nobody"} {
		url, _ := start(t, nil)
		url += "?sslmode=disable"
		ctx, cancel := context.WithCancel(t.Context())
		states := make(chan string, 40)
		for i := range cap(states) {
			go func() {
				_, err := pgx.Connect(ctx, strings.Replace(url, "ana:s3cretive", spelling(name, i)+":wrong", 1))
				var e *pgconn.PgError
				if errors.As(err, &e) {
					states <- e.Code
				}
			}()
		}
		refused, decided := 0, 0
		for refused < cap(states)-tried {
			if state := <-states; state == "57P03" {
				refused++
			} else if decided++; state != "28P01" || decided > tried {
				t.Fatalf("%s: %d guesses are decided, the last with %s", name, decided, state)
			}
		}
		if name != "ana" {
			connect(t, url)
		}
		cancel()
	}
}

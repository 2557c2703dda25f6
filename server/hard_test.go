package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/internal/scratch"
	"dpsql/server"
)

var long = flag.Bool("long", false, "run the campaigns at full length")

// The environment of this binary when it is a process of a test.
const (
	serveFile    = "DPSQL_TEST_SERVE" // a file to serve
	askURL       = "DPSQL_TEST_ASK"   // a server to ask
	askSeed      = "DPSQL_TEST_SEED"
	askWithin    = "DPSQL_TEST_ACCURACY"
	floodName    = "DPSQL_TEST_FLOOD" // what to flood a server with
	floodAddress = "DPSQL_TEST_ADDRESS"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(serveFile) != "":
		serveProcess(os.Getenv(serveFile))
	case os.Getenv(askURL) != "":
		askProcess(os.Getenv(askURL))
	case os.Getenv(floodName) != "":
		floodProcess(os.Getenv(floodName), os.Getenv(floodAddress))
	default:
		flag.Set("test.parallel", "6") // most wait: for processes, for PostgreSQL or for the ends of slots
		scratch.InMemory()
		scratch.CollectSeldom()
		os.Exit(m.Run())
	}
}

// serveProcess serves a file, says where, and ends with its standard input. It collects garbage as dpsql serve does.
func serveProcess(file string) {
	debug.SetGCPercent(400)
	db, err := engine.Open(file, engine.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	server.New(server.Config{Database: db, Name: "clinic"}).Serve(context.Background(), l)
}

// askProcess buys answers until the server ends or refuses for lack of budget, and prints a
// line for each: the condition and the value.
func askProcess(url string) {
	seed, _ := strconv.ParseUint(os.Getenv(askSeed), 10, 64)
	random := rand.New(rand.NewPCG(seed, 1))
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return
	}
	if _, err := c.Exec(context.Background(), "SET mechanism = direct; SET accuracy = "+os.Getenv(askWithin), pgx.QueryExecModeSimpleProtocol); err != nil {
		return
	}
	for range 1000 {
		condition := fmt.Sprintf("age BETWEEN %d AND %d AND sex = '%s'", random.IntN(40), 40+random.IntN(40), []string{"F", "M"}[random.IntN(2)])
		var n int64
		if err := c.QueryRow(context.Background(), "SELECT COUNT(*) FROM visits WHERE "+condition, pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil {
			return
		}
		fmt.Printf("%s\t%d\n", condition, n)
	}
}

// process runs this binary as a process of a test.
func process(t *testing.T, env ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), env...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, in, bufio.NewReader(out)
}

// file makes a database with two users, whose quotas add up to more than the table's budget.
func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fill(t, db)
	s := db.NewSession()
	for _, text := range []string{`CREATE USER bob PASSWORD 'b0b-b0b-b0b'`, `GRANT SELECT ON visits TO ana, bob WITH (rho = 0.02)`} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestKilled kills a server under load with SIGKILL, again and again. Each answer that a client
// received is stored, with its charge: asked again, after the restart and in a read-only
// transaction, it is the same and costs nothing.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 2
	if *long {
		kills = 40
	}
	path := file(t)
	received := make(map[string]string)
	for kill := range kills {
		cmd, in, out := process(t, serveFile+"="+path)
		address, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		url := func(who string) string {
			return fmt.Sprintf("postgres://%s@%s/clinic", who, strings.TrimSpace(address))
		}
		var mu sync.Mutex
		var clients sync.WaitGroup
		answered := make(chan struct{}, 1)
		for i := range 4 {
			who := []string{"ana:s3cretive", "bob:b0b-b0b-b0b"}[i%2]
			client, _, lines := process(t, askURL+"="+url(who), fmt.Sprintf("%s=%d", askSeed, 100*kill+i), askWithin+"=600")
			clients.Add(1)
			go func() {
				defer clients.Done()
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						break
					}
					condition, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
					mu.Lock()
					if before, ok := received[condition]; ok && before != value {
						t.Errorf("%s: %s, and %s before", condition, value, before)
					}
					received[condition] = value
					mu.Unlock()
					select {
					case answered <- struct{}{}:
					default:
					}
				}
				client.Wait()
			}()
		}
		select {
		case <-answered:
		case <-time.After(20 * time.Second):
		}
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
		clients.Wait()
	}
	t.Logf("%d answers received over %d kills", len(received), kills)
	if len(received) == 0 {
		t.Error("nothing was answered: the test shows nothing")
	}
	checkReceived(t, path, "600", received)
}

// checkReceived checks that answers which clients received, by condition, are stored in a file, and
// that the sums are exact.
func checkReceived(t *testing.T, path, accuracy string, received map[string]string) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	s.SetFree(true)
	for _, set := range [][2]string{{"mechanism", "direct"}, {"accuracy", accuracy}} {
		if err := s.Set(set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	for condition, value := range received {
		r, err := s.Exec(context.Background(), "SELECT COUNT(*) FROM visits WHERE "+condition, nil)
		if err != nil || fmt.Sprint(r.Rows[0][0]) != value {
			t.Errorf("%s was answered %s, and is not stored so: %v", condition, value, err)
		}
	}
	checkSums(t, s)
}

// checkSums compares what users have spent with their quotas, and all of it with what the
// table's account has spent.
func checkSums(t *testing.T, s *engine.Session) {
	t.Helper()
	column := func(text, name string) (out []float64) {
		r, err := s.Exec(context.Background(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			for i, c := range r.Columns {
				if c.Name != name {
					continue
				}
				x, err := strconv.ParseFloat(fmt.Sprint(row[i]), 64)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, x)
			}
		}
		return out
	}
	quotas, spent, account := column("SHOW GRANTS", "rho"), column("SHOW GRANTS", "spent"), column("SHOW BUDGET", "spent")
	if len(quotas) != 2 || len(spent) != 2 || len(account) == 0 {
		t.Fatalf("quotas %v, spent %v, account %v", quotas, spent, account)
	}
	if all := account[len(account)-1]; math.Abs(spent[0]+spent[1]-all) > 1e-12 || all == 0 {
		t.Errorf("the users have spent %v, and the account %v", spent, all)
	}
	for i := range quotas {
		if spent[i] > quotas[i] {
			t.Errorf("a user has spent %v of %v", spent[i], quotas[i])
		}
	}
	if total := column("SHOW BUDGET", "total"); spent[0]+spent[1] > total[len(total)-1] {
		t.Errorf("the users have spent %v, and the table has %v", spent, total)
	}
	t.Logf("spent %v of quotas %v", spent, quotas)
}

// TestRace has two users ask from eight processes each until nothing is left. What they have
// spent is what the account has, and neither a quota nor the table's budget is passed.
func TestRace(t *testing.T) {
	t.Parallel()
	processes := 2
	if *long {
		processes = 8
	}
	path := file(t)
	cmd, in, out := process(t, serveFile+"="+path)
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var clients []*exec.Cmd
	for i := range 2 * processes {
		url := fmt.Sprintf("postgres://%s@%s/clinic", []string{"ana:s3cretive", "bob:b0b-b0b-b0b"}[i%2], strings.TrimSpace(address))
		client, _, lines := process(t, askURL+"="+url, fmt.Sprintf("%s=%d", askSeed, i), askWithin+"=60")
		go io.Copy(io.Discard, lines)
		clients = append(clients, client)
	}
	for _, c := range clients {
		c.Wait()
	}
	in.Close()
	cmd.Wait()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	checkSums(t, db.NewSession())
}

// TestSlowClients opens connections that say little or nothing. They end, and others are served
// meanwhile.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	own, _ := certificate(t)
	url, _ := start(t, func(c *server.Config) {
		c.Limits.Login = 2 * time.Second
		c.Certificate = func() (*tls.Certificate, error) { return own, nil }
	})
	address := strings.Split(strings.Split(url, "@")[1], "/")[0]
	ssl := []byte{0, 0, 0, 8, 4, 210, 22, 47}
	var all sync.WaitGroup
	for i := range 60 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		all.Add(1)
		go func() {
			defer all.Done()
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(patience))
			switch i % 4 {
			case 0: // nothing
			case 1: // a byte at a time
				for _, b := range ssl {
					conn.Write([]byte{b})
					time.Sleep(200 * time.Millisecond)
				}
			case 2: // half a TLS handshake
				conn.Write(ssl)
				io.ReadFull(conn, make([]byte, 1))
				conn.Write([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3})
			case 3: // a login that stops half-way
				startup, _ := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana", "database": "clinic"}}).Encode(nil)
				conn.Write(startup)
			}
			_, err := io.Copy(io.Discard, conn)
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Error("a connection that never logged in stayed open")
			}
		}()
	}
	c := connect(t, url)
	if got := show(t, c, "SELECT 1"); got != "1" {
		t.Error(got)
	}
	all.Wait()
}

// TestLongMessages announces messages of up to 2 GiB. The server takes no memory for them.
func TestLongMessages(t *testing.T) {
	url, _ := start(t, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, size := range []uint32{1<<20 + 5, 64 << 20, 1 << 30, 1<<31 - 1, 1 << 31, 1<<32 - 1, 3} {
		_, conn := raw(t, url)
		conn.Write(binary.BigEndian.AppendUint32([]byte{'Q'}, size))
		got, _ := io.ReadAll(conn)
		conn.Close()
		if size > 1<<20 && size < 1<<31 && !bytes.Contains(got, []byte("54000")) {
			t.Errorf("%d bytes: %q", size, got)
		}
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
		t.Errorf("%d bytes were taken", taken)
	}
}

// TestIdleConnections measures the memory of an idle connection: of its buffers and its stack, in
// this process, which also has the client's side of a plain one.
func TestIdleConnections(t *testing.T) {
	n := 80
	if *long {
		n = 1000
	}
	own, _ := certificate(t)
	for _, encrypted := range []bool{false, true} {
		url, s := start(t, func(c *server.Config) {
			c.Curator = func(net.Conn, string) bool { return true } // no password: the client's side stays small
			c.Certificate = func() (*tls.Certificate, error) { return own, nil }
			c.Limits.Connections = n + 1
			c.Limits.Login = time.Minute
		})
		address := strings.Split(strings.Split(url, "@")[1], "/")[0]
		startup, _ := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana", "database": "clinic"}}).Encode(nil)
		ask, _ := (&pgproto3.Query{String: "SELECT COUNT(*) FROM visits"}).Encode(nil)
		before := memory()
		conns := make([]net.Conn, n)
		for i := range conns {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if encrypted {
				conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47})
				io.ReadFull(conn, make([]byte, 1))
				over := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				conn = over
			}
			conns[i] = conn
			conn.Write(append(bytes.Clone(startup), ask...))
			conn.SetReadDeadline(time.Now().Add(patience))
			for seen, buf := []byte(nil), make([]byte, 2048); bytes.Count(seen, []byte("Z\x00\x00\x00\x05I")) < 2; {
				k, err := conn.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, buf[:k]...)
			}
		}
		each := (memory() - before) / uint64(n)
		t.Logf("TLS %v: %d idle connections take %d bytes each, with the client's side", encrypted, n, each)
		limit := uint64(100 << 10)
		if encrypted {
			limit *= 2 // both sides of TLS are here
		}
		if each > limit {
			t.Errorf("an idle connection takes %d bytes", each)
		}
		if got := s.Counts().Open.Load(); got != int64(n) {
			t.Errorf("%d connections are open, want %d", got, n)
		}
	}
}

// memory returns the bytes that are in use, on the heap and on stacks.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/cmd/dpsql/internal/host"
)

// served is a server that runs as a process.
type served struct {
	*testing.T
	cmd     *exec.Cmd
	dir     string // with clinic.db, and a Unix socket
	address string // of TCP
	counts  string // the URL of the counters

	mu    sync.Mutex
	lines []map[string]any // of the log
	raw   bytes.Buffer     // the log as it was written
	more  *sync.Cond       // there are more lines, or no more will come
	ended bool
}

// home makes a database with the user ana, whose password is s3cretive, for a server that was
// not started.
func home(t *testing.T) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	dir, err := os.MkdirTemp("", "d") // a name that leaves room for a socket's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &served{T: t, dir: dir}
	s.more = sync.NewCond(&s.mu)
	s.shell("-f", "testdata/fixture/people.sql", s.file())
	s.shell(s.file(), "CREATE USER ana PASSWORD 's3cretive'; GRANT SELECT ON people TO ana")
	return s
}

// serve starts a server on such a database.
func serve(t *testing.T, flags ...string) *served {
	t.Helper()
	s := home(t)
	s.start(exec.Command("dpsql", append([]string{"serve", s.file(), "--log-format", "json", "--listen", "127.0.0.1:0", "--listen", s.dir, "--metrics", "127.0.0.1:0"}, flags...)...))
	s.counts = strings.TrimSuffix(s.wait("counting")["address"].(string), "/metrics")
	s.address = s.wait("serving")["address"].(string)
	return s
}

// start starts a command that becomes the server.
func (s *served) start(cmd *exec.Cmd) {
	s.Helper()
	s.cmd = cmd
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(errs)
	}()
	s.Cleanup(func() {
		cmd.Process.Kill()
		<-read
		cmd.Wait()
	})
}

func (s *served) file() string { return filepath.Join(s.dir, "clinic.db") }

// shell runs dpsql.
func (s *served) shell(args ...string) {
	s.Helper()
	if out, err := exec.Command("dpsql", args...).CombinedOutput(); err != nil {
		s.Fatalf("dpsql %q: %v\n%s", args, err, out)
	}
}

// read reads the log.
func (s *served) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			line["msg"] = lines.Text() // of the shell's kind
		}
		s.mu.Lock()
		s.raw.WriteString(lines.Text() + "\n")
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		s.more.Broadcast()
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.more.Broadcast()
}

// wait waits for a line of the log with the message, and returns the first.
func (s *served) wait(message string) map[string]any {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for _, line := range s.lines {
			if line["msg"] == message {
				return line
			}
		}
		if s.ended {
			s.Fatalf("the log ends without %q:\n%s", message, s.raw.String())
		}
		s.more.Wait()
	}
}

// end sends a signal and returns the exit status.
func (s *served) end(signal os.Signal) int {
	s.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.Fatal(err)
	}
	s.mu.Lock()
	for !s.ended {
		s.more.Wait()
	}
	s.mu.Unlock()
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// url returns where to connect over TCP.
func (s *served) url(user, password string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/clinic?sslmode=disable", user, password, s.address)
}

// connect connects over TCP.
func (s *served) connect(user, password string) *pgx.Conn {
	s.Helper()
	c, err := pgx.Connect(s.Context(), s.url(user, password))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// local connects over the Unix socket.
func (s *served) local(user string) (*pgx.Conn, error) {
	return pgx.Connect(s.Context(), fmt.Sprintf("postgres://%s@/clinic?host=%s&port=5433", user, s.dir))
}

// page reads a page of those that watch over the server.
func (s *served) page(path string) (status int, text string) {
	s.Helper()
	r, err := http.Get(s.counts + path)
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func count(t *testing.T, c *pgx.Conn) (n int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), "SELECT COUNT(*) FROM people WHERE sex = 'F'", pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

// A server, a shell beside it, its log and its counters, from the start to the end.
func TestServe(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ana := s.connect("ana", "s3cretive")
	count(t, ana)
	for _, e := range []struct {
		text string
		mode pgx.QueryExecMode
	}{{"SELECT COUNT(*) FROM raw_people", pgx.QueryExecModeSimpleProtocol}, {"SELECT COUNT(*) FROM raw_people", pgx.QueryExecModeDescribeExec}, {"FETCH 1 FROM c", pgx.QueryExecModeSimpleProtocol}} {
		if _, err := ana.Exec(t.Context(), e.text, e.mode); err == nil {
			t.Errorf("%s is answered", e.text)
		}
	}

	// A user who is made while the server runs.
	if _, err := pgx.Connect(t.Context(), s.url("bob", "hunter22")); sqlState(err) != "28P01" {
		t.Errorf("bob before he exists: %v", err)
	}
	s.shell(s.file(), "CREATE USER bob PASSWORD 'hunter22'; GRANT SELECT ON people TO bob")
	count(t, s.connect("bob", "hunter22"))

	// The curator over the Unix socket; nobody else is let in there without a password.
	curator, err := s.local("curator")
	if err != nil {
		t.Fatal(err)
	}
	defer curator.Close(t.Context())
	if _, err := curator.Exec(t.Context(), "CREATE USER eva PASSWORD 'xyzzy-xyzzy'"); err != nil {
		t.Error(err)
	}
	if _, err := s.local("ana"); sqlState(err) != "28P01" && err == nil {
		t.Error("ana is let in over a Unix socket without a password")
	}
	if _, err := pgx.Connect(t.Context(), s.url("curator", "")); err == nil {
		t.Error("the curator is let in over TCP")
	}

	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := s.page(path); status != http.StatusOK || text != "ok\n" {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	_, counts := s.page("/metrics")
	for _, want := range []string{"dpsql_connections_total 6\n", `dpsql_logins_total{outcome="ok"} 3` + "\n", `dpsql_statements_total{kind="session"} 1` + "\n", "dpsql_statement_errors_total 3\n", "dpsql_answers_total 2\n", "dpsql_answers_bought_total 0\n"} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %q in\n%s", want, counts)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(counts), "\n") {
		if !regexp.MustCompile(`^(# (HELP|TYPE) dpsql_[a-z_]+ .+|dpsql_[a-z_]+(\{[^}]*\})? \d+)$`).MatchString(line) {
			t.Errorf("a line of the counters is %q", line)
		}
	}

	if status := s.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	s.wait("stopped")
	if _, err := os.Stat(filepath.Join(s.dir, ".s.PGSQL.5433")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	s.checkLog()
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// checkLog holds the log to what may stand in it: no password, no text of a statement, no
// answer and no time that a statement took.
func (s *served) checkLog() {
	s.Helper()
	for _, secret := range []string{"s3cretive", "hunter22", "xyzzy-xyzzy", "SCRAM-SHA", "SELECT", "COUNT", "people WHERE"} {
		if strings.Contains(s.raw.String(), secret) {
			s.Errorf("%q is in the log:\n%s", secret, s.raw.String())
		}
	}
	outcomes := make(map[any]int)
	for _, line := range s.lines {
		if line["msg"] != "statement" {
			continue
		}
		outcomes[line["outcome"]]++
		for name := range line {
			if !slices.Contains([]string{"time", "level", "msg", "client", "user", "sha256", "outcome", "via", "epsilon", "rho"}, name) {
				s.Errorf("a statement's line has %s: %v", name, line)
			}
		}
		if user := line["user"]; user != "ana" && user != "bob" && user != "curator" {
			s.Errorf("a statement's line is %v", line)
		}
	}
	if outcomes["ok"] != 3 || outcomes["unknown"] != 2 || len(outcomes) != 2 {
		s.Errorf("statements end in the log by %v:\n%s", outcomes, s.raw.String())
	}
}

// psql logs in with its password and TLS, bound to the certificate, which nobody vouches for.
func TestServePsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is missing")
	}
	s := serve(t, "--self-signed")
	name, port, _ := strings.Cut(s.address, ":")
	cmd := exec.Command(psql, "-X", "-A", "-t", "-c", "SELECT sex FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex",
		fmt.Sprintf("host=%s port=%s user=ana dbname=clinic sslmode=require channel_binding=require", name, port))
	cmd.Env = append(os.Environ(), "PGPASSWORD=s3cretive")
	out, err := cmd.Output()
	if err != nil || string(out) != "F\nM\n" {
		t.Errorf("%q, %v", out, err)
	}
	shown := s.wait("certificate")
	if sum, _ := shown["sha256"].(string); sum != fingerprintAt(t, s.address) || shown["self-signed"] != true {
		t.Errorf("the log says %v of the certificate %s", shown, fingerprintAt(t, s.address))
	}
}

// fingerprintAt returns the SHA-256 of the certificate that a server shows.
func fingerprintAt(t *testing.T, address string) string {
	t.Helper()
	config, err := pgconn.ParseConfig("postgres://ana:s3cretive@" + address + "/clinic?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	return fingerprint(c.Conn().(*tls.Conn))
}

func fingerprint(c *tls.Conn) string {
	sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// writeCertificate writes a new certificate and its key, and returns its fingerprint.
func writeCertificate(t *testing.T, certificate, key string) string {
	t.Helper()
	made, err := host.SelfSigned([]string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := made.Current()
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made.Fingerprint()
}

// A certificate is read again by SIGHUP. Connections go on, and new ones get the new one. A
// file that is broken leaves the one before.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	first := writeCertificate(t, certificate, key)
	s := serve(t, "--tls-cert", certificate, "--tls-key", key)
	old := s.connect("ana", "s3cretive")
	if got := fingerprintAt(t, s.address); got != first {
		t.Errorf("the server shows %s, want %s", got, first)
	}
	second := writeCertificate(t, certificate, key)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.wait("the certificate was read again")
	if got := fingerprintAt(t, s.address); got != second {
		t.Errorf("after the swap the server shows %s, want %s", got, second)
	}
	count(t, old)
	if err := os.WriteFile(certificate, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.wait("the certificate stays as it was")
	if got := fingerprintAt(t, s.address); got != second {
		t.Errorf("with a broken file the server shows %s, want %s", got, second)
	}
	_, counts := s.page("/metrics")
	for _, want := range []string{`dpsql_certificate_reloads_total{outcome="ok"} 1`, `dpsql_certificate_reloads_total{outcome="failed"} 1`} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %s in\n%s", want, counts)
		}
	}
	count(t, old)
}

// TestServeAsksForTLS: a server that other machines can reach takes nothing over TCP without TLS, on its
// loopback address neither. One that they cannot reach does.
func TestServeAsksForTLS(t *testing.T) {
	t.Parallel()
	for listen, asks := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		s := home(t)
		s.start(exec.Command("dpsql", "serve", s.file(), "--log-format", "json", "--self-signed", "--listen", listen))
		_, port, err := net.SplitHostPort(s.wait("serving")["address"].(string))
		if err != nil {
			t.Fatal(err)
		}
		for mode, refused := range map[string]bool{"disable": asks, "require": false} {
			c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://ana:s3cretive@127.0.0.1:%s/clinic?sslmode=%s", port, mode))
			if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "28000") {
				t.Errorf("listening on %s, sslmode %s: %v", listen, mode, err)
			}
			if err == nil {
				c.Close(t.Context())
			}
		}
	}
}

// slow is a statement that goes on until it is cancelled, or its time is over.
const slow = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n`

// runSlow runs a statement that takes long, and returns when it runs. The channel gets its
// error.
func (s *served) runSlow() <-chan error {
	s.Helper()
	c := s.connect("ana", "s3cretive")
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), slow, pgx.QueryExecModeSimpleProtocol)
		done <- err
	}()
	for {
		if _, counts := s.page("/metrics"); strings.Contains(counts, `dpsql_statements_total{kind="other"} 1`+"\n") {
			return done
		}
	}
}

// The first signal lets statements end until -drain is over.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	s := serve(t, "--drain", "100ms")
	idle := s.connect("ana", "s3cretive")
	done := s.runSlow()
	if status := s.end(os.Interrupt); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	if err := <-done; sqlState(err) != "57014" {
		t.Errorf("a statement that was cancelled fails by %v", err)
	}
	if err := idle.Ping(t.Context()); err == nil {
		t.Error("an idle connection goes on")
	}
	s.wait("stopped")
}

// The second signal does not wait.
func TestServeStopsAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, "--drain", "1h")
	s.runSlow()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wait("stopping")
	if status := s.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	s.wait("stopped at once, by a second signal")
	s.shell(s.file(), "SELECT COUNT(*) FROM people") // the file is whole
}

// Sockets that are open already are served, as systemd hands them over, and it is told.
func TestServeActivated(t *testing.T) {
	t.Parallel()
	s := home(t)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(s.dir, ".s.PGSQL.5433"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	file, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec dpsql serve "$0" -log-format json`, s.file())
	cmd.ExtraFiles, cmd.Env = []*os.File{file}, append(os.Environ(), "NOTIFY_SOCKET="+told.LocalAddr().String())
	s.start(cmd)
	hear := func(want string) {
		t.Helper()
		text := make([]byte, 100)
		if n, err := told.Read(text); err != nil || string(text[:n]) != want {
			t.Errorf("systemd is told %q, %v; want %q", text[:n], err, want)
		}
	}
	hear("READY=1")
	c, err := s.local("curator")
	if err != nil {
		t.Fatal(err)
	}
	count(t, c)
	c.Close(t.Context())
	if status := s.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	hear("STOPPING=1")
	if _, err := os.Stat(socket.Addr().String()); err != nil {
		t.Errorf("the socket of systemd was removed: %v", err)
	}
}

// Nobody can log in where there are no users, and the log says what to do. A second server
// does not take the socket, and one that was killed leaves it to the next.
func TestServeWithoutUsers(t *testing.T) {
	t.Parallel()
	s := home(t)
	s.shell(s.file(), "DROP USER ana")
	command := func() *exec.Cmd {
		return exec.Command("dpsql", "serve", s.file(), "--listen", s.dir, "-log-format", "json")
	}
	s.start(command())
	if hint, _ := s.wait("nobody can log in: there are no users")["hint"].(string); !strings.Contains(hint, "CREATE USER ana PASSWORD") {
		t.Errorf("hint %q", hint)
	}
	s.wait("serving")
	if out, err := command().CombinedOutput(); err == nil || !strings.Contains(string(out), "error busy: cannot listen on "+s.dir) {
		t.Errorf("a second server takes the socket: %v\n%s", err, out)
	}
	s.end(os.Kill)
	next := &served{T: t, dir: s.dir}
	next.more = sync.NewCond(&next.mu)
	next.start(command())
	next.wait("serving")
}

// TestServeWeb: the console beside a server takes its users, and writes the curator's next link when one was used.
func TestServeWeb(t *testing.T) {
	s := serve(t, "--web", "127.0.0.1:0")
	url := s.wait("showing")["url"].(string)
	login := func(body string) int {
		r, err := http.Post(url+"api/v1/login", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	link := func() string {
		text, err := os.ReadFile(s.file() + "-key")
		if info, failed := os.Stat(s.file() + "-key"); err != nil || failed != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the link: %v, %v, %v", err, failed, info)
		}
		return strings.TrimSpace(string(text))
	}
	first := link()
	key, ok := strings.CutPrefix(first, url+"#key=")
	if !ok {
		t.Fatalf("the link is %s", first)
	}
	for body, want := range map[string]int{`{"user": "ana", "password": "s3cretive"}`: 200, `{"user": "ana", "password": "x"}`: 401, `{"key": "` + key + `"}`: 200} {
		if got := login(body); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
	for link() == first { // it is written at once
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait("stopped")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.file() + "-key"); err == nil {
		t.Error("the link is there after the end")
	}
	if strings.Contains(s.raw.String(), "key=") {
		t.Error("the log has a link")
	}
}

package host

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsql/sqlerr"
)

func TestParseAddress(t *testing.T) {
	dir := t.TempDir()
	for _, e := range []struct {
		text, want string
		local      bool
	}{
		{"127.0.0.1:5000", "127.0.0.1:5000", true},
		{"127.0.0.2", "127.0.0.2:5433", true},
		{"[::1]:5000", "[::1]:5000", true},
		{"::1", "[::1]:5433", true},
		{"[::ffff:127.0.0.1]:1", "127.0.0.1:1", true},
		{":5000", ":5000", false},
		{"0.0.0.0:5000", "0.0.0.0:5000", false},
		{"[::]:5000", "[::]:5000", false},
		{"192.0.2.1", "192.0.2.1:5433", false},
		{dir, filepath.Join(dir, ".s.PGSQL.5433"), true},
		{dir + "/new/", filepath.Join(dir, "new", ".s.PGSQL.5433"), true},
		{filepath.Join(dir, "socket"), filepath.Join(dir, "socket"), true},
		{"", "", false},
		{"127.0.0.1:http", "", false},
		{"127.0.0.1:70000", "", false},
		{"a:b:c", "", false},
		{"no such host:1", "", false},
	} {
		a, err := ParseAddress(e.text, 5433)
		if e.want == "" {
			if sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("%q is %v, %v", e.text, a, err)
			}
		} else if err != nil || a.String() != e.want || a.Local() != e.local {
			t.Errorf("%q is %v, local %v, %v; want %s", e.text, a, a.Local(), err, e.want)
		}
	}
}

func TestConnection(t *testing.T) {
	for _, e := range []struct{ text, database, want string }{
		{"127.0.0.1:5000", "clinic", "host=127.0.0.1 port=5000 user=USER dbname=clinic"},
		{":5000", "my visits", "host=HOST port=5000 user=USER dbname='my visits'"},
		{"/run/dpsql/.s.PGSQL.6000", "", "host=/run/dpsql port=6000 user=USER dbname=''"},
		{"/run/o'brien d/.s.PGSQL.6000", `a\b`, `host='/run/o\'brien d' port=6000 user=USER dbname='a\\b'`},
		{"/run/dpsql/socket", "clinic", ""},
	} {
		if a, err := ParseAddress(e.text, 5433); err != nil || a.Connection(e.database) != e.want {
			t.Errorf("%s is %q, %v; want %q", e.text, a.Connection(e.database), err, e.want)
		}
	}
}

// onUnix skips a test of what only Unix systems have.
func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("this system has no modes and owners of files")
	}
}

// short returns a folder whose name leaves room for a socket's: a path of one has at most
// some hundred bytes.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestUnixSockets(t *testing.T) {
	onUnix(t)
	a := Address{Unix: filepath.Join(short(t), "socket")}
	l, err := Listen(a, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(a.Unix); err != nil || info.Mode().Perm() != 0o600 || AddressOf(l) != a {
		t.Errorf("%v, %v, at %v", info, err, AddressOf(l))
	}
	if _, err := Listen(a, 0o600); sqlerr.CodeOf(err) != sqlerr.Busy {
		t.Errorf("a socket that is listened on is taken: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as if the process was killed
	l.Close()
	if l, err = Listen(a, 0o700); err != nil {
		t.Fatal("a stale socket is not replaced: ", err)
	}
	l.Close()
	if _, err := os.Stat(a.Unix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if err := os.WriteFile(a.Unix, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(a, 0o600); sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("a file is taken for a socket: %v", err)
	}
	if text, err := os.ReadFile(a.Unix); err != nil || string(text) != "precious" {
		t.Errorf("the file is gone: %q, %v", text, err)
	}
	for _, path := range []string{a.Unix + "/none/socket", a.Unix + strings.Repeat("x", 200)} {
		if _, err := Listen(Address{Unix: path}, 0o600); sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	a := Address{TCP: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	l, err := Listen(a, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(AddressOf(l), 0); sqlerr.CodeOf(err) != sqlerr.Busy && runtime.GOOS != "windows" {
		t.Errorf("a port is taken twice: %v", err)
	}
}

func TestPeerUID(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system does not tell")
	}
	for _, a := range []Address{{Unix: filepath.Join(short(t), "socket")}, {TCP: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}} {
		l, err := Listen(a, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		uid, known := PeerUID(c)
		if known != (a.TCP == nil) || known && uid != os.Geteuid() {
			t.Errorf("the peer at %v is %d, %v", a, uid, known)
		}
		client.Close()
		c.Close()
		l.Close()
	}
}

// files writes a certificate and its key into a folder.
func files(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	c, err := SelfSigned([]string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := c.Current()
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func TestReload(t *testing.T) {
	dir := t.TempDir()
	certificate, key := files(t, dir)
	c, err := LoadCertificates(certificate, key)
	if err != nil || c.Made() {
		t.Fatal(err)
	}
	first := c.Fingerprint()
	files(t, dir)
	if err := c.Reload(); err != nil || c.Fingerprint() == first {
		t.Errorf("after a swap: %v, %s", err, c.Fingerprint())
	}
	second := c.Fingerprint()
	other, _ := files(t, t.TempDir())
	for what, spoil := range map[string]func() error{
		"of another key": func() error { return os.Rename(other, certificate) },
		"no certificate": func() error { return os.WriteFile(certificate, []byte("nonsense"), 0o600) },
		"no file":        func() error { return os.Remove(certificate) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := c.Reload(); err == nil || c.Fingerprint() != second {
			t.Errorf("%s: %v, %s", what, err, c.Fingerprint())
		}
		files(t, dir)
		other, _ = files(t, t.TempDir())
	}
}

func TestKeysOfOthers(t *testing.T) {
	onUnix(t)
	certificate, key := files(t, t.TempDir())
	for mode, allowed := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o644: false, 0o640: false, 0o602: false} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadCertificates(certificate, key); (err == nil) != allowed || err != nil && sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if _, err := LoadCertificates(certificate, filepath.Dir(key)); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a folder is taken for a key: %v", err)
	}
}

func TestSelfSigned(t *testing.T) {
	c, err := SelfSigned([]string{"localhost", "127.0.0.1", "", "/run/dpsql", "Größe"})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Made() || c.Reload() != nil || !regexp.MustCompile(`^([0-9A-F]{2}:){31}[0-9A-F]{2}$`).MatchString(c.Fingerprint()) {
		t.Errorf("fingerprint %s", c.Fingerprint())
	}
	pair, _ := c.Current()
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	for _, name := range []string{"localhost", "127.0.0.1"} {
		client, server := net.Pipe()
		go tls.Server(server, &tls.Config{Certificates: []tls.Certificate{*pair}}).Handshake()
		if err := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: name}).Handshake(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		client.Close()
	}
	other, err := SelfSigned(nil)
	if err != nil || other.Fingerprint() == c.Fingerprint() {
		t.Errorf("two certificates are one: %v", err)
	}
}

// TestActivated hands two sockets over to a process of this test, as systemd does, once to it
// and once to another.
func TestActivated(t *testing.T) {
	if os.Getenv("DPSQL_ACTIVATED") != "" {
		all, err := Activated()
		for _, l := range all {
			os.Stdout.WriteString("took " + l.Addr().Network() + "\n")
		}
		again, _ := Activated()
		if err != nil || len(again) > 0 {
			os.Stdout.WriteString("took again\n")
		}
		os.Exit(0)
	}
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	local, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short(t), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	first, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	second, err := local.File()
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[string]string{"$$": "took tcp\ntook unix\n", "1": ""} {
		cmd := exec.Command("sh", "-c", "LISTEN_PID="+pid+` LISTEN_FDS=2 DPSQL_ACTIVATED=1 exec "$0" -test.run '^TestActivated$'`, os.Args[0])
		cmd.ExtraFiles = []*os.File{first, second}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("LISTEN_PID=%s: %q, %v", pid, out, err)
		}
	}
	if _, err := os.Stat(local.Addr().String()); err != nil {
		t.Errorf("the socket of systemd was removed: %v", err)
	}
}

func TestNotify(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no datagrams over Unix sockets")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Notify(Ready); err != nil {
		t.Error(err)
	}
	path := filepath.Join(short(t), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var got []string
	for _, words := range []string{Ready, Reloading(), Stopping} {
		if err := Notify(words); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 100)
		n, err := l.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(bytes.TrimRight(text[:n], "0123456789")))
	}
	if want := []string{"READY=", "RELOADING=1\nMONOTONIC_USEC=", "STOPPING="}; !slices.Equal(got, want) {
		t.Errorf("told %q", got)
	}
}

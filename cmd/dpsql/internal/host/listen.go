// Package host is what a server needs of the machine it runs on: addresses to listen on,
// certificates, the identity of a process at the other end of a Unix socket, and the words
// of systemd. It knows nothing of the protocol that is spoken.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dpsql/sqlerr"
)

// socketName is how PostgreSQL's clients name a Unix socket in its directory: a port follows.
const socketName = ".s.PGSQL."

// Address is where to listen: a TCP address, or the path of a Unix socket.
type Address struct {
	TCP  *net.TCPAddr // nil for a Unix socket
	Unix string
}

// ParseAddress reads an address. One with a slash is a Unix socket: its path, or an existing
// directory, in which clients of PostgreSQL look for the socket of the given port. Any other
// one is host:port, :port for all addresses, or a host alone. A host's name is looked up.
func ParseAddress(text string, port int) (Address, error) {
	bad := func(why string) (Address, error) {
		return Address{}, sqlerr.New(sqlerr.Invalid, "%q is no address to listen on: %s", text, why).
			WithHint("write an address as 127.0.0.1:5433, :5433 for all addresses, or the directory of a Unix socket as /run/dpsql")
	}
	if text == "" {
		return bad("it is empty")
	}
	if strings.ContainsRune(text, filepath.Separator) || strings.Contains(text, "/") {
		path := text
		if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(text, "/") {
			path = filepath.Join(path, socketName+strconv.Itoa(port))
		}
		if whole, err := filepath.Abs(path); err == nil {
			path = whole // clients take no relative one
		}
		return Address{Unix: path}, nil
	}
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		host, service = strings.Trim(text, "[]"), strconv.Itoa(port)
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return bad("it is not host:port")
		}
	}
	if n, err := strconv.ParseUint(service, 10, 16); err != nil {
		return bad("its port is not a number up to 65535")
	} else if host == "" {
		return Address{TCP: &net.TCPAddr{Port: int(n)}}, nil
	}
	tcp, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, service))
	if err != nil {
		return bad("its host is not known")
	}
	return Address{TCP: tcp}, nil
}

// String returns the address as it is written.
func (a Address) String() string {
	if a.TCP == nil {
		return a.Unix
	}
	return a.TCP.String()
}

// Connection returns a connection string of libpq, for a database at the address, "" for a
// socket that libpq does not find.
func (a Address) Connection(database string) string {
	user := " user=USER dbname=" + quoted(database)
	if a.TCP == nil {
		port, found := strings.CutPrefix(filepath.Base(a.Unix), socketName)
		if !found {
			return ""
		}
		return fmt.Sprintf("host=%s port=%s", quoted(filepath.Dir(a.Unix)), port) + user
	}
	name := a.TCP.IP.String()
	if len(a.TCP.IP) == 0 || a.TCP.IP.IsUnspecified() {
		name = "HOST"
	}
	return fmt.Sprintf("host=%s port=%d", name, a.TCP.Port) + user
}

// quoted returns a value as a connection string has it.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, ` '\`) {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
	}
	return value
}

// Local reports whether only processes of this machine can connect: the address is a Unix
// socket or a loopback address.
func (a Address) Local() bool { return a.TCP == nil || a.TCP.IP.IsLoopback() }

// AddressOf returns the address of a listener.
func AddressOf(l net.Listener) Address {
	switch a := l.Addr().(type) {
	case *net.TCPAddr:
		return Address{TCP: a}
	case *net.UnixAddr:
		return Address{Unix: a.Name}
	}
	return Address{TCP: new(net.TCPAddr)} // of a kind that is not known: not local
}

// Listen listens on an address. A Unix socket gets the mode; one that nobody listens on any
// more, left by a process that was killed, is replaced. The listener removes its socket when
// it is closed.
func Listen(a Address, mode fs.FileMode) (net.Listener, error) {
	if a.TCP != nil {
		l, err := net.ListenTCP("tcp", a.TCP)
		return listening(l, a, err)
	}
	if err := removeStale(a.Unix); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: a.Unix, Net: "unix"})
	if err == nil {
		if err = os.Chmod(a.Unix, mode); err != nil {
			l.Close()
		}
	}
	return listening(l, a, err)
}

// listening returns a listener, or why there is none, in our words.
func listening(l net.Listener, a Address, err error) (net.Listener, error) {
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, inUse(a)
	case errors.Is(err, fs.ErrPermission):
		return nil, sqlerr.New(sqlerr.IO, "cannot listen on %s: permission denied", a)
	case errors.Is(err, fs.ErrNotExist):
		return nil, sqlerr.New(sqlerr.IO, "cannot listen on %s: there is no such directory", a)
	case a.TCP == nil && errors.Is(err, syscall.EINVAL):
		return nil, sqlerr.New(sqlerr.IO, "cannot listen on %s: the path is too long for a Unix socket", a)
	}
	return nil, sqlerr.New(sqlerr.IO, "cannot listen on %s: %s", a, reason(err))
}

func inUse(a Address) error {
	return sqlerr.New(sqlerr.Busy, "cannot listen on %s: another process does", a).WithHint("end it, or name another address")
}

// reason returns what the system says of an error, without what it was about.
func reason(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return "the system refused"
}

// removeStale removes a Unix socket that nobody listens on. Anything else stays where it is.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // listening has the better error
	}
	if info.Mode().Type() != fs.ModeSocket {
		return sqlerr.New(sqlerr.IO, "cannot listen on %s: there is a file of that name, which is no socket", path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return inUse(Address{Unix: path})
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sqlerr.New(sqlerr.IO, "cannot remove the socket %s, which nobody listens on: %s", path, reason(err))
	}
	return nil
}

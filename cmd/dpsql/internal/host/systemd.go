package host

import (
	"net"
	"os"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// firstSocket is the number of the first file that systemd hands over, see sd_listen_fds(3).
const firstSocket = 3

// Activated returns the listeners that systemd opened for this process, none if it opened
// none. It can be asked once: what says so is taken out of the environment.
func Activated() ([]net.Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "LISTEN_FDS is %q, not a number of sockets", count)
	}
	var all []net.Listener
	for i := range n {
		f := os.NewFile(uintptr(firstSocket+i), "LISTEN_FD_"+strconv.Itoa(i))
		l, err := net.FileListener(f)
		f.Close() // the listener has a copy
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, sqlerr.New(sqlerr.Invalid, "socket %d of systemd is not one to listen on: %s", i+1, reason(err))
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // it is systemd's
		}
		all = append(all, l)
	}
	return all, nil
}

// The words that systemd is told, see sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Reloading is what systemd is told when a reload begins. Ready ends it.
func Reloading() string { return "RELOADING=1\nMONOTONIC_USEC=" + strconv.FormatInt(monotonic(), 10) }

// Notify tells systemd something, if systemd asked to be told.
func Notify(words string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if rest, abstract := strings.CutPrefix(path, "@"); abstract {
		path = "\x00" + rest
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(words))
	return err
}

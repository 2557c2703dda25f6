package pgtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Proxy passes connections on to a cluster and can imitate a bad network. Its methods
// are safe for concurrent use.
type Proxy struct {
	folder, target string
	listener       net.Listener

	mu    sync.Mutex
	open  map[net.Conn]struct{} // both ends of each connection; nil once closed
	sent  int64                 // bytes from the server
	cut   int64                 // cut all connections when sent reaches this; 0 for never
	call  int64                 // call then, unless it is nil, when sent reaches this
	then  func()
	delay time.Duration
	late  time.Duration // of requests to cancel
}

// Proxy returns a proxy to the cluster, for one test.
func (c *Cluster) Proxy(t testing.TB) *Proxy {
	t.Helper()
	p, err := c.NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// NewProxy returns a proxy to the cluster. The caller must close it.
func (c *Cluster) NewProxy() (*Proxy, error) {
	c.proxies++
	folder := filepath.Join(c.folder, fmt.Sprintf("p%d", c.proxies)) // removed with the cluster
	err := os.Mkdir(folder, 0o700)
	if err == nil {
		err = c.tools.owner.give(folder)
	}
	if err != nil {
		return nil, err
	}
	p := &Proxy{folder: folder, target: socket(c.folder), open: make(map[net.Conn]struct{})}
	if p.listener, err = net.Listen("unix", socket(folder)); err == nil {
		// A coordinator that runs as another user connects, too.
		err = os.Chmod(socket(folder), 0o777)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	go p.serve()
	return p, nil
}

func socket(folder string) string { return filepath.Join(folder, ".s.PGSQL.5432") }

// DSN returns the connection string, through the proxy, of the cluster's database
// "postgres".
func (p *Proxy) DSN() string { return dsn(p.folder) }

// Sent returns the number of bytes that the server has sent so far.
func (p *Proxy) Sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// CutAfter lets n more bytes pass from the server, over all connections, and then cuts
// the connections once. Later connections work.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = p.sent + n
}

// CallAfter calls f once n more bytes have come from the server, over all
// connections. The last of them pass when f has returned.
func (p *Proxy) CallAfter(n int64, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.call, p.then = p.sent+n, f
}

// Delay delays what the server sends by d for each piece of up to 32 KiB.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// DelayCancels delays requests to cancel a statement by d.
func (p *Proxy) DelayCancels(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = d
}

// waitIfCancels waits as DelayCancels asks if a connection begins with a request to cancel.
func (p *Proxy) waitIfCancels(begins []byte) {
	if len(begins) < 8 || binary.BigEndian.Uint32(begins[4:]) != 80877102 {
		return
	}
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	time.Sleep(late)
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		go p.pass(client, server, false)
		go p.pass(server, client, true)
	}
}

// keep records both ends of a connection. If the proxy is closed, it closes them
// instead.
func (p *Proxy) keep(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		if p.open == nil {
			end.Close()
			continue
		}
		p.open[end] = struct{}{}
	}
	return p.open != nil
}

// pass forwards what one end sends, until it is closed or cut.
func (p *Proxy) pass(from, to net.Conn, fromServer bool) {
	defer p.drop(from, to)
	buffer := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := from.Read(buffer)
		switch {
		case fromServer:
			n = p.allow(n)
		case first:
			p.waitIfCancels(buffer[:n])
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// allow counts n bytes from the server, waits as Delay asks and calls as CallAfter
// does. If a cut is due it cuts all connections. It returns how many of the bytes still
// pass.
func (p *Proxy) allow(n int) int {
	p.mu.Lock()
	delay := p.delay
	p.sent += int64(n)
	var then func()
	if p.sent >= p.call {
		then, p.then = p.then, nil
	}
	if p.cut > 0 && p.sent >= p.cut {
		n -= int(p.sent - p.cut)
		p.sent, p.cut = p.cut, 0
		for end := range p.open {
			end.Close()
		}
	}
	p.mu.Unlock()
	if then != nil {
		then()
	}
	time.Sleep(delay)
	return n
}

func (p *Proxy) drop(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		end.Close()
		delete(p.open, end)
	}
}

// Close cuts all connections and accepts no more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	for end := range p.open {
		end.Close()
	}
	p.open = nil
	p.mu.Unlock()
	var err error
	if p.listener != nil {
		err = p.listener.Close()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

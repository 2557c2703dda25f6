package web

import (
	"fmt"
	"net"
	"net/http"
	"testing"
)

// guestOf is a connection from an address.
type guestOf struct {
	net.Conn
	from net.TCPAddr
	out  *[]string
}

func (g *guestOf) RemoteAddr() net.Addr { return &g.from }

func (g *guestOf) Close() error {
	*g.out = append(*g.out, g.from.String())
	return nil
}

// TestCrowd: of too many connections a silent one of the fullest network makes room, and one that asks if none is silent.
func TestCrowd(t *testing.T) {
	var c crowd
	var out []string
	come := func(ip string, port int) *guestOf {
		g := &guestOf{from: net.TCPAddr{IP: net.ParseIP(ip), Port: port}, out: &out}
		c.note(g, http.StateNew)
		return g
	}
	ana := come("10.0.0.1", 1)
	var eves []*guestOf
	for i := range connections - 1 {
		eves = append(eves, come("2001:db8::"+fmt.Sprintf("%x", i+1), 1))
		c.note(eves[i], http.StateActive)
	}
	come("10.0.0.2", 1)
	c.note(eves[5], http.StateIdle)
	come("10.0.0.2", 2)
	late := come("2001:db8::ffff", 1)
	c.note(eves[0], http.StateClosed) // which had to leave
	c.note(late, http.StateActive)
	c.note(ana, http.StateClosed)
	come("10.0.0.3", 1)
	if want := "[[2001:db8::1]:1 [2001:db8::6]:1 [2001:db8::2]:1]"; fmt.Sprint(out) != want || len(c.all) != connections {
		t.Errorf("%v left, want %s; there are %d", out, want, len(c.all))
	}
}

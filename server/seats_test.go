package server

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlaces fills places. The owner with most makes room: the oldest of its connections, or the newest.
func TestPlaces(t *testing.T) {
	for _, older := range []bool{true, false} {
		p := seats{most: 5, older: older}
		names := make(map[*conn]string)
		take := func(owner string, n int) string {
			c := new(conn)
			names[c] = fmt.Sprint(owner, n)
			return names[p.take(owner, c)]
		}
		var out []string
		for n := range 7 {
			out = append(out, take("eve", n))
		}
		out = append(out, take("ana", 0), take("bob", 0), take("ana", 1), take("ana", 2))
		want := "[     eve0 eve1 eve2 eve3 eve4 ana0]" // then ana has most herself
		if !older {
			want = "[     eve5 eve6 eve4 eve3 eve2 ana2]"
		}
		if got := fmt.Sprint(out); got != want {
			t.Errorf("%v: out go %s, want %s", older, got, want)
		}
		if p.all != 5 {
			t.Errorf("%d places are taken", p.all)
		}
		for owner, held := range p.of {
			for _, c := range append([]*conn(nil), held...) {
				p.leave(owner, c)
				p.leave(owner, c)
			}
		}
		if p.all != 0 || len(p.of) != 0 {
			t.Errorf("%d places are taken at the end", p.all)
		}
	}
	p := seats{most: 5, older: true}
	var last *conn
	for i := range 10 {
		last = new(conn)
		if out := p.take(fmt.Sprint(i), last); out == last {
			t.Error("the newest of many addresses has no place")
		}
	}
}

// TestSilentMakeRoomFirst fills places with connections of one owner at each step of a login. Those that have said
// least make room, the oldest first, and a newcomer never does.
func TestSilentMakeRoomFirst(t *testing.T) {
	p := seats{most: 4, older: true}
	names := make(map[*conn]string)
	var out []string
	for i, steps := range []int32{1, 0, 2, 0, 0, 0, 1, 2, 0, 2, 2, 0} {
		c := new(conn)
		names[c] = fmt.Sprint(i)
		left := p.take("eve", c)
		c.steps.Store(steps)
		if left != nil {
			out = append(out, names[left])
		}
	}
	if got := strings.Join(out, " "); got != "1 3 4 5 0 8 6 2" {
		t.Errorf("out go %s", got)
	}
}

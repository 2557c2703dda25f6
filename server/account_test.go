package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server"
)

// TestUnreadReplies asks for replies of 1.5 GB and takes none. The server holds as much of them as it sends at
// a time.
func TestUnreadReplies(t *testing.T) {
	url, s := start(t, nil)
	w, conn := raw(t, url)
	defer conn.Close()
	w.Send(&pgproto3.Parse{Name: "s", Query: "SELECT 1" + strings.Repeat(", 1", 300)})
	for range 20_000 {
		w.Send(&pgproto3.Describe{ObjectType: 'S', Name: "s"})
	}
	before, sent := memory(), s.Counts().Sent.Load()
	go w.Flush()
	for s.Counts().Sent.Load() == sent {
		runtime.Gosched()
		if taken := int64(memory() - before); taken > 64<<20 {
			t.Fatalf("%d bytes wait to be sent", taken)
		}
	}
}

// hoards are ways to have a server keep things: each step keeps about a hundred kilobytes.
var hoards = []struct {
	name string
	step func(i int) string
	own  bool // refused by a bound of the connection, or let go when the statement ends
}{
	{"prepared statements", func(i int) string {
		return fmt.Sprintf("PREPARE p%d AS SELECT '%s'", i, strings.Repeat("x", 10<<10))
	}, false},
	{"prepared statements of many expressions", func(i int) string {
		return fmt.Sprintf("PREPARE p%d AS SELECT COUNT(*) FROM visits WHERE age IN (1%s)", i, strings.Repeat(",2", 400))
	}, false},
	{"cursors", func(i int) string {
		return fmt.Sprintf("DECLARE c%d CURSOR FOR SELECT 1 -- %s", i, strings.Repeat("x", 10<<10))
	}, false},
	{"rows of cursors", func(i int) string {
		return fmt.Sprintf("DECLARE c%d CURSOR FOR WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 1000) SELECT n FROM t; FETCH 1 c%[1]d", i)
	}, false},
	{"wide rows of cursors", func(i int) string {
		return fmt.Sprintf("DECLARE c%d CURSOR FOR SELECT printf('%%060000d', 1); FETCH 1 c%[1]d", i)
	}, false},
	{"settings of a transaction", func(i int) string {
		var b strings.Builder
		for j := range 100 {
			fmt.Fprintf(&b, "SET LOCAL a.b%d_%d = '%s';", i, j, strings.Repeat("x", 1000))
		}
		return b.String()
	}, true},
	{"statements of one text", func(i int) string {
		return strings.Repeat("SELECT 1"+strings.Repeat(" ", 1000)+";", i+1)
	}, true},
}

// TestHoarders keeps things until the server refuses. All that a user's connections keep is of one account:
// another connection of hers is refused as well, and no other user is. What a connection kept is let go at
// its end.
func TestHoarders(t *testing.T) {
	const most = 8 << 20
	for _, h := range hoards {
		url, _ := start(t, func(c *server.Config) { c.Limits.Memory = most })
		c := connect(t, url)
		run(t, c, "BEGIN")
		before, refused, i := memory(), "", 0
		for ; i < 500 && refused == ""; i++ {
			_, refused = run(t, c, h.step(i))
		}
		if refused != "54000" {
			t.Errorf("%s: %d steps, then %q", h.name, i, refused)
		}
		if kept := int64(memory()) - int64(before); kept > most+4<<20 {
			t.Errorf("%s: %d bytes are kept", h.name, kept)
		}
		if !h.own {
			big := "PREPARE big AS SELECT '" + strings.Repeat("x", 12<<10) + "'"
			other := connect(t, strings.Replace(url, "ana:", "ANA:", 1))
			if _, state := run(t, other, big); state != "54000" {
				t.Errorf("%s: another connection of the user is told %q", h.name, state)
			}
			c.Close(t.Context())
			for state := "54000"; state == "54000"; { // until the server has seen the end
				_, state = run(t, other, big)
			}
		}
	}
}

// TestManyStatements: a text has so many statements, and no more.
func TestManyStatements(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	if _, state := run(t, c, strings.Repeat("SELECT 1;", 1001)); state != "54000" {
		t.Errorf("1001 statements: %q", state)
	}
}

// TestHoardedArguments binds portals to long arguments until the server refuses. The values of an array are read with the
// statement, and weigh as what was read.
func TestHoardedArguments(t *testing.T) {
	for text, argument := range map[string]string{
		"SELECT COUNT(*) FROM visits WHERE sex = $1":      strings.Repeat("x", 200<<10),
		"SELECT COUNT(*) FROM visits WHERE sex = ANY($1)": "{x" + strings.Repeat(",x", 2000) + "}",
	} {
		url, _ := start(t, func(c *server.Config) { c.Limits.Memory = 8 << 20 })
		w, conn := raw(t, url)
		w.Send(&pgproto3.Parse{Name: "s", Query: text})
		for i := range 100 {
			w.Send(&pgproto3.Bind{DestinationPortal: fmt.Sprint(i), PreparedStatement: "s", Parameters: [][]byte{[]byte(argument)}})
		}
		w.Send(&pgproto3.Sync{})
		go w.Flush()
		bound, err := untilRefused(w)
		if err == nil || err.Code != "54000" || bound < 5 {
			t.Errorf("%s: after %d portals: %v", text, bound, err)
		}
		conn.Close()
	}
}

// untilRefused counts the portals that are bound before one is refused.
func untilRefused(w *pgproto3.Frontend) (bound int, refusal *pgproto3.ErrorResponse) {
	for {
		switch m, err := w.Receive(); m := m.(type) {
		case *pgproto3.BindComplete:
			bound++
		case *pgproto3.ErrorResponse:
			return bound, m
		default:
			if _, parsed := m.(*pgproto3.ParseComplete); err != nil || !parsed {
				return bound, nil
			}
		}
	}
}

// TestLongNames: names have at most 63 bytes.
func TestLongNames(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for _, length := range []int{63, 64} {
		name := strings.Repeat("n", length)
		want := map[int]string{63: "", 64: "42622"}[length]
		for _, text := range []string{"PREPARE " + name + " AS SELECT 1", "BEGIN; SAVEPOINT " + name, "BEGIN; DECLARE " + name + " CURSOR FOR SELECT 1"} {
			_, state := run(t, c, text)
			run(t, c, "ROLLBACK")
			if state != want {
				t.Errorf("%s: %q, want %q", text, state, want)
			}
		}
		for _, m := range []pgproto3.FrontendMessage{&pgproto3.Parse{Name: name + "", Query: "SELECT 1"}, &pgproto3.Bind{DestinationPortal: name}} {
			w, conn := raw(t, url)
			w.Send(&pgproto3.Parse{Query: "SELECT 1"})
			w.Send(m)
			w.Send(&pgproto3.Sync{})
			w.Flush()
			state := ""
			untilReady(t, w, func(got pgproto3.BackendMessage) {
				if refused, ok := got.(*pgproto3.ErrorResponse); ok {
					state = refused.Code
				}
			})
			conn.Close()
			if state != want {
				t.Errorf("%T with a name of %d bytes: %q, want %q", m, length, state, want)
			}
		}
	}
}

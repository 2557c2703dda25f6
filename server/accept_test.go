package server_test

import (
	"errors"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/server"
)

// failing is a listener whose first connections cannot be accepted, and which is closed then.
type failing struct {
	net.Listener
	left  int
	tried []time.Time
}

func (f *failing) Accept() (net.Conn, error) {
	f.tried = append(f.tried, time.Now())
	if f.left--; f.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, errors.New("too many open files")
}

func (f *failing) Close() error { return nil }

// TestAcceptingPauses: after each connection that is not accepted the pause is twice as long, up to a second.
func TestAcceptingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{left: 10}
		s := server.New(server.Config{Log: slog.New(slog.DiscardHandler)})
		if err := s.Serve(t.Context(), f); err != nil {
			t.Error(err)
		}
		var pauses []time.Duration
		for i := range f.tried[1:] {
			pauses = append(pauses, f.tried[i+1].Sub(f.tried[i])/time.Millisecond)
		}
		if want := []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000}; !slices.Equal(pauses, want) {
			t.Errorf("pauses of %v ms, want %v", pauses, want)
		}
	})
}

// TestTellsTypes: a parameter whose type is not taken is named by its number, and a text's size is unknown.
func TestTellsTypes(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	const bytea = 17
	_, err := c.PgConn().Prepare(t.Context(), "", `SELECT COUNT(*) FROM visits WHERE age > $1 AND sex = $2`, []uint32{0, bytea})
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "0A000" || !strings.Contains(e.Message, "parameter $2 has type 17") {
		t.Error(err)
	}
	rows, err := c.Query(t.Context(), `SELECT sex, COUNT(*) FROM visits GROUP BY sex`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if d := rows.FieldDescriptions(); d[0].DataTypeSize != -1 || d[1].DataTypeSize != 8 {
		t.Errorf("a text has the size %d, and a number %d", d[0].DataTypeSize, d[1].DataTypeSize)
	}
}

// TestTimeoutsHaveABound: a time in milliseconds has 31 bits, and 24 days are too many.
func TestTimeoutsHaveABound(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for value, want := range map[string]string{"23d": "", "24d": "22023", "575h": "", "576h": "22023", "-1": "22023", "2147483647": "", "2147483648": "22023"} {
		if _, state := run(t, c, `SET statement_timeout = '`+value+`'`); state != want {
			t.Errorf("%s: %q, want %q", value, state, want)
		}
	}
}

// TestTagsOfTheCurator are those that psql shows.
func TestTagsOfTheCurator(t *testing.T) {
	url, _ := start(t, func(c *server.Config) { c.Curator = func(net.Conn, string) bool { return true } })
	c := connect(t, url)
	for _, s := range []struct{ text, tag string }{{`CREATE USER eve PASSWORD 'ev3-ev3-ev3'`, "CREATE USER"}, {`GRANT SELECT ON visits TO eve`, "GRANT"}, {`REVOKE SELECT ON visits FROM eve`, "REVOKE"},
		{`ALTER PRIVATE TABLE visits SET (max_charge = 0.001)`, "ALTER PRIVATE TABLE"}, {`DROP USER eve`, "DROP USER"}} {
		if tags, state := run(t, c, s.text); !reflect.DeepEqual(tags, []string{s.tag}) || state != "" {
			t.Errorf("%s: %q %s, want %q", s.text, tags, state, s.tag)
		}
	}
}

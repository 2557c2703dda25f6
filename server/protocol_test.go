package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server"
)

// run runs a text in the simple protocol, and returns the tags, and the SQLSTATE of the error.
func run(t testing.TB, c *pgx.Conn, text string) (tags []string, state string) {
	t.Helper()
	results, err := c.PgConn().Exec(context.Background(), text).ReadAll()
	for _, r := range results {
		if r.CommandTag.String() != "" {
			tags = append(tags, r.CommandTag.String())
		}
	}
	if err == nil {
		return tags, ""
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", text, err)
	}
	return tags, e.Code
}

// show returns the one value of a statement.
func show(t testing.TB, c *pgx.Conn, text string) string {
	t.Helper()
	results, err := c.PgConn().Exec(context.Background(), text).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	last := results[len(results)-1]
	return string(last.Rows[0][0])
}

func TestBlocks(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for _, e := range []struct {
		text, tags, state string
		status            byte
	}{
		{"BEGIN", "BEGIN", "", 'T'},
		{"SELECT COUNT(*) FROM visits", "SELECT 1", "", 'T'},
		{"SELECT 1 FROM nothing", "", "42P01", 'E'},
		{"SELECT COUNT(*) FROM visits", "", "25P02", 'E'},
		{"SET confidence = 0.9", "", "25P02", 'E'},
		{"COMMIT", "ROLLBACK", "", 'I'},
		{"START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE; SAVEPOINT a; SAVEPOINT b", "START TRANSACTION SAVEPOINT SAVEPOINT", "", 'T'},
		{"ROLLBACK TO c", "", "3B001", 'E'},
		{"ROLLBACK TO SAVEPOINT a; SELECT COUNT(*) FROM visits", "ROLLBACK SELECT 1", "", 'T'},
		{"RELEASE b", "", "3B001", 'E'},
		{"ROLLBACK AND CHAIN", "ROLLBACK", "", 'T'},
		{"RELEASE a", "", "3B001", 'E'},
		{"END", "ROLLBACK", "", 'I'},
		{"SAVEPOINT a", "", "25P01", 'I'},
		{"ROLLBACK", "ROLLBACK", "", 'I'},
		{"", "", "", 'I'},
		{"; ;", "", "", 'I'},
		{"SELECT 1; SELECT 2 FROM nothing; SELECT 3", "SELECT 1", "42P01", 'I'},
	} {
		tags, state := run(t, c, e.text)
		if got := strings.Join(tags, " "); got != e.tags || state != e.state || c.PgConn().TxStatus() != e.status {
			t.Errorf("%q: %s %s %c, want %s %s %c", e.text, got, state, c.PgConn().TxStatus(), e.tags, e.state, e.status)
		}
	}
}

// TestReadOnly spends nothing in read-only transactions, and something outside.
func TestReadOnly(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	left := func() string {
		t.Helper()
		rows, err := c.Query(context.Background(), "SHOW BUDGET", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all)
	}
	const buys = "SELECT COUNT(*) FROM visits WHERE age < 30"
	run(t, c, "SET accuracy = 20; SET mechanism = direct")
	before := left()
	for _, text := range []string{
		"BEGIN READ ONLY; " + buys,
		"BEGIN; SET TRANSACTION READ ONLY; " + buys,
		"BEGIN; SET transaction_read_only = on; " + buys,
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; " + buys,
		"SET default_transaction_read_only TO 'on'; BEGIN; " + buys,
	} {
		_, state := run(t, c, text)
		run(t, c, "ROLLBACK; RESET ALL; SET accuracy = 20; SET mechanism = direct")
		if state != "25006" || left() != before {
			t.Errorf("%s: %s, want 25006; left %s of %s", text, state, left(), before)
		}
	}
	if _, state := run(t, c, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; BEGIN READ WRITE; "+buys+"; ROLLBACK"); state != "" || left() == before {
		t.Errorf("a transaction that may write bought nothing: %s", state)
	}
}

// TestSetLocal sets a setting of the engine to the end of a transaction: what may be bought must not
// outlive it.
func TestSetLocal(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for _, e := range []struct{ text, want string }{
		{"BEGIN; SET LOCAL confidence = 0.8", "0.8"},
		{"COMMIT", "0.95"},
		{"SET confidence = 0.9; BEGIN; SET LOCAL confidence = 0.8; SET LOCAL confidence = 0.7", "0.7"},
		{"COMMIT", "0.9"},
		{"BEGIN; SET LOCAL confidence = 0.8; SET confidence = 0.6; COMMIT", "0.6"},
		{"BEGIN; SET confidence = 0.7; SET LOCAL confidence = 0.8; ROLLBACK", "0.6"},
		{"SET LOCAL confidence = 0.8", "0.6"},
		{"SELECT set_config('confidence', '0.8', true)", "0.6"},
		{"SELECT set_config('confidence', '0.8', false)", "0.8"},
		{"BEGIN; SET LOCAL confidence TO DEFAULT", "0.95"},
		{"COMMIT", "0.8"},
		{"BEGIN; SET LOCAL confidence = 0.7; RESET confidence; COMMIT", "0.95"},
		{"SET confidence = 0.7; BEGIN; SET LOCAL confidence = 0.8; RESET ALL; COMMIT", "0.95"},
	} {
		if _, state := run(t, c, e.text); state != "" {
			t.Fatalf("%s: %s", e.text, state)
		}
		if got := confidence(t, c); got != e.want {
			t.Errorf("%s: %s, want %s", e.text, got, e.want)
		}
	}
}

// TestSettingsOfLogin gives a setting of the engine with the login, to which RESET returns.
func TestSettingsOfLogin(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url+"?options=-c%20confidence%3D0.8")
	for _, text := range []string{"SELECT 1", "SET confidence = 0.9; RESET confidence", "SET confidence = 0.9; RESET ALL", "SET confidence = 0.9; SET confidence TO DEFAULT"} {
		if _, state := run(t, c, text); state != "" || confidence(t, c) != "0.8" {
			t.Errorf("%s: %s, confidence %s, want 0.8", text, state, confidence(t, c))
		}
	}
	if _, err := pgx.Connect(context.Background(), url+"?options=-c%20confidence%3D2"); err == nil || !strings.Contains(err.Error(), "22023") {
		t.Errorf("a login with confidence 2: %v", err)
	}
}

// confidence returns the setting of a connection's session.
func confidence(t *testing.T, c *pgx.Conn) string {
	t.Helper()
	rows, err := c.Query(context.Background(), "SHOW SETTINGS")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(row []any) bool { return row[0] == "confidence" })
	return fmt.Sprint(all[at][1])
}

func TestSettings(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url+"?application_name=x%C3%A4&options=-c%20statement_timeout%3D2s")
	for _, e := range []struct{ text, want string }{
		{"SHOW application_name", "x??"},
		{"SHOW statement_timeout", "2s"},
		{"SHOW confidence", ""},
		{"SHOW server_version_num", "150000"},
		{"SET TIME ZONE 'Europe/Zurich'; SHOW TIME ZONE", "Europe/Zurich"},
		{"SET search_path = a, b; SHOW search_path", "a, b"},
		{"RESET search_path; SHOW search_path", `"$user", public`},
		{"BEGIN; SET LOCAL work_mem = '1GB'; SET jit = 'on'; SHOW work_mem", "1GB"},
		{"COMMIT; SHOW work_mem", "4MB"},
		{"SHOW jit", "on"},
		{"BEGIN; SET jit = 'off'; SET confidence = 0.8; ROLLBACK; SHOW jit", "on"},
		{"SET my.own = 7; SHOW my.own", "7"},
		{"SHOW TRANSACTION ISOLATION LEVEL", "read committed"},
		{"BEGIN READ ONLY; SHOW transaction_read_only", "on"},
		{"ROLLBACK; SHOW session_authorization", "ana"},
	} {
		if e.want == "" {
			continue
		}
		if got := show(t, c, e.text); got != e.want {
			t.Errorf("%s: %q, want %q", e.text, got, e.want)
		}
	}
	for _, e := range []struct{ text, state string }{
		{"SET client_encoding = LATIN1", "22023"}, {"SET server_version = '16'", "55P02"}, {"SET standard_conforming_strings = off", "22023"},
		{"SET ROLE postgres", "42501"}, {"SET SESSION AUTHORIZATION bob", "42501"}, {"SET datestyle = German", "22023"}, {"SHOW nothing.at", "42704"},
		{"SET NAMES 'UTF8'", ""}, {"SET ROLE NONE", ""}, {"RESET ROLE", ""}, {"DISCARD ALL", ""}, {"UNLISTEN *", ""}, {"CLOSE ALL", ""}, {"DEALLOCATE ALL", ""},
		{"SET extra_float_digits = 3", ""}, {"SET datestyle = 'ISO, DMY'", ""}, {"SET confidence = 0.8; RESET confidence", ""},
	} {
		if _, state := run(t, c, e.text); state != e.state {
			t.Errorf("%s: %q, want %q", e.text, state, e.state)
		}
	}
	if got := c.PgConn().ParameterStatus("DateStyle"); got != "ISO, DMY" {
		t.Errorf("the client was told of DateStyle %q", got)
	}
}

// TestReportedSettings: a client is told of each reported setting that a statement changes, and of no other.
func TestReportedSettings(t *testing.T) {
	url, _ := start(t, nil)
	w, hijacked := raw(t, url)
	defer hijacked.Close()
	for _, e := range []struct{ text, told string }{
		{"SET datestyle = 'ISO, DMY'", "DateStyle = ISO, DMY"},
		{"SET application_name = 'a'", "application_name = a"},
		{"SET confidence = 0.9", ""},
		{"BEGIN", ""},
		{"SET application_name = 'b'", "application_name = b"},
		{"ROLLBACK", "application_name = a"}, // and nothing of DateStyle
		{"BEGIN; ROLLBACK", ""},
		{"BEGIN; SET LOCAL application_name = 'c'", "application_name = c"},
		{"COMMIT", "application_name = a"},
		{"BEGIN; SAVEPOINT s; SET application_name = 'd'", "application_name = d"},
		{"ROLLBACK TO s", "application_name = a"},
		{"SET LOCAL application_name = 'e'; SAVEPOINT t; SET LOCAL application_name = 'f'", "application_name = e; application_name = f"},
		{"ROLLBACK TO t", "application_name = e"},
		{"ROLLBACK TO s", "application_name = a"},
		{"COMMIT", ""},
		{"RESET application_name", "application_name = "},
	} {
		w.Send(&pgproto3.Query{String: e.text})
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var told []string
		untilReady(t, w, func(m pgproto3.BackendMessage) {
			switch m := m.(type) {
			case *pgproto3.ErrorResponse:
				t.Errorf("%s: %s", e.text, m.Message)
			case *pgproto3.ParameterStatus:
				told = append(told, m.Name+" = "+m.Value)
			}
		})
		if got := strings.Join(told, "; "); got != e.told {
			t.Errorf("%s told %q, want %q", e.text, got, e.told)
		}
	}
}

// TestRollBackToSavepoint: what was set, made read-write and declared since a savepoint is undone with the
// rest, as in PostgreSQL, so that a transaction that is read-only buys nothing.
func TestRollBackToSavepoint(t *testing.T) {
	url, s := start(t, nil)
	c := connect(t, url)
	for _, e := range []struct{ text, state string }{
		{"SET accuracy = 20; SET mechanism = direct", ""},
		{"BEGIN READ ONLY; SAVEPOINT a; SET TRANSACTION READ WRITE; SET accuracy = 30; DECLARE since CURSOR FOR SELECT 1", ""},
		{"SELECT 1 FROM nothing", "42P01"},
		{"ROLLBACK TO a", ""},
		{"SELECT COUNT(*) FROM visits WHERE age < 30", "25006"},
		{"ROLLBACK TO a", ""},
		{"FETCH since", "34000"},
		{"ROLLBACK TO b", "3B001"},
		{"ROLLBACK TO a; ROLLBACK TO a", ""},
	} {
		if _, state := run(t, c, e.text); state != e.state {
			t.Errorf("%s: %q, want %q", e.text, state, e.state)
		}
	}
	if got := show(t, c, "SHOW transaction_read_only"); got != "on" {
		t.Errorf("the transaction is read-only: %s", got)
	}
	if bought := s.Counts().Bought.Load(); bought != 0 {
		t.Errorf("%d answers were bought", bought)
	}
}

// TestPortals takes the rows of a portal in parts, describes without executing, and closes.
func TestPortals(t *testing.T) {
	url, _ := start(t, nil)
	w, hijacked := raw(t, url)
	defer hijacked.Close()
	send := func(all ...pgproto3.FrontendMessage) (out []string) {
		t.Helper()
		for _, m := range append(all, &pgproto3.Sync{}) {
			w.Send(m)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		untilReady(t, w, func(m pgproto3.BackendMessage) {
			switch m := m.(type) {
			case *pgproto3.ReadyForQuery:
				out = append(out, "ready "+string(m.TxStatus))
			case *pgproto3.ErrorResponse:
				out = append(out, "error "+m.Code)
			case *pgproto3.CommandComplete:
				out = append(out, string(m.CommandTag))
			case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
			default:
				out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3."))
			}
		})
		return out
	}
	const text = "SELECT age, COUNT(*) FROM visits WHERE age < $1 GROUP BY age"
	bind := func(portal, arg string) *pgproto3.Bind {
		return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: "s", Parameters: [][]byte{[]byte(arg)}, ResultFormatCodes: []int16{1}}
	}
	steps := []struct {
		messages []pgproto3.FrontendMessage
		want     string
	}{
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s", Query: text, ParameterOIDs: []uint32{23}}, &pgproto3.Describe{ObjectType: 'S', Name: "s"}},
			"ParseComplete ParameterDescription RowDescription ready I"},
		{[]pgproto3.FrontendMessage{bind("", "3"), &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}},
			"BindComplete RowDescription DataRow DataRow DataRow SELECT 3 ready I"},
		{[]pgproto3.FrontendMessage{bind("", "3"), &pgproto3.Describe{ObjectType: 'P'}}, "BindComplete RowDescription ready I"},
		{[]pgproto3.FrontendMessage{bind("p", "3"), &pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Execute{Portal: "p"}},
			"BindComplete DataRow DataRow PortalSuspended DataRow SELECT 1 SELECT 0 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "p"}, &pgproto3.Parse{Name: "never", Query: "SELECT 1"}}, "error 34000 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "never"}}, "error 26000 ready I"},
		{[]pgproto3.FrontendMessage{bind("", "no number")}, "error 22P02 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "s"}}, "error 08P01 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s", Query: "SELECT 1"}}, "error 42P05 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "BEGIN"}, &pgproto3.Bind{}, &pgproto3.Execute{}}, "ParseComplete BindComplete BEGIN ready T"},
		{[]pgproto3.FrontendMessage{bind("p", "2"), &pgproto3.Execute{Portal: "p", MaxRows: 1}}, "BindComplete DataRow PortalSuspended ready T"},
		{[]pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "p"}, bind("p", "2")}, "DataRow SELECT 1 error 42P03 ready E"},
		{[]pgproto3.FrontendMessage{bind("q", "2")}, "error 25P02 ready E"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "ROLLBACK"}, &pgproto3.Bind{}, &pgproto3.Execute{}}, "ParseComplete BindComplete ROLLBACK ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Close{ObjectType: 'P', Name: "none"}, bind("", "1")},
			"CloseComplete CloseComplete error 26000 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: " -- nothing\n"}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}},
			"ParseComplete BindComplete NoData EmptyQueryResponse ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT 1; SELECT 2"}}, "error 42601 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.FunctionCall{}}, "error 0A000 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT 1"}, &pgproto3.Parse{Name: "two", Query: "SELECT 2"}, &pgproto3.Bind{}, &pgproto3.Execute{}},
			"ParseComplete ParseComplete BindComplete DataRow SELECT 1 ready I"},
		{[]pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "none"}, &pgproto3.Query{String: "SELECT 1"}, &pgproto3.Flush{}}, "error 34000 ready I"},
	}
	for _, e := range steps {
		if got := strings.Join(send(e.messages...), " "); got != e.want {
			t.Errorf("got  %s\nwant %s", got, e.want)
		}
	}
}

// raw logs in, and returns the connection for messages.
func raw(t testing.TB, url string) (*pgproto3.Frontend, net.Conn) {
	t.Helper()
	c, err := pgconn.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	h.Conn.SetDeadline(time.Now().Add(patience))
	return h.Frontend, h.Conn
}

// untilReady hands over messages up to a ReadyForQuery, which is the last.
func untilReady(t testing.TB, w *pgproto3.Frontend, take func(pgproto3.BackendMessage)) {
	t.Helper()
	for {
		m, err := w.Receive()
		if err != nil {
			t.Fatal(err)
		}
		take(m)
		if _, ready := m.(*pgproto3.ReadyForQuery); ready {
			return
		}
	}
}

// TestDescribeBuysNothing describes a statement that would be bought.
func TestDescribeBuysNothing(t *testing.T) {
	url, s := start(t, nil)
	c := connect(t, url)
	run(t, c, "SET accuracy = 20; SET mechanism = direct")
	d, err := c.Prepare(context.Background(), "x", "SELECT COUNT(*) FROM visits WHERE age < 30")
	if err != nil || len(d.Fields) != 1 || d.Fields[0].DataTypeOID != 20 {
		t.Fatalf("%v %v", d, err)
	}
	if bought := s.Counts().Bought.Load(); bought != 0 {
		t.Errorf("%d answers were bought", bought)
	}
	var n int
	if err := c.QueryRow(context.Background(), "x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if bought := s.Counts().Bought.Load(); bought != 1 {
		t.Errorf("%d answers were bought, want 1", bought)
	}
}

func TestCancel(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	const slow = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 1000000000) SELECT COUNT(*) FROM t"
	done := make(chan string)
	go func() {
		_, err := c.PgConn().Exec(context.Background(), slow).ReadAll()
		var e *pgconn.PgError
		errors.As(err, &e)
		done <- e.Code
	}()
	time.Sleep(100 * time.Millisecond)
	wrong := c.PgConn().SecretKey()
	request := func(key []byte) {
		conn, err := net.Dial("tcp", c.PgConn().Conn().RemoteAddr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		packet := binary.BigEndian.AppendUint32(nil, uint32(12+len(key)))
		packet = binary.BigEndian.AppendUint32(packet, 80877102)
		packet = binary.BigEndian.AppendUint32(packet, c.PgConn().PID())
		conn.Write(append(packet, key...))
		io.Copy(io.Discard, conn)
	}
	other := bytes.Clone(wrong)
	other[0] ^= 1
	request(other)
	request(other[:len(other)-1])
	select {
	case state := <-done:
		t.Fatalf("another key cancelled the statement: %s", state)
	case <-time.After(100 * time.Millisecond):
	}
	request(wrong)
	if state := <-done; state != "57014" {
		t.Errorf("state %s, want 57014", state)
	}
	if _, state := run(t, c, "SET statement_timeout = 50; "+slow); state != "57014" {
		t.Errorf("after its time: state %s, want 57014", state)
	}
}

func certificate(t testing.TB) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	own, _ := certificate(t)
	url, _ := start(t, func(c *server.Config) {
		c.Certificate = func() (*tls.Certificate, error) { return own, nil }
		c.RequireTLS = true
	})
	for _, e := range []struct{ options, state string }{
		{"sslmode=require", ""},
		{"sslmode=require&channel_binding=require", ""},
		{"sslmode=require&channel_binding=disable", ""},
		{"sslmode=require&sslnegotiation=direct", ""},
		{"sslmode=disable", "28000"},
		{"sslmode=verify-full", "x509"},
	} {
		c, err := pgx.Connect(context.Background(), url+"?"+e.options)
		var got *pgconn.PgError
		switch {
		case e.state == "x509":
			if err == nil || !strings.Contains(err.Error(), "x509") {
				t.Errorf("%s: %v", e.options, err)
			}
		case e.state == "" && err != nil || e.state != "" && (!errors.As(err, &got) || got.Code != e.state):
			t.Errorf("%s: %v, want %q", e.options, err, e.state)
		case err == nil:
			if _, ok := c.PgConn().Conn().(*tls.Conn); !ok {
				t.Errorf("%s: no TLS", e.options)
			}
			if got := show(t, c, "SHOW ssl"); got != "on" {
				t.Errorf("ssl is %s", got)
			}
		}
		if err == nil {
			c.Close(context.Background())
		}
	}
}

// TestStuffing sends a startup packet behind the request for TLS, in one write and in the
// clear. It must not be obeyed after TLS has begun (CVE-2021-23214).
func TestStuffing(t *testing.T) {
	own, _ := certificate(t)
	url, s := start(t, func(c *server.Config) {
		c.Certificate = func() (*tls.Certificate, error) { return own, nil }
		c.Curator = func(net.Conn, string) bool { return true } // whoever speaks is in
	})
	conn, err := net.Dial("tcp", strings.Split(strings.Split(url, "@")[1], "/")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	startup, err := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana", "database": "clinic"}}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(append([]byte{0, 0, 0, 8, 4, 210, 22, 47}, startup...))
	conn.SetDeadline(time.Now().Add(patience))
	all, _ := io.ReadAll(conn)
	if !bytes.HasPrefix(all, []byte("S")) || bytes.Contains(all, []byte("server_version")) || s.Counts().Logins.Load() != 0 {
		t.Errorf("the server answered %q", all)
	}
}

// TestStartup sends startup packets of all kinds.
func TestStartup(t *testing.T) {
	url, _ := start(t, func(c *server.Config) {
		c.Curator = func(net.Conn, string) bool { return true }
		c.Limits.Login = 300 * time.Millisecond
	})
	packet := func(code uint32, body string) string {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
		return string(binary.BigEndian.AppendUint32(b, code)) + body
	}
	const ok = "user\x00x\x00database\x00clinic\x00\x00"
	for _, e := range []struct{ name, bytes, want string }{
		{"3.0", packet(3<<16, ok), "R"},
		{"3.2", packet(3<<16+2, ok), "R"},
		{"3.9", packet(3<<16+9, ok), "v"},
		{"an option of the protocol", packet(3<<16, "_pq_.x\x001\x00"+ok), "v"},
		{"GSS, then 3.0", packet(80877104, "") + packet(3<<16, ok), "NR"},
		{"TLS and GSS, then 3.0", packet(80877103, "") + packet(80877104, "") + packet(3<<16, ok), "NNR"},
		{"TLS twice", packet(80877103, "") + packet(80877103, ""), "N"},
		{"2.0", packet(2<<16, ok), "E"},
		{"4.0", packet(4<<16, ok), "E"},
		{"no user", packet(3<<16, "database\x00clinic\x00\x00"), "E"},
		{"no end", packet(3<<16, "user\x00x\x00"), "E"},
		{"half a pair", packet(3<<16, "user\x00x"), "E"},
		{"after the end", packet(3<<16, ok+"x"), "E"},
		{"replication", packet(3<<16, "replication\x00database\x00"+ok), "E"},
		{"too short", "\x00\x00\x00\x04", ""},
		{"too long", "\x7f\xff\xff\xff\x00\x03\x00\x00", ""},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", ""},
		{"a cancel request that is too short", packet(80877102, "\x00\x00\x00\x01"), ""},
		{"a cancel request for nobody", packet(80877102, "\x00\x00\x00\x01abcd"), ""},
		{"nothing", "", ""},
		{"TLS that is not offered", "\x16\x03\x01\x00\x05hello", ""},
	} {
		conn, err := net.Dial("tcp", strings.Split(strings.Split(url, "@")[1], "/")[0])
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(e.bytes))
		conn.SetDeadline(time.Now().Add(patience))
		got := make([]byte, len(e.want)+1)
		n, err := io.ReadAtLeast(conn, got, max(1, len(e.want)))
		if e.want == "" && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(fmt.Sprint(err), "reset") || string(got[:min(n, len(e.want))]) != e.want {
			t.Errorf("%s: %q (%v), want %q", e.name, got[:n], err, e.want)
		}
		conn.Close()
	}
}

func TestLimits(t *testing.T) {
	url, _ := start(t, func(c *server.Config) {
		c.Limits = server.Limits{Connections: 2, Message: 10_000, Prepared: 5}
	})
	url += "?sslmode=disable" // else a client tries TLS first, on a connection of its own
	c := connect(t, url)
	for i := range 6 {
		_, err := c.Prepare(context.Background(), fmt.Sprintf("p%d", i), "SELECT 1")
		var e *pgconn.PgError
		if i < 5 && err != nil || i == 5 && (!errors.As(err, &e) || e.Code != "54000") {
			t.Errorf("prepared statement %d: %v", i, err)
		}
	}
	second := connect(t, url)
	_, err := pgx.Connect(context.Background(), url)
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "53300" {
		t.Errorf("a third connection: %v", err)
	}
	_, err = second.Exec(context.Background(), "SELECT '"+strings.Repeat("x", 10_000)+"'", pgx.QueryExecModeSimpleProtocol)
	if !errors.As(err, &e) || e.Code != "54000" || e.Severity != "FATAL" {
		t.Errorf("a long message: %v", err)
	}
}

func TestShutdown(t *testing.T) {
	url, s := start(t, nil)
	c := connect(t, url)
	silent, err := net.Dial("tcp", strings.TrimSuffix(url[strings.Index(url, "@")+1:], "/clinic"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for s.Counts().Open.Load() < 2 { // until it is accepted
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience/2) // less than a login may take
	defer cancel()
	s.Shutdown(ctx)
	_, err = c.Exec(context.Background(), "SELECT 1", pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		t.Error("a connection outlived the server")
	}
	if ctx.Err() != nil {
		t.Error("an idle connection, or one that has not logged in, held the server up")
	}
}

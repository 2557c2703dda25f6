package server_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server"
)

// fuzzed is a server of which clients are what the fuzzer writes.
func fuzzed(f *testing.F, curator bool) (address string, s *server.Server) {
	url, s := start(f, func(c *server.Config) {
		c.Limits = server.Limits{Login: 5 * time.Second, Message: 64 << 10}
		if curator {
			c.Curator = func(net.Conn, string) bool { return true } // no password
		}
	})
	return url[len("postgres://ana:s3cretive@") : len(url)-len("/clinic")], s
}

// exchange sends bytes on a new connection, ends its sending half and returns all that came.
func exchange(t *testing.T, address string, sent []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	go func() {
		conn.Write(sent)
		conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("the connection neither ended nor answered: %q after %q", got, sent)
	}
	return got
}

// FuzzStartup sends arbitrary bytes to a server that wants a password. Every connection ends,
// no one is let in, and the server has no fault.
func FuzzStartup(f *testing.F) {
	address, s := fuzzed(f, false)
	packet := func(code uint32, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
		return append(binary.BigEndian.AppendUint32(b, code), body...)
	}
	login := packet(3<<16, "user\x00ana\x00database\x00clinic\x00\x00")
	sasl, _ := (&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abc")}).Encode(nil)
	plus, _ := (&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256-PLUS", Data: []byte("p=tls-server-end-point,,n=,r=abc")}).Encode(nil)
	last, _ := (&pgproto3.SASLResponse{Data: []byte("c=biws,r=abc,p=AAAA")}).Encode(nil)
	ask, _ := (&pgproto3.Query{String: "SELECT COUNT(*) FROM visits"}).Encode(nil)
	for _, seed := range [][]byte{
		nil, login, packet(80877103, ""), packet(80877104, ""), packet(80877102, "\x00\x00\x00\x01abcd"), packet(3<<16+2, "user\x00ana\x00\x00"), packet(3<<16+9, "user\x00a\x00_pq_.x\x001\x00\x00"),
		append(packet(80877103, ""), login...), append(bytes.Clone(login), sasl...), append(append(bytes.Clone(login), sasl...), last...), append(bytes.Clone(login), plus...),
		append(bytes.Clone(login), ask...), append(append(append(bytes.Clone(login), sasl...), last...), ask...), []byte("GET / HTTP/1.0\r\n\r\n"), []byte("\x16\x03\x01\x02\x00\x01"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		s.ForgetFailures()
		got := exchange(t, address, sent)
		if bytes.Contains(got, []byte("R\x00\x00\x00\x08\x00\x00\x00\x00")) || bytes.Contains(got, []byte("server_version")) || s.Counts().Logins.Load() != 0 {
			t.Errorf("%q let someone in: %q", sent, got)
		}
		if s.Counts().Statements.Load() != 0 {
			t.Errorf("%q was answered before a login", sent)
		}
		if n := s.Counts().Panics.Load(); n != 0 {
			t.Errorf("%d faults of the server", n)
		}
	})
}

// FuzzMessages logs in and sends arbitrary messages. The server answers each, or ends the
// connection with a reason: what it sends is a sequence of whole messages, and it has no
// fault.
func FuzzMessages(f *testing.F) {
	address, s := fuzzed(f, true)
	startup, _ := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ana", "database": "clinic"}}).Encode(nil)
	encode := func(all ...pgproto3.FrontendMessage) (b []byte) {
		for _, m := range all {
			b, _ = m.Encode(b)
		}
		return b
	}
	for _, text := range []string{"", ";", "SELECT COUNT(*) FROM visits", "SELECT sex, COUNT(*) FROM visits GROUP BY sex; SELECT 1", "BEGIN; DECLARE c CURSOR FOR SELECT 1; FETCH ALL c; MOVE -1 c; CLOSE c; COMMIT",
		"PREPARE p (int, text) AS SELECT COUNT(*) FROM visits WHERE age < $1 AND sex = $2; EXECUTE p (5, 'F'); DEALLOCATE p", "COPY (SELECT 1, 'a') TO STDOUT WITH (FORMAT csv, HEADER)",
		"SET client_min_messages = warning; SHOW ALL; RESET ALL; DISCARD ALL", "START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY; SAVEPOINT a; ROLLBACK TO a; END", "SET TIME ZONE 'x'; SHOW TIME ZONE; SET LOCAL jit = off",
		".tables", "FETCH FORWARD 10 IN c", "SHOW TABLES; DESCRIBE visits; EXPLAIN SELECT COUNT(*) FROM visits"} {
		f.Add(encode(&pgproto3.Query{String: text}))
	}
	f.Add(encode(&pgproto3.Parse{Query: "SELECT COUNT(*) FROM visits WHERE age = $1", ParameterOIDs: []uint32{23}}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{Parameters: [][]byte{[]byte("1")}, ResultFormatCodes: []int16{1}},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Close{ObjectType: 'P'}, &pgproto3.Flush{}, &pgproto3.Sync{}))
	f.Add(encode(&pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}, &pgproto3.CopyData{}, &pgproto3.FunctionCall{}, &pgproto3.Terminate{}))
	f.Fuzz(func(t *testing.T, sent []byte) {
		got := exchange(t, address, append(bytes.Clone(startup), sent...))
		for rest := got; len(rest) > 0; {
			if len(rest) < 5 || strings.IndexByte("1237CDEGHIKNRSTZcdnstv", rest[0]) < 0 {
				t.Fatalf("%q was answered with what is no message: %q", sent, rest)
			}
			size := int(binary.BigEndian.Uint32(rest[1:])) + 1
			if size < 5 || size > len(rest) {
				t.Fatalf("%q was answered with a message of %d bytes of %d", sent, size, len(rest))
			}
			rest = rest[size:]
		}
		if n := s.Counts().Panics.Load(); n != 0 {
			t.Errorf("%q is a fault of the server", sent)
		}
	})
}

package server_test

import (
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/internal/seeds"
	"dpsql/server"
)

// TestLoginTime measures how long the server takes to answer the first message of a login, and
// a wrong password, for a user who exists and for one who does not, in a random order. The ranks
// of the times tell the two apart no better than chance does (Mann and Whitney's test): the test
// fails for |z| > 5, whose probability is 5.8e-7 for exchangeable times. A user for whom the
// server would take 2 ms longer, as for making a verifier, is told apart.
func TestLoginTime(t *testing.T) {
	n := 200
	if *long {
		n = 5000
	}
	url, s := start(t, nil)
	address := strings.Split(strings.Split(url, "@")[1], "/")[0]
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	users := slices.Concat(slices.Repeat([]string{"ana"}, n), slices.Repeat([]string{"nob"}, n))
	random.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	known, unknown := make([]float64, 0, n), make([]float64, 0, n)
	for _, user := range users {
		s.ForgetFailures()
		if took := float64(failedLogin(t, address, user)); user == "ana" {
			known = append(known, took)
		} else {
			unknown = append(unknown, took)
		}
	}
	z := rankTest(known, unknown)
	t.Logf("%d logins each: medians %v and %v, z = %.2f", n, time.Duration(median(known)), time.Duration(median(unknown)), z)
	if math.Abs(z) > 5 {
		t.Errorf("the time of a failed login tells whether there is such a user: z = %.2f", z)
	}
	for i := range unknown {
		unknown[i] += float64(2 * time.Millisecond)
	}
	if z := rankTest(known, unknown); math.Abs(z) < 5 {
		t.Errorf("a server that takes 2 ms longer is not told apart: z = %.2f", z)
	}
}

// failedLogin logs in with a wrong password, and returns how long the server took.
func failedLogin(t *testing.T, address, user string) time.Duration {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	front := pgproto3.NewFrontend(conn, conn)
	receive := func() pgproto3.BackendMessage {
		m, err := front.Receive()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	began := time.Now()
	front.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": user, "database": "clinic"}})
	front.Flush()
	receive()
	front.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefghijklmnop")})
	front.Flush()
	first := string(receive().(*pgproto3.AuthenticationSASLContinue).Data)
	nonce, _, _ := strings.Cut(strings.TrimPrefix(first, "r="), ",")
	front.Send(&pgproto3.SASLResponse{Data: []byte("c=biws,r=" + nonce + ",p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")})
	front.Flush()
	if e, ok := receive().(*pgproto3.ErrorResponse); !ok || e.Code != "28P01" {
		t.Fatal("a wrong password was accepted")
	}
	took := time.Since(began)
	io.Copy(io.Discard, conn)
	return took
}

// rankTest returns the statistic of Mann and Whitney's test of two samples, which is standard
// normal if they are exchangeable.
func rankTest(a, b []float64) float64 {
	type ranked struct {
		x     float64
		first bool
	}
	var all []ranked
	for _, x := range a {
		all = append(all, ranked{x, true})
	}
	for _, x := range b {
		all = append(all, ranked{x, false})
	}
	slices.SortFunc(all, func(p, q ranked) int {
		switch {
		case p.x < q.x:
			return -1
		case p.x > q.x:
			return 1
		}
		return 0
	})
	sum := 0.0
	for i, r := range all {
		if r.first {
			sum += float64(i + 1)
		}
	}
	n, m := float64(len(a)), float64(len(b))
	return (sum - n*(n+m+1)/2) / math.Sqrt(n*m*(n+m+1)/12)
}

func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return sorted[len(sorted)/2]
}

// BenchmarkLogin logs in and out, with a password and without TLS.
func BenchmarkLogin(b *testing.B) {
	url, _ := start(b, func(c *server.Config) {})
	for b.Loop() {
		c := connect(b, url+"?sslmode=disable")
		c.Close(b.Context())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "logins/s")
}

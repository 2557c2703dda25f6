package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/server"
)

// BenchmarkAsk asks a free answer by 64 users at a time: over the console's API, over the wire, half by each, and of the
// engine without either, which is the plain baseline. Each user has a session or a connection of her own.
func BenchmarkAsk(b *testing.B) {
	const users, text = 64, `SELECT sex, COUNT(*) FROM visits GROUP BY sex`
	h := open(b, nil)
	http.DefaultClient.Transport = &http.Transport{MaxIdleConnsPerHost: users}
	b.Cleanup(func() { http.DefaultClient.Transport = nil })
	pages := make([]*page, users)
	sessions := make([]*engine.Session, users)
	wires := make([]*pgconn.PgConn, users)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	wire := server.New(server.Config{Database: h.db, Name: "clinic"})
	go wire.Serve(b.Context(), l)
	for i := range pages {
		name := fmt.Sprintf("user%d", i)
		h.exec(`CREATE USER `+name+` PASSWORD 's3cretive'`, `GRANT SELECT ON visits TO `+name)
		pages[i] = h.page().login(object{"user": name, "password": "s3cretive"})
		sessions[i] = h.db.NewUserSession(name)
		if wires[i], err = pgconn.Connect(b.Context(), fmt.Sprintf("postgres://%s:s3cretive@%s/clinic?sslmode=disable", name, l.Addr())); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { wires[i].Close(context.Background()) })
	}
	crowd := func(name string, ask func(user int) bool) {
		b.Run(name, func(b *testing.B) {
			var user, byWire atomic.Int64
			b.SetParallelism(users / 2)
			b.RunParallel(func(pb *testing.PB) {
				for i := int(user.Add(1)) % users; pb.Next(); {
					if !ask(i) {
						b.Error("not answered")
						return
					}
					if i%2 == 1 {
						byWire.Add(1)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
			if name == "half" {
				b.ReportMetric(float64(byWire.Load())/b.Elapsed().Seconds(), "wire/s")
			}
		})
	}
	overHTTP := func(i int) bool {
		status, _ := pages[i].post("ask", object{"sql": text})
		return status == 200
	}
	overWire := func(i int) bool {
		_, err := wires[i].Exec(context.Background(), text).ReadAll()
		return err == nil
	}
	crowd("http", overHTTP)
	crowd("wire", overWire)
	crowd("half", func(i int) bool {
		if i%2 == 0 {
			return overHTTP(i)
		}
		return overWire(i)
	})
	crowd("engine", func(i int) bool {
		_, err := sessions[i].Exec(context.Background(), text, nil)
		return err == nil
	})
}

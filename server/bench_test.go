package server_test

import (
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server"
)

// BenchmarkPrepared asks a release by a prepared statement on 16 connections, as pgbench does:
// Bind, Describe, Execute, Sync. The client's side is in the same process.
func BenchmarkPrepared(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	url, _ := start(b, func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(null, nil)) })
	const connections = 16
	work := make(chan struct{}, 1024)
	var clients sync.WaitGroup
	for range connections {
		w, conn := raw(b, url)
		w.Send(&pgproto3.Parse{Name: "s", Query: "SELECT COUNT(*) FROM visits WHERE age < $1 AND sex = 'F'", ParameterOIDs: []uint32{23}})
		ask := func() {
			w.Send(&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("30")}})
			w.Send(&pgproto3.Describe{ObjectType: 'P'})
			w.Send(&pgproto3.Execute{})
			w.Send(&pgproto3.Sync{})
			if w.Flush() != nil {
				return
			}
			for {
				m, err := w.Receive()
				if err != nil {
					b.Error(err)
					return
				}
				if _, ok := m.(*pgproto3.ReadyForQuery); ok {
					return
				}
			}
		}
		clients.Add(1)
		go func() {
			defer clients.Done()
			defer conn.Close()
			for range work {
				ask()
			}
		}()
	}
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	clients.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

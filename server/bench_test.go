package server_test

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server"
)

// BenchmarkPrepared asks a release by a prepared statement on 16 connections, as pgbench does:
// Bind, Describe, Execute, Sync. The client's side is in the same process. Beside it another client asks
// nothing, or one question after another for which rows are read, whose answers are held.
func BenchmarkPrepared(b *testing.B) {
	b.Run("nothing stored", func(b *testing.B) { benchPrepared(b, false, 0) })
	b.Run("alone", func(b *testing.B) { benchPrepared(b, true, 0) })
	for _, answerTime := range []int{250, 5} {
		b.Run(fmt.Sprintf("beside=%dms", answerTime), func(b *testing.B) { benchPrepared(b, true, answerTime) })
	}
}

// benchPrepared is BenchmarkPrepared of a table with or without a stored answer, beside a client whose answers take
// so many ms. 0 is no client.
func benchPrepared(b *testing.B, stored bool, answerTime int) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	var config server.Config
	url, _ := start(b, func(c *server.Config) {
		c.Log = slog.New(slog.NewTextHandler(null, nil))
		config = *c
	})
	if stored {
		run(b, connect(b, url), `SET accuracy = 10000; SET mechanism = direct; SELECT COUNT(*) FROM visits WHERE age < 7`)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	if answerTime > 0 {
		session := config.Database.NewSession()
		if _, err := session.Exec(b.Context(), fmt.Sprintf(`ALTER PRIVATE TABLE visits SET (answer_time = %d)`, answerTime), nil); err != nil {
			b.Fatal(err)
		}
		held := connect(b, url)
		run(b, held, `SET accuracy = 10000; SET mechanism = direct`)
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, state := run(b, held, fmt.Sprintf(`SELECT COUNT(*) FROM visits WHERE age NOT IN (%d, %d)`, i%100, 100+i)); state != "" {
					b.Error(state)
					return
				}
			}
		}()
	} else {
		close(stopped)
	}
	const connections = 16
	work := make(chan int, 1024)
	var clients sync.WaitGroup
	for range connections {
		w, conn := raw(b, url)
		w.Send(&pgproto3.Parse{Name: "s", Query: "SELECT COUNT(*) FROM visits WHERE age < $1 AND sex = 'F'", ParameterOIDs: []uint32{23}})
		ask := func(age int) {
			w.Send(&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{strconv.AppendInt(nil, int64(age), 10)}})
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
			for age := range work {
				ask(age)
			}
		}()
	}
	for i := 0; b.Loop(); i++ {
		work <- i % 100
	}
	close(work)
	clients.Wait()
	close(stop)
	<-stopped
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

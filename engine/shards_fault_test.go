package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// paid are statements that read rows, each in the form of its first line of the
// ledger: a release, which brings many cells, and answers.
var paid = []struct{ name, text string }{
	{"release", `CREATE RELEASE r ON flights (dep_hour, origin, destination) USING PROJECTION WITH (epsilon = 1, delta = 0, transform = sparse, rows = 65536)`},
	{"direct", `SELECT COUNT(*) FROM flights WHERE destination = 'LAX' AND distance < 999`},
	{"groups", `SELECT destination, COUNT(*) FROM flights WHERE dow = 'Sun' GROUP BY destination`},
}

// fault is what happens to the servers while a statement runs.
type fault struct {
	name    string
	happen  func(t *testing.T, w *warehouse, cancel func()) (heal func())
	from    int // the statements that have it, by their places in paid
	to      int
	short   int // the one that has it without -long; -1 for none
	limit   int // seconds that the source allows a statement; 0 for none
	code    sqlerr.Code
	charges int // lines that the failed statement leaves
}

var shardFaults = []fault{
	{name: "a shard is down", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		stop(t, w.Shard[1])
		return func() { start(t, w.Shard[1]) }
	}, to: 3, short: 0, code: sqlerr.IO, charges: 0},
	{name: "a shard stops when it is asked", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Shard[1], 1)
	}, to: 3, short: 1, code: sqlerr.IO, charges: 0},
	{name: "a shard stops amid its cells", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Shard[1], 100_000)
	}, to: 1, code: sqlerr.IO, charges: 1},
	{name: "the coordinator stops amid the cells", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Cluster, 100_000)
	}, to: 1, code: sqlerr.IO, charges: 1},
	{name: "the coordinator is down", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		stop(t, w.Cluster)
		return func() { start(t, w.Cluster) }
	}, to: 3, short: 2, code: sqlerr.IO, charges: 0},
	{name: "a slow shard and a cancellation", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(500 * time.Millisecond)
		wait := w.afterBytes(t, 1, cancel)
		return func() { wait(); w.quick() }
	}, to: 3, short: 0, code: sqlerr.Cancelled, charges: 0},
	{name: "a slow shard and the source's timeout", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(500 * time.Millisecond)
		return w.quick
	}, from: 1, to: 3, short: 1, limit: 1, code: sqlerr.IO, charges: 0},
	{name: "a slow shard and a longer timeout", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(3 * time.Second)
		return w.quick
	}, to: 1, short: -1, limit: 4, code: sqlerr.IO, charges: 0},
}

// stopAfter stops a server once so many bytes have come from the second shard.
func (w *warehouse) stopAfter(t *testing.T, c *pgtest.Cluster, more int64) (heal func()) {
	wait := w.afterBytes(t, more, func() { stop(t, c) })
	return func() { wait(); start(t, c) }
}

func (w *warehouse) quick() { w.Link[1].Delay(0) }

func stop(t *testing.T, c *pgtest.Cluster) {
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

// afterBytes calls f once so many more bytes have come from the second shard, and passes
// the last of them on when f has returned.
func (w *warehouse) afterBytes(t *testing.T, more int64, f func()) (wait func()) {
	done := make(chan struct{})
	w.Link[1].CallAfter(more, func() { f(); close(done) })
	return func() {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Errorf("the shard has not sent %d bytes", more)
		}
	}
}

// meter notes how many random bytes a database has taken.
type meter struct {
	from  io.Reader
	taken int
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.taken += n
	return n, err
}

func metered(db *engine.DB) *meter {
	m := &meter{from: rand.NewChaCha8([32]byte{1})}
	db.SetRandom(func() *noise.Source { return noise.NewSourceFrom(m) })
	return m
}

// oneRead is what a source of random bits takes at a time. A release takes one
// for its public hash function, before it knows of any row.
const oneRead = 1 << 13

// faults holds each statement to the rule under each fault: not charged where the
// shards cannot even be asked what they have, else charged first and once, then an
// error that says what it was, no noise, nothing stored. Once the servers are back it
// is charged again and answered. By default one statement has each fault, and with
// -long all.
func (w *warehouse) faults(t *testing.T) {
	for _, f := range shardFaults {
		for i, p := range paid {
			if i < f.from || i >= f.to || !*long && i != f.short {
				continue
			}
			t.Run(f.name+"/"+p.name, func(t *testing.T) { w.fault(t, f, p.text) })
		}
	}
	t.Run("a connection is cut once", w.cutOnce)
}

func (w *warehouse) fault(t *testing.T, f fault, text string) {
	options := ""
	if f.limit > 0 {
		options = fmt.Sprintf(", timeout = %d", f.limit)
	}
	s := w.remoteWith(t, options)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 100`)
	m, declared := metered(s.DB()), len(entries(t, s.DB()))
	ctx, cancel := context.WithCancel(context.Background())
	heal := f.happen(t, w, cancel)
	r, err := s.Exec(ctx, text, nil)
	cancel()
	heal()
	if sqlerr.CodeOf(err) != f.code {
		t.Errorf("%v, %v; want %s", r, err, f.code)
	}
	if n := len(entries(t, s.DB())) - declared; n != f.charges {
		t.Errorf("%d lines in the ledger, want %d", n, f.charges)
	}
	if m.taken > oneRead || m.taken > 0 && text[0] == 'S' {
		t.Errorf("%d random bytes were taken for a statement that failed", m.taken)
	}
	if names := released(t, s); len(names) > 0 {
		t.Errorf("%v are stored", names)
	}
	must(t, s, text)
	if n := len(entries(t, s.DB())) - declared; n != f.charges+1 {
		t.Errorf("%d lines in the ledger after the answer, want %d", n, f.charges+1)
	}
	if m.taken == 0 {
		t.Error("an answer without random bytes")
	}
}

// cutOnce loses the connection to the coordinator in the middle of the cells.
// Nothing was drawn by then, so the build reads again, and is the one that it
// would have been.
func (w *warehouse) cutOnce(t *testing.T) {
	var stored [2][]byte
	for i := range stored {
		s := w.remote(t)
		declared := len(entries(t, s.DB()))
		if i == 1 {
			w.front.CutAfter(200_000)
		}
		before := w.front.Sent()
		must(t, s, paid[0].text)
		if i == 1 && w.front.Sent() < before+400_000 {
			t.Errorf("%d bytes came: no cut and another read", w.front.Sent()-before)
		}
		if n := len(entries(t, s.DB())) - declared; n != 1 {
			t.Errorf("%d lines in the ledger", n)
		}
		stored[i] = payload(t, s, "r")
	}
	if !bytes.Equal(stored[0], stored[1]) {
		t.Error("another release after a cut")
	}
}

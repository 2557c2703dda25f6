package source

import "dpsql/query"

// relay hands rows to a function in another goroutine, in their order and many
// at a time: naming and counting a row takes a third as long as SQLite takes to
// read it.
type relay struct {
	width int // of a row
	rows  []query.Value
	full  chan []query.Value
	empty chan []query.Value
	done  chan struct{}
}

// relayedRows is the number of rows that are handed over at a time, and relays
// how many such there are.
const (
	relayedRows = 512
	relays      = 4
)

// newRelay returns a relay of rows of width values to f, which may not keep what
// it gets. The caller ends it.
func newRelay(width int, f func(row []query.Value)) *relay {
	r := &relay{width: width, full: make(chan []query.Value, relays), empty: make(chan []query.Value, relays), done: make(chan struct{})}
	for range relays {
		r.empty <- make([]query.Value, 0, relayedRows*width)
	}
	r.rows = <-r.empty
	go func() {
		defer close(r.done)
		for rows := range r.full {
			for i := 0; i < len(rows); i += width {
				f(rows[i : i+width])
			}
			r.empty <- rows[:0]
		}
	}()
	return r
}

// add hands a row over, sooner or later.
func (r *relay) add(row []query.Value) {
	r.rows = append(r.rows, row...)
	if len(r.rows) == cap(r.rows) {
		r.full <- r.rows
		r.rows = <-r.empty
	}
}

// end hands the last rows over and waits until all are done with.
func (r *relay) end() {
	r.full <- r.rows
	close(r.full)
	<-r.done
}

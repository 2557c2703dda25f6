package answer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"dpsql/engine/internal/pay"
	"dpsql/internal/released"
	"dpsql/sqlerr"
)

// apart is a purchase in a goroutine of its own.
type apart struct {
	mu   sync.Mutex
	bill *pay.Bill // once it is charged
	left bool      // its statement has ended
}

// leave ends the statement, and returns its bill, unless nothing is charged.
func (p *apart) leave() *pay.Bill {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.bill != nil
	return p.bill
}

// buyApart buys as buy does. Once it is charged, it goes on without a statement whose deadline passes, and its answers
// are stored: the equal statement waits for them, and costs nothing. A curator who cancels stops it, and the charge waits. An
// analyst does not stop it: what is left in the ledger would tell how long rows were read.
func (st *Statement) buyApart(ctx context.Context, purchases []Purchase, answers []released.Estimate) error {
	if ctx.Done() == nil { // held
		return st.buy(ctx, purchases, answers)
	}
	work, end, err := st.Database.Works.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(work)
	p, own, bill, found, done := new(apart), *st, *st.bill, slices.Clone(answers), make(chan error, 1)
	own.bill = &bill
	own.charged = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		charged := bill
		p.bill = &charged
	}
	if st.progress != nil {
		own.progress = func(done, all int64) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if !p.left {
				st.progress(done, all)
			}
		}
	}
	go func() {
		defer end()
		defer stop()
		err := sqlerr.Guard(func() error { return own.buy(work, purchases, found) })
		if why := context.Cause(work); err != nil && errors.Is(why, sqlerr.Closed) {
			err = why // the statement's own context may not have heard of it yet
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		stopped := st.stops && errors.Is(ctx.Err(), context.Canceled)
		if !stopped && !errors.Is(context.Cause(ctx), sqlerr.Closed) {
			if charged := p.leave(); charged != nil {
				*st.bill = *charged
				st.bill.Leave()
				return ctx.Err()
			}
		}
		stop()
		err = <-done
	}
	*st.bill, st.cost = bill, own.cost
	copy(answers, found)
	return err
}

// awaited waits for the equal statement where this one cannot pay for what that one is charged for now. It returns
// false if none in this process buys the same.
func (st *Statement) awaited(ctx context.Context) (bool, error) {
	if st.held {
		return false, nil
	}
	st.lend(true)
	defer st.lend(false)
	for i := range st.Asks {
		var err error
		if st.Asks[i].Best, err = released.Choose(st.Asks[i].Candidates, st.Asks[i].askedFor()); err != nil {
			return false, nil
		}
	}
	purchases := st.Purchases()
	if len(purchases) == 0 {
		return false, nil
	}
	return st.Database.store.Landed(ctx, st.digest(purchases))
}

// leaves notes that purchases are charged.
func (st *Statement) leaves() {
	if st.charged != nil {
		st.charged()
	}
}

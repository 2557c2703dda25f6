package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlfront"
)

// request is one linear query, bound and canonical, with the settings it is
// asked under.
type request struct {
	table    *view.Table
	query    query.Query
	settings Settings // accuracy and confidence are those that this query's answer has to meet
	asked    float64  // SET accuracy as it is set
	scale    float64  // what a unit of it is for this query: settings.Accuracy is asked·scale
	planning
	file *file
}

// file says whether the file cannot be written, which is asked where it matters,
// and once a statement.
type file struct {
	db              *DB
	asked, readOnly bool
}

func (f *file) isReadOnly() bool {
	if !f.asked {
		db := f.db
		if db.rehearsal != nil { // the copy can be written, but a run could not
			db = db.rehearsal.s.db
		}
		f.asked, f.readOnly = true, db.store.ReadOnly()
	}
	return f.readOnly
}

// planning says what a plan is for, and what was found since the first one.
type planning struct {
	buyer      *catalog.Buyer      // what the statement pays as; nil for one that has taken nothing yet
	changed    map[foundLater]bool // holds whatever the view says
	explaining bool                // every candidate is shown, also those that SET mechanism excludes
}

// foundLater names what was found of a mechanism after a plan was made.
type foundLater struct {
	mechanism int64
	why       staleReason
}

// learn notes why a plan was stale. It returns false if the plan knew of it already.
func (p *planning) learn(c *stale) bool {
	key := foundLater{c.mechanism, c.why}
	if p.changed[key] {
		return false
	}
	if p.changed == nil {
		p.changed = make(map[foundLater]bool)
	}
	p.changed[key] = true
	return true
}

// buyer returns what a new statement pays as: it has taken nothing yet.
func (s *Session) buyer() *catalog.Buyer {
	return &catalog.Buyer{Principal: catalog.Principal(s.db.role)}
}

// query answers a SELECT: bind it to linear queries, plan them, choose, let the
// chosen candidates charge, draw, store and return, and compute the rows from
// the answers. Every private access of the module passes here or through a
// declaration. A mechanism that other queries spent between plan and answer leads to
// another plan, at most twice each.
func (s *Session) query(ctx context.Context, sel *sqlfront.Select, args []query.Value) (*Result, error) {
	how := planning{buyer: s.buyer()}
	for {
		st, err := s.plan(ctx, sel, args, how)
		if err != nil {
			return nil, err
		}
		if err := st.choose(); err != nil {
			return nil, err
		}
		if err := s.agreed(st); err != nil {
			return nil, err
		}
		answers, stale, err := st.answer(ctx)
		switch {
		case err != nil:
			return nil, err
		case stale == nil:
			return st.result(answers), nil
		case !how.learn(stale):
			return nil, stale.err
		}
	}
}

// plan binds a SELECT against the present catalog and lists the ways to answer
// each of its queries. It spends nothing and reads no private row.
func (s *Session) plan(ctx context.Context, sel *sqlfront.Select, args []query.Value, how planning) (*statement, error) {
	if how.buyer == nil {
		how.buyer = s.buyer()
	}
	v, err := s.db.current(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.bind(ctx, v, sel, args)
	if err != nil {
		return nil, err
	}
	return st, st.plan(ctx, how)
}

// plan lists the ways to answer each query.
func (st *statement) plan(ctx context.Context, how planning) (err error) {
	f := &file{db: st.db}
	st.buyer = how.buyer
	for i := range st.asks {
		a := &st.asks[i]
		a.planning, a.file = how, f
		if a.candidates, err = st.db.candidates(ctx, st.view, a.request); err != nil {
			return err
		}
		if err := st.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// bind resolves the names of a SELECT and compiles it to linear queries.
func (s *Session) bind(ctx context.Context, v *view.View, sel *sqlfront.Select, args []query.Value) (*statement, error) {
	t, err := v.Selected(sel)
	if err != nil {
		return nil, err
	}
	b, err := sqlfront.Bind(sel, schemas.Bindable(ctx, s.db.store, t), args)
	if err != nil {
		return nil, err
	}
	return newStatement(s, v, t, b), nil
}

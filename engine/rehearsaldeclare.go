package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// planned is the row of a statement that is no SELECT.
func planned(name, kind, cost, note string) *Result {
	return &Result{Columns: explainColumns("REAL"), Rows: [][]any{{name, kind, nil, nil, nil, cost, note}}}
}

const doneNote = "exists: nothing to do"

// declare plans a statement that changes the catalog.
func (r *Rehearsal) declare(ctx context.Context, statement sqlfront.Statement) (*Result, error) {
	switch st := statement.(type) {
	case *sqlfront.CreatePublic:
		if slices.ContainsFunc(r.view.Publics, func(p string) bool { return query.SameName(p, st.Name.Text) }) {
			return planned(st.Name.Text, "public table", "0", doneNote), nil
		}
		r.view.Publics = append(r.view.Publics, st.Name.Text)
		return planned(st.Name.Text, "public table", "0", "is declared"), nil
	case *sqlfront.CreatePrivate:
		return r.private(ctx, st)
	case *sqlfront.CreateSource:
		return r.source(st)
	case *sqlfront.CreateRelease:
		return r.release(ctx, st)
	case *sqlfront.CreateMechanism:
		return r.mechanism(st)
	case *sqlfront.AlterPrivate:
		return r.alterPrivate(st)
	case *sqlfront.Drop:
		return r.drop(st)
	case *sqlfront.Export:
		return planned(st.Release.Text, "release", "0", "is exported"), nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "a statement is not handled")
}

// private plans the declaration of a private table. Its rows need not be there
// yet. A domain that a public table has is known if that is declared public now:
// the script alone does not make it so.
func (r *Rehearsal) private(ctx context.Context, st *sqlfront.CreatePrivate) (*Result, error) {
	if r.view.Private(st.Name.Text) != nil {
		if st.IfNotExists {
			return planned(st.Name.Text, "private table", "0", doneNote), nil
		}
		return nil, sqlerr.New(sqlerr.Invalid, "the private table %s exists", st.Name.Text).At(st.Name.Position)
	}
	o := newOptions(st.Options, tableOptions...)
	b, err := readBudget(o)
	if err != nil {
		return nil, err
	}
	u, err := readUnit(o, st.In)
	if err != nil {
		return nil, err
	}
	t := &view.Table{Table: catalog.Table{ID: r.id(), Name: st.Name.Text, Source: st.Source.Text, Unit: u.column, MaxRows: u.rows}}
	if err = r.place(st, t); err != nil {
		return nil, err
	}
	if t.Account, err = r.account(ctx, t, b); err != nil {
		return nil, sqlerr.Locate(err, st.Name.Position)
	}
	note := fmt.Sprintf("is declared; its budget is ε = %v, δ = %v", b.epsilon, b.delta)
	if err = r.columns(ctx, st, t); err != nil {
		return nil, err
	}
	if t.Universe, err = t.Table.Universe(); err != nil {
		return nil, err
	}
	r.view.Tables = append(r.view.Tables, t)
	for i := range t.Columns {
		note = joinNotes(note, t.Undecided[i])
	}
	return planned(t.Name, "private table", "0", note), nil
}

// alterPrivate plans a change of limits, under which the SELECTs that follow are
// planned.
func (r *Rehearsal) alterPrivate(st *sqlfront.AlterPrivate) (*Result, error) {
	t, err := altered(r.view, st)
	if err != nil {
		return nil, err
	}
	o := newOptions(st.Options, limitNames...)
	limits := readLimits(o)
	if err := o.done(); err != nil {
		return nil, err
	}
	a := r.view.Accounts[t.Account]
	a.Limits = limits.over(a.Limits)
	r.view.Accounts[t.Account] = a
	return planned(t.Name, "private table", "0", "is changed: "+cmp.Or(a.Limits.String(), "no limits")), nil
}

// id names what is planned.
func (r *Rehearsal) id() int64 {
	r.last--
	return r.last
}

// columns resolves the domains. In the place of one that cannot be known it puts
// a single value, and says why.
func (r *Rehearsal) columns(ctx context.Context, st *sqlfront.CreatePrivate, t *view.Table) error {
	t.Undecided = make(map[int]string)
	return r.s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		for i, def := range st.Columns {
			d := def.Domain
			if def.Source != nil {
				public, err := tx.IsPublic(def.Source.Table.Text)
				if err != nil {
					return err
				}
				if public {
					d, err = domainFrom(ctx, tx, def, nil)
				} else {
					t.Undecided[i] = fmt.Sprintf("the domain of %s is read from %s, which is not declared public yet",
						def.Name.Text, def.Source.Table.Text)
					d, err = singleton(def.Type)
				}
				if err != nil {
					return err
				}
			}
			t.Columns = append(t.Columns, query.Column{Name: def.Name.Text, Domain: d})
		}
		return nil
	})
}

// singleton is a domain of one value.
func singleton(t query.Type) (query.Domain, error) {
	if t == query.TypeText {
		return query.NewList(t, []query.Value{query.Text("")})
	}
	return query.NewList(t, []query.Value{query.Int(0)})
}

// account returns the account that the table's rows have or would get.
func (r *Rehearsal) account(ctx context.Context, t *view.Table, b budget) (int64, error) {
	bases := []string{t.Place()} // where it is not there yet: a table of that name
	var real *catalog.Account
	err := r.s.db.store.Read(ctx, func(tx *catalog.Tx) (err error) {
		if err := tx.CheckFirst(); err != nil {
			return err
		}
		if t.Outside != nil {
			real, err = r.accountOutside(tx, t)
			return err
		}
		rows := source.Table{Source: t.Source, Unit: t.Unit, MaxRows: t.MaxRows, Key: make([]byte, 1), Public: r.view.Publics} // it reads no row
		schema, err := source.SQLite(tx.SQL()).Check(ctx, rows)
		if sqlerr.CodeOf(err) == sqlerr.Unknown {
			return nil
		}
		if err != nil {
			return err
		}
		if bases, err = schemas.PrivateBases(tx, schema.Bases); err != nil {
			return err
		}
		real, err = tx.AccountFor(bases)
		return err
	})
	if err != nil {
		return 0, err
	}
	bases = slices.DeleteFunc(bases, func(base string) bool {
		return slices.ContainsFunc(r.view.Publics, func(p string) bool { return query.SameName(p, base) })
	})
	for id, a := range r.view.Accounts {
		if real == nil && !a.Unbuilt || real != nil && id != real.ID || real == nil && !overlap(a.Bases, bases) {
			continue
		}
		return id, b.continues(t.Place(), a.Account)
	}
	id := r.id()
	r.view.Accounts[id] = view.Account{Unbuilt: true, Account: catalog.Account{ID: id, Epsilon: b.epsilon.String(), Delta: b.delta.String(),
		Interactive: query.Decimal(b.interactive), Caps: b.caps, Limits: b.limits.over(catalog.Limits{}), Bases: bases}}
	return id, nil
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return query.SameName(x, y) })
	})
}

// drop plans a DROP.
func (r *Rehearsal) drop(st *sqlfront.Drop) (*Result, error) {
	found, kind := false, string(st.Kind)
	same := func(name string) bool {
		is := query.SameName(name, st.Name.Text)
		found = found || is
		return is
	}
	switch st.Kind {
	case sqlfront.Release:
		r.view.Releases = slices.DeleteFunc(r.view.Releases, func(x catalog.Release) bool { return same(x.Name) })
	case sqlfront.Mechanism:
		if m := r.view.Mechanism(st.Name.Text); m != nil {
			r.giveBack(m)
		} else if m := r.view.Planned(st.Name.Text); m != nil && m.Object == sqlfront.Mechanism {
			r.leaves("what dropping %s gives back", m.Name)
		}
		r.view.Mechanisms = slices.DeleteFunc(r.view.Mechanisms, func(x catalog.Mechanism) bool { return same(x.Name) })
	case sqlfront.PrivateTable:
		if t := r.view.Private(st.Name.Text); t != nil {
			if r.used(t) {
				return nil, sqlerr.New(sqlerr.Invalid, "the private table %s has releases or mechanisms", t.Name).At(st.Name.Position)
			}
			r.dropped = append(r.dropped, t)
		}
		r.view.Tables = slices.DeleteFunc(r.view.Tables, func(x *view.Table) bool { return same(x.Name) })
	case sqlfront.SourceObject:
		for _, t := range r.view.Tables {
			if t.Outside != nil && query.SameName(t.Outside.Name, st.Name.Text) {
				return nil, sqlerr.New(sqlerr.Invalid, "%s has the rows of the private table %s", t.Outside.Name, t.Name).At(st.Name.Position)
			}
		}
		r.view.Sources = slices.DeleteFunc(r.view.Sources, func(x catalog.Source) bool { return same(x.Name) })
	case sqlfront.PublicTable:
		r.view.Publics = slices.DeleteFunc(r.view.Publics, same)
	}
	r.view.Unbuilt = slices.DeleteFunc(r.view.Unbuilt, func(x view.Unbuilt) bool { return x.Object == st.Kind && same(x.Name) })
	if !found && !st.IfExists {
		return nil, sqlerr.New(sqlerr.Unknown, "there is no %s %s", kind, st.Name.Text).At(st.Name.Position)
	}
	if !found {
		return planned(st.Name.Text, kind, "0", "does not exist: nothing to do"), nil
	}
	return planned(st.Name.Text, kind, "0", "is dropped; what was spent stays spent"), nil
}

func (r *Rehearsal) used(t *view.Table) bool {
	return slices.ContainsFunc(r.view.Unbuilt, func(x view.Unbuilt) bool { return x.Table == t.ID }) ||
		slices.ContainsFunc(r.view.Releases, func(x catalog.Release) bool { return x.TableID == t.ID }) ||
		slices.ContainsFunc(r.view.Mechanisms, func(x catalog.Mechanism) bool { return x.TableID == t.ID })
}

// giveBack returns the runs of a mechanism that never started.
func (r *Rehearsal) giveBack(m *catalog.Mechanism) {
	t := r.view.TableByID(m.TableID)
	a := r.view.Accounts[t.Account]
	a.Spent.Rho -= m.RunRho * accounting.Rho(max(0, m.Updates-m.RunsStarted))
	r.view.Accounts[t.Account] = a
}

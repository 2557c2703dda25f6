package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
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
		if slices.ContainsFunc(r.view.publics, func(p string) bool { return query.SameName(p, st.Name.Text) }) {
			return planned(st.Name.Text, "public table", "0", doneNote), nil
		}
		r.view.publics = append(r.view.publics, st.Name.Text)
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
	if r.view.private(st.Name.Text) != nil {
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
	t := &table{Table: catalog.Table{ID: r.id(), Name: st.Name.Text, Source: st.Source.Text, Unit: u.column, MaxRows: u.rows}}
	if err = r.place(st, t); err != nil {
		return nil, err
	}
	if t.Account, err = r.account(ctx, t, b); err != nil {
		return nil, at(err, st.Name.Position)
	}
	note := fmt.Sprintf("is declared; its budget is ε = %v, δ = %v", b.epsilon, b.delta)
	if err = r.columns(ctx, st, t); err != nil {
		return nil, err
	}
	if t.universe, err = t.Table.Universe(); err != nil {
		return nil, err
	}
	r.view.tables = append(r.view.tables, t)
	for i := range t.Columns {
		note = joinNotes(note, t.undecided[i])
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
	a := r.view.accounts[t.Account]
	a.Limits = limits.over(a.Limits)
	r.view.accounts[t.Account] = a
	return planned(t.Name, "private table", "0", "is changed: "+cmp.Or(a.Limits.String(), "no limits")), nil
}

// id names what is planned.
func (r *Rehearsal) id() int64 {
	r.last--
	return r.last
}

// columns resolves the domains. In the place of one that cannot be known it puts
// a single value, and says why.
func (r *Rehearsal) columns(ctx context.Context, st *sqlfront.CreatePrivate, t *table) error {
	t.undecided = make(map[int]string)
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
					t.undecided[i] = fmt.Sprintf("the domain of %s is read from %s, which is not declared public yet",
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
func (r *Rehearsal) account(ctx context.Context, t *table, b budget) (int64, error) {
	bases := []string{t.place()} // where it is not there yet: a table of that name
	var real *catalog.Account
	err := r.s.db.store.Read(ctx, func(tx *catalog.Tx) (err error) {
		if err := tx.CheckFirst(); err != nil {
			return err
		}
		if t.outside != nil {
			real, err = r.accountOutside(tx, t)
			return err
		}
		rows := source.Table{Source: t.Source, Unit: t.Unit, MaxRows: t.MaxRows, Key: make([]byte, 1), Public: r.view.publics} // it reads no row
		schema, err := source.SQLite(tx.SQL()).Check(ctx, rows)
		if sqlerr.CodeOf(err) == sqlerr.Unknown {
			return nil
		}
		if err != nil {
			return err
		}
		if bases, err = privateBases(tx, schema.Bases); err != nil {
			return err
		}
		real, err = tx.AccountFor(bases)
		return err
	})
	if err != nil {
		return 0, err
	}
	bases = slices.DeleteFunc(bases, func(base string) bool {
		return slices.ContainsFunc(r.view.publics, func(p string) bool { return query.SameName(p, base) })
	})
	for id, a := range r.view.accounts {
		if real == nil && !a.unbuilt || real != nil && id != real.ID || real == nil && !overlap(a.Bases, bases) {
			continue
		}
		return id, b.continues(t.place(), a.Account)
	}
	id := r.id()
	r.view.accounts[id] = account{unbuilt: true, Account: catalog.Account{ID: id, Epsilon: b.epsilon.String(), Delta: b.delta.String(),
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
		r.view.releases = slices.DeleteFunc(r.view.releases, func(x catalog.Release) bool { return same(x.Name) })
	case sqlfront.Mechanism:
		if m := r.view.mechanism(st.Name.Text); m != nil {
			r.giveBack(m)
		} else if m := r.view.planned(st.Name.Text); m != nil && m.object == sqlfront.Mechanism {
			r.leaves("what dropping %s gives back", m.name)
		}
		r.view.mechanisms = slices.DeleteFunc(r.view.mechanisms, func(x catalog.Mechanism) bool { return same(x.Name) })
	case sqlfront.PrivateTable:
		if t := r.view.private(st.Name.Text); t != nil {
			if r.used(t) {
				return nil, sqlerr.New(sqlerr.Invalid, "the private table %s has releases or mechanisms", t.Name).At(st.Name.Position)
			}
			r.dropped = append(r.dropped, t)
		}
		r.view.tables = slices.DeleteFunc(r.view.tables, func(x *table) bool { return same(x.Name) })
	case sqlfront.SourceObject:
		for _, t := range r.view.tables {
			if t.outside != nil && query.SameName(t.outside.Name, st.Name.Text) {
				return nil, sqlerr.New(sqlerr.Invalid, "%s has the rows of the private table %s", t.outside.Name, t.Name).At(st.Name.Position)
			}
		}
		r.view.sources = slices.DeleteFunc(r.view.sources, func(x catalog.Source) bool { return same(x.Name) })
	case sqlfront.PublicTable:
		r.view.publics = slices.DeleteFunc(r.view.publics, same)
	}
	r.view.unbuilt = slices.DeleteFunc(r.view.unbuilt, func(x unbuilt) bool { return x.object == st.Kind && same(x.name) })
	if !found && !st.IfExists {
		return nil, sqlerr.New(sqlerr.Unknown, "there is no %s %s", kind, st.Name.Text).At(st.Name.Position)
	}
	if !found {
		return planned(st.Name.Text, kind, "0", "does not exist: nothing to do"), nil
	}
	return planned(st.Name.Text, kind, "0", "is dropped; what was spent stays spent"), nil
}

func (r *Rehearsal) used(t *table) bool {
	return slices.ContainsFunc(r.view.unbuilt, func(x unbuilt) bool { return x.table == t.ID }) ||
		slices.ContainsFunc(r.view.releases, func(x catalog.Release) bool { return x.TableID == t.ID }) ||
		slices.ContainsFunc(r.view.mechanisms, func(x catalog.Mechanism) bool { return x.TableID == t.ID })
}

// giveBack returns the runs of a mechanism that never started.
func (r *Rehearsal) giveBack(m *catalog.Mechanism) {
	t := r.view.tableByID(m.TableID)
	a := r.view.accounts[t.Account]
	a.spent.Rho -= m.RunRho * accounting.Rho(max(0, m.Updates-m.RunsStarted))
	r.view.accounts[t.Account] = a
}

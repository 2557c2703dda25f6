package declare

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// differences are those between a thing that exists and the statement that creates it IF NOT EXISTS. Both are declarations,
// which are public.
type differences []string

// note compares a part of two declarations.
func (d *differences) note(part, was, is string) {
	if !query.SameName(was, is) {
		*d = append(*d, part+" "+syntax.Excerpt(cmp.Or(was, "none"), 80)+", not "+syntax.Excerpt(cmp.Or(is, "none"), 80))
	}
}

// option compares an option, if the statement has it.
func (d *differences) option(options []syntax.Option, name, was string) {
	for _, o := range options {
		a, failed := strconv.ParseFloat(was, 64)
		b, err := strconv.ParseFloat(o.Value, 64)
		if o.Name.Text == name && (failed != nil || err != nil || a != b) {
			d.note(name, was, o.Value)
		}
	}
}

// warning says what a statement leaves as it is.
func (d differences) warning(name string) []string {
	if len(d) == 0 {
		return nil
	}
	return []string{syntax.Excerpt(name, 40) + " exists and stays as it is: " + strings.Join(d, "; ")}
}

// ofTable compares a private table with its declaration. It says nothing of a declaration that cannot be made any more.
func (s *Statement) ofTable(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePrivate, was *catalog.Table, u unit, asked periods) (d differences) {
	var in *catalog.Source
	var err error
	if st.In.Text != "" {
		if in, err = tx.Source(st.In.Text); err != nil || in == nil {
			return nil
		}
	}
	is, err := declared(ctx, tx, st, in, nil)
	accounts, failed := tx.Accounts()
	if err != nil || failed != nil || s.Unknown != nil {
		return nil
	}
	if was.SourceID != is.SourceID {
		d = append(d, "its rows are in another database")
	}
	d.note("FROM", was.Source, is.Source)
	d.columns(was.Columns, is.Columns)
	d.note("unit", was.Unit, u.column)
	if u.column != "" {
		d.option(st.Options, "max_rows", fmt.Sprint(was.MaxRows))
	}
	d.note("period", was.Period, asked.column)
	for _, a := range accounts {
		if a.ID == was.Account {
			d.option(st.Options, "epsilon", a.Epsilon)
			d.option(st.Options, "delta", a.Delta)
			d.option(st.Options, "interactive", a.Interactive)
		}
	}
	return d
}

// columns compares columns by their names, and then what was declared of each.
func (d *differences) columns(was, is []query.Column) {
	first, second := query.Declared(was), query.Declared(is)
	d.note("columns", released.ColumnNames(was, first), released.ColumnNames(is, second))
	for i := range min(len(was), len(is)) {
		if a, b := was[first[i]], is[second[i]]; query.SameName(a.Name, b.Name) && a.TypeName()+a.DomainText() != b.TypeName()+b.DomainText() {
			*d = append(*d, a.Name+" "+syntax.Excerpt(a.TypeName()+" "+a.DomainText(), 80)+", not "+syntax.Excerpt(b.TypeName()+" "+b.DomainText(), 80))
		}
	}
}

// built compares where a release or mechanism is, and over which columns.
func (d *differences) built(v *view.View, table int64, columns []int, name syntax.Name, list []syntax.Name) {
	t, picked, err := v.Target(name, list)
	if err != nil {
		*d = append(*d, "it is on another table")
		return
	}
	if t.ID != table {
		d.note("ON", v.TableByID(table).Name, t.Name)
		return
	}
	d.note("columns", columnNames(t, columns), columnNames(t, picked))
}

func columnNames(t *view.Table, columns []int) string {
	if columns == nil {
		columns = view.AllColumns(t)
	}
	return view.ColumnNames(t, columns)
}

// ofRelease compares a release, or a template of releases, with a statement that creates it.
func ofRelease(v *view.View, st *syntax.CreateRelease) (d differences) {
	r, each := v.Release(st.Name.Text), v.Template(st.Name.Text)
	if (each != nil) != st.EachPeriod {
		return differences{"one of the two is FOR EACH PERIOD"}
	}
	if each != nil {
		d.built(v, each.TableID, each.Columns, st.Table, st.Columns)
		d.note("USING", each.Using, cmp.Or(string(st.Using), each.Using))
		return d
	}
	d.built(v, r.TableID, r.Columns, st.Table, st.Columns)
	d.note("USING", r.Using, cmp.Or(string(st.Using), r.Using))
	d.option(st.Options, "epsilon", r.Epsilon.String())
	d.option(st.Options, "delta", r.Delta.String())
	return d
}

// ofMechanism compares a mechanism with a statement that creates it.
func ofMechanism(v *view.View, st *syntax.CreateMechanism) (d differences) {
	m := v.Mechanism(st.Name.Text)
	d.built(v, m.TableID, m.Columns, st.Table, st.Columns)
	d.option(st.Options, "epsilon", m.Epsilon.String())
	d.option(st.Options, "max_updates", fmt.Sprint(m.Updates))
	return d
}

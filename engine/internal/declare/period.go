package declare

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// periods is the part of CREATE PRIVATE TABLE about the periods that a budget belongs to.
type periods struct {
	by     period.Granularity // "" for none
	column string             // as declared
	zone   string             // "" for UTC
	at     int                // the position of the option
}

// readPeriods reads the options period and time_zone.
func readPeriods(o *kind.Options) (p periods, err error) {
	option, zone := o.Find("period"), o.Find("time_zone")
	if option == nil {
		o.Refuse("without period", "time_zone")
		return p, o.Done()
	}
	p.at = option.Position
	if p.by, p.column, err = period.Parse(option.Value); err != nil {
		o.Fail(err, option.Position)
		return p, o.Done()
	}
	if zone == nil {
		return p, o.Done()
	}
	if p.by == period.Value {
		o.Refuse("with the values of a column as periods, which do not end", "time_zone")
	}
	if _, err := period.Location(zone.Value); err != nil {
		o.Fail(err, zone.Position)
	}
	if p.zone = zone.Value; p.zone == "UTC" {
		p.zone = ""
	}
	return p, o.Done()
}

// partition returns the partition that a declaration asks for, nil for none. A row has to lie in
// one period by its own value, so the column is declared with the values as they are.
// Errors: Invalid.
func (p periods) partition(t catalog.Table) (*period.Partition, error) {
	if p.by == "" {
		return nil, nil
	}
	u, err := query.NewUniverse(t.Columns)
	if err != nil {
		return nil, err
	}
	i, ok := u.Index(p.column)
	if !ok {
		return nil, sqlerr.New(sqlerr.Invalid, "%s is declared without the column %s, which says in which period a row lies", t.Name, p.column).
			WithHint("add %s with its domain to the columns", p.column).At(p.at)
	}
	c := u.Columns()[i]
	out := &period.Partition{Column: c.Name, By: p.by, Form: c.Form, Zone: p.zone}
	refuse := func(why, hint string) error {
		return sqlerr.New(sqlerr.Invalid, "%s cannot say in which period a row lies: %s", c.Name, why).WithHint("%s", hint).At(p.at)
	}
	switch {
	case query.SameName(c.Name, t.Unit):
		return nil, refuse("it is the unit", "each unit would have a budget of its own")
	case !c.Domain.Finite():
		return nil, refuse("it has no domain", "declare the values that it has, all of them: periods to come too")
	case c.Form.IsClamped():
		return nil, refuse("CLAMP moves rows into other periods", "leave CLAMP out: rows outside the domain do not count")
	case c.Form.HasOther():
		return nil, refuse("OR OTHER puts rows of several periods together", "list all values")
	case c.Form.IsNoCase():
		return nil, refuse("COLLATE NOCASE takes several values for one", "leave COLLATE NOCASE out")
	case c.Domain.HasNull() || c.Domain.Contains(query.Null()):
		return nil, refuse("OR NULL lets rows lie in no period", "leave OR NULL out: rows with NULL do not count")
	case c.Form.IsStepped() || c.Form.IsBoolean() || c.Form.IsClock():
		return nil, refuse("it is "+c.TypeName(), "periods are those of a DATE or TIMESTAMP, or the values of an INTEGER or TEXT")
	case p.by == period.Value && c.Form.IsTime():
		return nil, refuse("its values are no periods", "write period = 'day of "+c.Name+"', or week, month, quarter, year")
	case p.by != period.Value && !c.Form.IsTime():
		return nil, refuse("it is no date", "declare it as a DATE or TIMESTAMP, or write period = '"+c.Name+"' for its values")
	}
	if c.Domain.Type() == query.TypeText {
		if c.Domain.Size() > maxTexts {
			return nil, refuse("it has many values", fmt.Sprintf("at most %d texts can be periods; many periods are those of a date, or integers", maxTexts))
		}
		if c.Domain.Contains(query.Text("")) {
			return nil, refuse("'' is among its values", "a period needs a name: leave the empty text out, or give it another in the rows")
		}
		for v := range c.Domain.All().Each() {
			out.Texts = append(out.Texts, v.Str())
		}
	}
	return out, nil
}

// lieIn returns a declared table as package source checks it: with the periods that it is to have.
func lieIn(t catalog.Table, p *period.Partition) source.Table {
	rows := view.SourceTable(t)
	if p != nil {
		i := slices.IndexFunc(t.Columns, func(c query.Column) bool { return c.Name == p.Column })
		rows.Period = &source.Period{Column: i, Partition: *p}
	}
	return rows
}

// setPeriods gives the account of a table the partition of a declaration, or refuses one that is
// not the account's. It sets t.Period. base is the column of the base table that says in which
// period a row lies, and private are the base tables with private rows.
func setPeriods(tx *catalog.Tx, a *catalog.Account, t *catalog.Table, p *period.Partition, base string, private []string) error {
	if p == nil {
		if a.Partition == nil {
			return nil
		}
		return sqlerr.New(sqlerr.Invalid, "the budget of %s belongs to each %s", t.Source, a.Partition).
			WithHint("declare the table with %s", asOptions(*a.Partition))
	}
	switch {
	case base == "":
		return sqlerr.New(sqlerr.Internal, "nobody looked where the periods of %s are from", t.Source)
	case len(private) != 1:
		return source.NoPeriods(t.Source, "reads several private tables: "+firstFew(private))
	case len(a.Bases) != 1:
		return source.NoPeriods(t.Source, "shares its budget with other tables: "+firstFew(a.Bases))
	}
	t.Period = p.Column
	of := *p
	of.Column = base
	if err := samePeriods(a, of); err != nil {
		return err
	}
	if a.Partition != nil && len(joined(a.Partition.Texts, of.Texts)) > maxTexts {
		return sqlerr.New(sqlerr.Invalid, "the tables over these rows would have more than %d texts as periods", maxTexts).
			WithHint("declare fewer values of %s", p.Column)
	}
	_, err := tx.SetPartition(a.ID, t.Name, of)
	return err
}

// maxTexts bounds the texts that are periods: they are looked up for every row.
const maxTexts = 1000

// joined returns the texts of both lists, each once.
func joined(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// samePeriods refuses a partition that is not the account's, and says what differs.
func samePeriods(a *catalog.Account, p period.Partition) error {
	is := a.Partition
	if is == nil || is.Same(p) {
		return nil
	}
	what := fmt.Sprintf("the budget of these rows belongs to each %s for ever, and not to each %s", is, p)
	if is.String() == p.String() {
		what = fmt.Sprintf("%s is the column of the periods of these rows, for ever stored and declared as it was", is.Column)
		if is.Form == p.Form && is.Zone != p.Zone {
			what = fmt.Sprintf("the periods of these rows end in %s for ever, and not in %s", cmp.Or(is.Zone, "UTC"), cmp.Or(p.Zone, "UTC"))
		}
	}
	return sqlerr.New(sqlerr.Invalid, "%s", what).
		WithHint("declare the table with %s, and the base table's column %s with its type as it was", asOptions(*is), is.Column)
}

// asOptions writes a partition as the options of a declaration.
func asOptions(p period.Partition) string {
	text := "period = '" + p.String() + "'"
	if p.Zone != "" {
		text += ", time_zone = '" + p.Zone + "'"
	}
	return text
}

// spanned returns a view in which a table has the rows of those periods alone that a statement is
// about, and the options without the one that names them: period = '2026-01' or '2026-01 to
// 2026-06', else all periods that have begun. Tables without periods, and those that are cut
// already, stay. Nothing in it depends on rows. Errors: Invalid.
func spanned(v *view.View, table syntax.Name, options []syntax.Option, now time.Time) (*view.View, []syntax.Option, error) {
	t := v.Private(table.Text)
	if t == nil || !t.HasPeriods() || t.Part != period.All {
		return v, options, nil
	}
	begun, some := t.Begun(now).Hull()
	if !some {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "no period of %s has begun", t.Name).At(table.Position)
	}
	rest := slices.Clone(options)
	i := slices.IndexFunc(rest, func(o syntax.Option) bool { return o.Name.Text == "period" })
	over := begun
	if i >= 0 {
		named := rest[i]
		rest = slices.Delete(rest, i, i+1)
		var err error
		if over, err = t.Partition.Range(named.Value); err != nil {
			return nil, nil, sqlerr.Locate(err, named.Position)
		}
		if !over.Within(begun) {
			return nil, nil, sqlerr.New(sqlerr.Invalid, "%s is not within the periods of %s that have begun", t.Partition.Text(over), t.Name).
				WithHint("they are %s", t.Partition.Text(begun)).At(named.Position)
		}
	}
	part, some := t.Within(over)
	if !some {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "no row of %s lies in %s", t.Name, t.Partition.Text(over)).At(table.Position)
	}
	return v.With(part), rest, nil
}

// spannedRelease is spanned for CREATE RELEASE.
func (s *Statement) spannedRelease(st *syntax.CreateRelease, v *view.View) (*syntax.CreateRelease, *view.View, error) {
	v, rest, err := spanned(v, st.Table, st.Options, s.Now())
	own := *st
	own.Options = rest
	return &own, v, err
}

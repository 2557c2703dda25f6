package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// EachPeriod names, for people, the periods of a table by the column that it declares: each month
// of visited, each value of batch. It is "" without periods.
func (t *Table) EachPeriod() string {
	return released.EachPeriod(t.Partition, t.Period)
}

// UnitText names, for people, what the budget of a table protects.
func (t *Table) UnitText() string {
	if !t.HasPeriods() {
		return released.UnitText(t.Unit, t.MaxRows)
	}
	return released.UnitText(t.Unit, t.MaxRows) + ", for " + t.EachPeriod()
}

// Within returns the table with the rows of some periods alone: no others count, since their
// values of the period's column are not in its domain. N̂ is that of these rows. It is false if
// the column has no value in these periods. A table without periods has them all.
func (t *Table) Within(over period.Range) (*Table, bool) {
	if !t.HasPeriods() {
		return t, over == period.All
	}
	if over == t.Part {
		return t, true
	}
	u, some := released.InPeriods(t.Universe, t.Partition, t.PeriodColumn, over)
	if !some {
		return nil, false
	}
	part := *t
	part.Columns = u.Columns()
	part.Universe, part.Part, part.NHat = u, over, t.RowCount(over)
	return &part, true
}

// Periods returns the periods of the table's domain; nil for a table without periods.
func (t *Table) Periods() period.Ranges {
	if !t.HasPeriods() {
		return nil
	}
	return t.Partition.Periods(t.Columns[t.PeriodColumn].Domain)
}

// PeriodsOf returns the periods of the domains of an account's tables, and those that were charged
// in their own: of tables that were dropped, too.
func (v *View) PeriodsOf(a Account) (all period.Ranges) {
	for _, t := range v.Tables {
		if t.Account == a.ID {
			all = all.Union(t.Periods())
		}
	}
	everywhere := a.Spending.Most(period.Ranges{period.Only(period.All.First)})
	for s := range a.Spending.Steps() {
		if s.Spent != everywhere && s.Over.Last < period.All.Last {
			all = all.Union(period.Ranges{s.Over})
		}
	}
	return all
}

// Begun returns the periods of the table's domain that have begun at a time: those whose rows
// count. Where periods have no clock it returns all.
func (t *Table) Begun(now time.Time) period.Ranges {
	all := t.Periods()
	if !t.Partition.Clocked() {
		return all
	}
	return all.Intersect(period.Ranges{{First: period.All.First, Last: t.Partition.Begun(now)}})
}

// Template returns the named template, or nil if there is none.
func (v *View) Template(name string) *catalog.Template {
	for i := range v.Templates {
		if query.SameName(v.Templates[i].Name, name) {
			return &v.Templates[i]
		}
	}
	return nil
}

// Names returns the names by which statements know some releases, each once: that of its template
// for a part.
func (v *View) Names(releases []*catalog.Release) (names []string) {
	for _, r := range releases {
		name := r.Name
		for _, m := range v.Templates {
			if m.ID == r.Template {
				name = m.Name
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Parts returns the parts of a template by period.
func (v *View) Parts(template int64) map[int64]*catalog.Release {
	parts := make(map[int64]*catalog.Release)
	for i := range v.Releases {
		if r := &v.Releases[i]; r.Template == template && template != 0 {
			parts[r.Span.First] = r
		}
	}
	return parts
}

// RefreshPart returns the statement that builds the part of a template for a period, or goes on
// with its fit.
func RefreshPart(m *catalog.Template, p *period.Partition, n int64) string {
	return "REFRESH RELEASE " + syntax.WriteName(m.Name) + " PERIOD '" + strings.ReplaceAll(p.Name(n), "'", "''") + "'"
}

// With returns the view with another form of one of its tables.
func (v *View) With(t *Table) *View {
	other := *v
	other.Tables = slices.Clone(v.Tables)
	for i, known := range v.Tables {
		if known.ID == t.ID {
			other.Tables[i] = t
		}
	}
	return &other
}

// PartName returns the name of the release that is a template's part for a period.
func PartName(m *catalog.Template, p *period.Partition, n int64) string {
	return m.Name + "[" + p.Name(n) + "]"
}

// HintPart says how to name the newest part of a template where a statement takes one release.
func (v *View) HintPart(m *catalog.Template, write string) string {
	parts := slices.Sorted(maps.Keys(v.Parts(m.ID)))
	if len(parts) == 0 {
		return "it has none yet: REFRESH RELEASE " + syntax.WriteName(m.Name)
	}
	return fmt.Sprintf(write, query.Quoted(PartName(m, v.TableByID(m.TableID).Partition, parts[len(parts)-1])))
}

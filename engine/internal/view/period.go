package view

import (
	"time"

	"dpsql/catalog"
	"dpsql/period"
	"dpsql/query"
)

// setPartition takes over the periods of the table's account.
func (t *Table) setPartition(a catalog.Account) {
	t.Retired = a.Retired
	if i, ok := t.Universe.Index(t.Period); ok && t.Period != "" && a.Partition != nil {
		t.Partition, t.PeriodColumn = a.Partition, i
	}
}

// HasPeriods reports whether every row of the table lies in a period.
func (t *Table) HasPeriods() bool { return t.Partition != nil }

// Span returns the periods that a reading of all rows that count is charged to. Nil is every
// period, and stands for the rows of a table that does not say in which period they lie.
func (t *Table) Span() period.Ranges {
	if !t.HasPeriods() {
		return nil
	}
	return period.Ranges{t.Part}
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
	if _, some := t.Partition.Restrict(t.Columns[t.PeriodColumn].Domain, over); !some {
		return nil, false
	}
	part := *t
	part.Columns = t.Table.ColumnsIn(t.Partition, over)
	u, err := query.NewUniverse(part.Columns)
	if err != nil {
		return nil, false // a part of a domain is a domain
	}
	part.Universe, part.Part, part.NHat = u, over, t.RowCount(over)
	return &part, true
}

// Begun returns the periods of the table's domain that have begun at a time: those whose rows
// count. Where periods have no clock it returns all.
func (t *Table) Begun(now time.Time) period.Ranges {
	all := t.Partition.Periods(t.Columns[t.PeriodColumn].Domain)
	if !t.Partition.Clocked() {
		return all
	}
	return all.Intersect(period.Ranges{{First: period.All.First, Last: t.Partition.Begun(now)}})
}

// Touched returns the periods in which a query over the table's universe counts rows. It is
// told from the query and the domain alone. Nil is every period, of a table without them.
func (t *Table) Touched(q query.Query) period.Ranges {
	if !t.HasPeriods() {
		return nil
	}
	return t.Partition.Touched(q, t.PeriodColumn)
}

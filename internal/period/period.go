// Package period divides rows into periods, to each of which a privacy budget belongs. A row
// lies in one period, by its own value of one column. A Partition says which column that is and
// what the periods are: days, weeks, months, quarters or years of a date, or the values
// themselves. Periods are numbers, so that a ledger can have ranges of them, and have names for
// people. The package reads no rows and has no clock: it is told the time.
package period

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a time zone is part of a declaration, whatever the machine has installed

	"dpsql/internal/calendar"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Granularity is how long a period is.
type Granularity string

// The granularities. The periods of Value are the values of the column.
const (
	Day     Granularity = "day"
	Week    Granularity = "week" // from Monday on, with the numbers of ISO 8601
	Month   Granularity = "month"
	Quarter Granularity = "quarter"
	Year    Granularity = "year"
	Value   Granularity = "value"
)

// Partition divides the rows of a base table into periods. It is fixed for ever once it is
// declared, but for Texts, to whose end texts are added.
type Partition struct {
	Column string      // of the base table
	By     Granularity //
	Form   query.Form  // how rows hold the column and people write it
	Zone   string      // the IANA name of the time zone in which periods end; "" for UTC
	Texts  []string    // by period, for a TEXT column
}

// Parse reads the option period of a declaration: 'month of visited', or 'batch' for the
// values of a column. Errors: Invalid.
func Parse(option string) (by Granularity, column string, err error) {
	words := strings.Fields(option)
	switch {
	case len(words) == 1:
		return Value, words[0], nil
	case len(words) == 3 && strings.EqualFold(words[1], "of"):
		for _, known := range []Granularity{Day, Week, Month, Quarter, Year} {
			if strings.EqualFold(words[0], string(known)) {
				return known, words[2], nil
			}
		}
	}
	return "", "", sqlerr.New(sqlerr.Invalid, "'%s' names no periods", option).
		WithHint("write period = 'month of visited': the day, week, month, quarter or year of a date, or the name of a column whose values are the periods")
}

// String returns the option of a declaration.
func (p Partition) String() string {
	if p.By == Value {
		return p.Column
	}
	return string(p.By) + " of " + p.Column
}

// Same reports whether two partitions divide rows in the same way and end periods at the same
// moments. Texts may differ, but not whether there are any: as a TEXT a value would lie in
// another period than as an INTEGER, and have two budgets.
func (p Partition) Same(q Partition) bool {
	return query.SameName(p.Column, q.Column) && p.By == q.By && p.Form == q.Form && p.Zone == q.Zone &&
		(len(p.Texts) > 0) == (len(q.Texts) > 0)
}

// Clocked reports whether periods begin and end, as those of dates do.
func (p Partition) Clocked() bool { return p.By != Value }

// The first Monday of 1970's first week, as a day.
const firstMonday = -3

// Of returns the period of a canonical value. It is false for NULL and for a text that is not
// among Texts.
func (p Partition) Of(v query.Value) (int64, bool) {
	switch {
	case v.IsNull():
		return 0, false
	case !v.IsInt():
		for i, text := range p.Texts {
			if text == v.Str() {
				return int64(i), true
			}
		}
		return 0, false
	case p.By == Value:
		return v.Int64(), true
	}
	return p.ofDay(p.day(v.Int64())), true
}

// day returns the day of a canonical value of a DATE or TIMESTAMP.
func (p Partition) day(step int64) int64 { return calendar.DayOf(step * p.Form.Step()) }

func (p Partition) ofDay(day int64) int64 {
	year, month, _ := calendar.Date(day)
	switch p.By {
	case Week:
		return floorDiv(day-firstMonday, 7)
	case Month:
		return int64(year)*12 + int64(month) - 1
	case Quarter:
		return int64(year)*4 + int64(month-1)/3
	case Year:
		return int64(year)
	}
	return day
}

// FirstDay returns the first day of a period, in days since 1970-01-01. The day before the
// first one of the next period is its last.
func (p Partition) FirstDay(n int64) int64 {
	switch p.By {
	case Week:
		return 7*n + firstMonday
	case Month:
		return calendar.Day(int(floorDiv(n, 12)), int(n-12*floorDiv(n, 12))+1, 1)
	case Quarter:
		return calendar.Day(int(floorDiv(n, 4)), 3*int(n-4*floorDiv(n, 4))+1, 1)
	case Year:
		return calendar.Day(int(n), 1, 1)
	}
	return n
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// values returns the first and the last canonical value that a range of periods can have. They
// are the least and the largest integer where the range is unbounded.
func (p Partition) values(r Range) (lo, hi int64) {
	if p.By == Value {
		return r.First, r.Last
	}
	lo, hi = math.MinInt64, math.MaxInt64
	perDay := int64(86_400) / p.Form.Step()
	least, most := p.ofDay(calendar.First), p.ofDay(calendar.Last)
	if r.First > least {
		lo = p.FirstDay(min(r.First, most+1)) * perDay
	}
	if r.Last < most {
		hi = p.FirstDay(max(r.Last, least-1)+1)*perDay - 1
	}
	return lo, hi
}

// Name returns the name of a period: 2024-02-01, 2024-W05, 2024-02, 2024-Q1, 2024, or the value.
func (p Partition) Name(n int64) string {
	switch p.By {
	case Value:
		if 0 <= n && n < int64(len(p.Texts)) {
			return p.Texts[n]
		}
		return strconv.FormatInt(n, 10)
	case Week:
		year, week := time.Unix(86_400*p.FirstDay(n), 0).UTC().ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Quarter:
		return fmt.Sprintf("%04d-Q%d", floorDiv(n, 4), n-4*floorDiv(n, 4)+1)
	}
	first := calendar.Format(p.FirstDay(n))
	switch p.By {
	case Year:
		return first[:len("2024")]
	case Month:
		return first[:len("2024-02")]
	}
	return first
}

// Named returns the period of a name. Errors: Invalid.
func (p Partition) Named(name string) (int64, error) {
	n, ok := p.named(name)
	if !ok || p.Name(n) != name {
		return 0, sqlerr.New(sqlerr.Invalid, "'%s' is no period: they are the %s", name, p.plural()).
			WithHint("write one as '%s'", p.Name(p.example()))
	}
	return n, nil
}

func (p Partition) named(name string) (n int64, ok bool) {
	if len(p.Texts) > 0 {
		return p.Of(query.Text(name))
	}
	if p.By == Value {
		n, err := strconv.ParseInt(name, 10, 64)
		return n, err == nil
	}
	var year, part int
	switch p.By {
	case Day:
		return calendar.Parse(name)
	case Week:
		if _, err := fmt.Sscanf(name, "%4d-W%2d", &year, &part); err != nil || year < 1 || year > 9999 || part < 1 || part > 53 {
			return 0, false
		}
		return p.ofDay(calendar.Day(year, 1, 4)) + int64(part) - 1, true // January 4th is in week 1
	case Quarter:
		_, err := fmt.Sscanf(name, "%4d-Q%1d", &year, &part)
		return int64(year)*4 + int64(part) - 1, err == nil && year >= 1 && 1 <= part && part <= 4
	case Month:
		day, ok := calendar.Parse(name + "-01")
		return p.ofDay(day), ok
	}
	day, ok := calendar.Parse(name + "-01-01")
	return p.ofDay(day), ok
}

// plural names the periods for people.
func (p Partition) plural() string {
	if p.By == Value {
		return "values of " + p.Column
	}
	return string(p.By) + "s of " + p.Column
}

// example returns a period with a name that shows how they are written.
func (p Partition) example() int64 {
	if p.Clocked() {
		return p.ofDay(calendar.Day(2024, 2, 1))
	}
	return 0
}

// Text names a range of periods for people.
func (p Partition) Text(r Range) string {
	switch {
	case r == All:
		return "all"
	case r.First == r.Last:
		return p.Name(r.First)
	case r.First == math.MinInt64:
		return "to " + p.Name(r.Last)
	case r.Last == math.MaxInt64:
		return "from " + p.Name(r.First)
	}
	return p.Name(r.First) + " to " + p.Name(r.Last)
}

// Range reads a range as Text writes it: one period, or two with "to" between. Errors: Invalid.
func (p Partition) Range(text string) (r Range, err error) {
	if n, ok := p.named(text); ok && p.Name(n) == text { // a text may have the word in it
		return Only(n), nil
	}
	from, to, two := strings.Cut(text, " to ")
	if r.First, err = p.Named(strings.TrimSpace(from)); err != nil || !two {
		r.Last = r.First
		return r, err
	}
	if r.Last, err = p.Named(strings.TrimSpace(to)); err == nil && r.Last < r.First {
		err = sqlerr.New(sqlerr.Invalid, "%s is after %s", p.Name(r.First), p.Name(r.Last))
	}
	return r, err
}

// Periods returns the periods of all values of a domain, which must be finite.
func (p Partition) Periods(d query.Domain) Ranges { return p.ofSet(d.All()) }

// ofSet returns the periods of the values in a set over a finite domain.
func (p Partition) ofSet(s query.Set) Ranges {
	var all []Range
	d := s.Domain()
	for _, r := range s.Ranges() {
		if d.IsRange() {
			first := r.First
			if d.HasNull() && first == 0 {
				if first++; first > r.Last {
					continue
				}
			}
			lo, _ := p.Of(d.Value(first))
			hi, _ := p.Of(d.Value(r.Last))
			all = append(all, Range{lo, hi})
			continue
		}
		for o := r.First; o <= r.Last; o++ {
			if n, ok := p.Of(d.Value(o)); ok {
				all = append(all, Only(n))
			}
		}
	}
	return Of(all...)
}

// Touched returns the periods in which a query has a weight. The column is that of the periods
// in the query's universe, and has a finite domain.
func (p Partition) Touched(q query.Query, column int) Ranges { return p.ofSet(q.Support(column)) }

// Set returns the values of a finite domain that lie in some periods.
func (p Partition) Set(d query.Domain, in Ranges) query.Set {
	out := d.None()
	if !d.IsRange() {
		var values []query.Value
		for v := range d.All().Each() {
			if n, ok := p.Of(v); ok && in.Contains(n) {
				values = append(values, v)
			}
		}
		return d.SetOf(values...)
	}
	for _, r := range in {
		lo, hi := p.values(r)
		from, errFrom := d.Greater(query.Int(lo), true)
		to, errTo := d.Less(query.Int(hi), true)
		if errFrom == nil && errTo == nil { // a range is ordered
			out = out.Union(from.Intersect(to))
		}
	}
	return out
}

// Restrict returns the domain of those values of a finite domain that lie in a range of periods.
// It is false if there are none.
func (p Partition) Restrict(d query.Domain, r Range) (query.Domain, bool) {
	if d.IsRange() {
		lo, hi := d.Bounds()
		least, most := p.values(r)
		lo, hi = max(lo, least), min(hi, most)
		if lo > hi {
			return query.Domain{}, false
		}
		out, err := query.NewRange(lo, hi, false)
		return out, err == nil
	}
	var values []query.Value
	for v := range p.Set(d, Ranges{r}).Each() {
		values = append(values, v)
	}
	if len(values) == 0 {
		return query.Domain{}, false
	}
	out, err := query.NewList(d.Type(), values)
	return out, err == nil
}

// Location returns the time zone in which periods end. Errors: Invalid.
func Location(zone string) (*time.Location, error) {
	if strings.EqualFold(zone, "local") { // which would be another one on each machine
		zone = "local time"
	}
	l, err := time.LoadLocation(zone)
	if err != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "there is no time zone %s", zone).
			WithHint("write a name of the IANA database: 'Europe/Berlin', 'UTC'")
	}
	return l, nil
}

// End returns the moment at which a period has ended: midnight after its last day, in the time
// zone of the partition. Only clocked periods end.
func (p Partition) End(n int64) time.Time {
	year, month, day := calendar.Date(p.FirstDay(n + 1))
	zone, err := Location(p.Zone)
	if err != nil {
		zone = time.FixedZone("", -12*60*60) // where days end last
	}
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, zone)
}

// Closed reports whether a period has ended. Without a clock none has.
func (p Partition) Closed(n int64, now time.Time) bool { return p.Clocked() && !now.Before(p.End(n)) }

// Begun returns the last period that has begun. Without a clock all have.
func (p Partition) Begun(now time.Time) int64 {
	if !p.Clocked() {
		return math.MaxInt64
	}
	zone, err := Location(p.Zone)
	if err != nil {
		zone = time.FixedZone("", -12*60*60) // where days begin last
	}
	year, month, day := now.In(zone).Date()
	return p.ofDay(calendar.Day(year, int(month), day))
}

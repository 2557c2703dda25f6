package period

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/sqlerr"
)

func dates(t *testing.T, lo, hi string, orNull bool) (query.Form, query.Domain) {
	t.Helper()
	f := query.DateForm(query.StoredISO)
	d, err := f.NewRange(lo, hi, orNull)
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

// TestPeriodsAreThoseOfTime compares the period, its name and its first day with package time,
// for every day of eighty years.
func TestPeriodsAreThoseOfTime(t *testing.T) {
	names := map[Granularity]func(time.Time) string{
		Day:     func(d time.Time) string { return d.Format(time.DateOnly) },
		Week:    func(d time.Time) string { y, w := d.ISOWeek(); return fmt.Sprintf("%04d-W%02d", y, w) },
		Month:   func(d time.Time) string { return d.Format("2006-01") },
		Quarter: func(d time.Time) string { return fmt.Sprintf("%04d-Q%d", d.Year(), (int(d.Month())+2)/3) },
		Year:    func(d time.Time) string { return d.Format("2006") },
	}
	hourly, err := query.TimestampForm(query.StoredUnix, 3600)
	if err != nil {
		t.Fatal(err)
	}
	for by, name := range names {
		p := Partition{Column: "d", By: by, Form: query.DateForm(query.StoredISO)}
		hours := Partition{Column: "d", By: by, Form: hourly}
		var before int64
		first := time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
		for d := first; d.Year() < 2030; d = d.AddDate(0, 0, 1) {
			day := d.Unix() / 86_400
			n, ok := p.Of(query.Int(day))
			if !ok || p.Name(n) != name(d) {
				t.Fatalf("%s %s lies in %s, want %s", by, d.Format(time.DateOnly), p.Name(n), name(d))
			}
			if back, err := p.Named(name(d)); err != nil || back != n {
				t.Fatalf("%s is read as %d (%v), want %d", name(d), back, err, n)
			}
			if d != first && n != before && (n != before+1 || p.FirstDay(n) != day) {
				t.Fatalf("%s %s begins on day %d, want %d", by, name(d), p.FirstDay(n), day)
			}
			for _, hour := range []int64{0, 23} {
				if m, _ := hours.Of(query.Int(24*day + hour)); m != n {
					t.Fatalf("hour %d of %s lies in %s", hour, d.Format(time.DateOnly), p.Name(m))
				}
			}
			before = n
		}
	}
}

func TestNamesThatAreNone(t *testing.T) {
	for by, names := range map[Granularity][]string{
		Day:     {"", "2024-02-30", "2024-2-1", "2024-02", "2024-02-01 "},
		Week:    {"2024-W00", "2023-W53", "2024-W5", "2024-w05", "2024-05", "2024-W05x"},
		Month:   {"2024-13", "2024-1", "24-01", "2024-02-01", "2024"},
		Quarter: {"2024-Q0", "2024-Q5", "2024-q1", "2024Q1", "2024-Q11"},
		Year:    {"0000", "24", "2024-01", "+2024"},
		Value:   {"1x", "", "01", "+1", "9223372036854775808"},
	} {
		p := Partition{Column: "d", By: by, Form: query.DateForm(query.StoredISO)}
		for _, name := range names {
			if n, err := p.Named(name); sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("%s '%s' is read as %d (%v)", by, name, n, err)
			}
		}
	}
	texts := Partition{Column: "wave", By: Value, Texts: []string{"spring", "autumn"}}
	if n, err := texts.Named("autumn"); err != nil || n != 1 {
		t.Errorf("autumn is %d (%v)", n, err)
	}
	if _, err := texts.Named("1"); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("1 is a period of texts: %v", err)
	}
}

func TestParse(t *testing.T) {
	for option, want := range map[string]Partition{
		"month of visited": {By: Month, Column: "visited"}, "WEEK  OF Visited": {By: Week, Column: "Visited"}, "batch": {By: Value, Column: "batch"},
	} {
		by, column, err := Parse(option)
		if err != nil || by != want.By || column != want.Column {
			t.Errorf("'%s' is %s of %s (%v)", option, by, column, err)
		}
	}
	for _, option := range []string{"", "month visited", "hour of visited", "value of visited", "month of a b", "month of"} {
		if _, _, err := Parse(option); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("'%s' is taken: %v", option, err)
		}
	}
}

// TestRestrict compares the restricted domains and sets with the period of each value.
func TestRestrict(t *testing.T) {
	seed := seeds.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	form, days := dates(t, "2023-11-17", "2025-03-09", true)
	whole, err := query.NewRange(-3, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	waves, err := query.NewList(query.TypeText, []query.Value{query.Text("a"), query.Text("b"), query.Text("c"), query.Text("d")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p Partition
		d query.Domain
	}{
		{Partition{By: Day, Form: form}, days}, {Partition{By: Week, Form: form}, days}, {Partition{By: Month, Form: form}, days},
		{Partition{By: Quarter, Form: form}, days}, {Partition{By: Year, Form: form}, days},
		{Partition{By: Value}, whole}, {Partition{By: Value, Texts: []string{"d", "b", "gone", "a", "c"}}, waves},
	} {
		of := map[query.Value]int64{}
		var all []Range
		for v := range c.d.All().Each() {
			if n, ok := c.p.Of(v); ok {
				of[v] = n
				all = append(all, Only(n))
			}
		}
		periods := c.p.Periods(c.d)
		if !slices.Equal(periods, Of(all...)) {
			t.Fatalf("the periods of %s are %v, want %v", c.d, periods, Of(all...))
		}
		hull, _ := periods.Hull()
		for range 60 {
			r := Range{hull.First - 2 + rng.Int64N(hull.Last-hull.First+4), 0}
			r.Last = r.First + rng.Int64N(5)
			if rng.IntN(10) == 0 {
				r.First = math.MinInt64
			}
			if rng.IntN(10) == 0 {
				r.Last = math.MaxInt64
			}
			var want []query.Value
			for v := range c.d.All().Each() {
				if n, ok := of[v]; ok && r.Contains(n) {
					want = append(want, v)
				}
			}
			if got := slices.Collect(c.p.Set(c.d, Ranges{r}).Each()); !slices.Equal(got, want) {
				t.Fatalf("%s in %v has %v, want %v", c.p.By, r, got, want)
			}
			d, ok := c.p.Restrict(c.d, r)
			if ok != (len(want) > 0) || ok && !slices.Equal(slices.Collect(d.All().Each()), want) {
				t.Fatalf("%s restricted to %v: %v, want %v", c.p.By, r, d, want)
			}
		}
	}
}

func TestTouched(t *testing.T) {
	form, days := dates(t, "2024-01-01", "2024-12-31", false)
	sex, err := query.NewList(query.TypeText, []query.Value{query.Text("f"), query.Text("m")})
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "sex", Domain: sex}, {Name: "day", Domain: days, Form: form}})
	if err != nil {
		t.Fatal(err)
	}
	p := Partition{Column: "day", By: Month, Form: form}
	named := func(name string) int64 {
		n, err := p.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := p.Touched(query.All(u), 1); !slices.Equal(got, Ranges{{named("2024-01"), named("2024-12")}}) {
		t.Errorf("all of it touches %v", got)
	}
	some := p.Set(days, Ranges{Only(named("2024-02")), Only(named("2024-05"))})
	q := query.Where(u, 1, some)
	if got := p.Touched(q, 1); !slices.Equal(got, Ranges{Only(named("2024-02")), Only(named("2024-05"))}) {
		t.Errorf("two months touch %v", got)
	}
	if got := p.Touched(query.None(u), 1); got != nil {
		t.Errorf("nothing touches %v", got)
	}
}

// TestClock has the ends of periods at midnight of the zone, over changes of clocks too.
func TestClock(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ zone, name, end string }{
		{"", "2024-02", "2024-03-01T00:00:00Z"},
		{"Europe/Berlin", "2024-02", "2024-02-29T23:00:00Z"},
		{"Europe/Berlin", "2024-03", "2024-03-31T22:00:00Z"}, // in summer
		{"America/New_York", "2024-12", "2025-01-01T05:00:00Z"},
		{"Pacific/Kiritimati", "2023-02", "2023-02-28T10:00:00Z"},
		{"Mars/Olympus", "2024-02", "2024-03-01T12:00:00Z"}, // unknown here: where days end last
	} {
		p := Partition{By: Month, Form: query.DateForm(query.StoredISO), Zone: c.zone}
		n, err := p.Named(c.name)
		if err != nil {
			t.Fatal(err)
		}
		end := at(c.end)
		if !p.End(n).Equal(end) || p.Closed(n, end.Add(-1)) || !p.Closed(n, end) || p.Begun(end.Add(-1)) != n || p.Begun(end) != n+1 {
			t.Errorf("%s in %s ends at %v, want %s", c.name, c.zone, p.End(n), c.end)
		}
	}
	values := Partition{By: Value}
	if values.Closed(1, at("2999-01-01T00:00:00Z")) || values.Begun(time.Time{}) != math.MaxInt64 {
		t.Error("values have a clock")
	}
	for _, zone := range []string{"Local", "Mars/Olympus"} {
		if _, err := Location(zone); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s is a zone: %v", zone, err)
		}
	}
}

// TestRanges compares the operations with those of sets of single periods.
func TestRanges(t *testing.T) {
	seed := seeds.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func() (s Ranges, has map[int64]bool) {
		has = map[int64]bool{}
		var all []Range
		for range rng.IntN(5) {
			first := rng.Int64N(20)
			r := Range{first, first + rng.Int64N(4)}
			all = append(all, r)
			for n := range (Ranges{r}).Each() {
				has[n] = true
			}
		}
		return Of(all...), has
	}
	for range 2000 {
		s, inS := draw()
		u, inU := draw()
		ops := map[string]struct {
			got  Ranges
			want func(a, b bool) bool
		}{
			"union":     {s.Union(u), func(a, b bool) bool { return a || b }},
			"intersect": {s.Intersect(u), func(a, b bool) bool { return a && b }},
			"minus":     {s.Minus(u), func(a, b bool) bool { return a && !b }},
		}
		for name, op := range ops {
			count := int64(0)
			for n := int64(-1); n < 30; n++ {
				want := op.want(inS[n], inU[n])
				if want {
					count++
				}
				if op.got.Contains(n) != want {
					t.Fatalf("%s of %v and %v is %v", name, s, u, op.got)
				}
			}
			if op.got.Count() != count {
				t.Fatalf("%v has %d periods, want %d", op.got, op.got.Count(), count)
			}
			for i := 1; i < len(op.got); i++ {
				if op.got[i].First <= op.got[i-1].Last+1 {
					t.Fatalf("%s of %v and %v is %v: two ranges touch", name, s, u, op.got)
				}
			}
		}
		if coarse := s.Coarse(2); !s.Within(coarse) || len(coarse) > 2 {
			t.Fatalf("%v made coarse is %v", s, coarse)
		}
	}
	if Whole().Count() != math.MaxInt64 || len(Whole().Minus(Ranges{All})) != 0 {
		t.Error("all periods are not all")
	}
	if got := Whole().Minus(Ranges{Only(0)}); !slices.Equal(got, Ranges{{math.MinInt64, -1}, {1, math.MaxInt64}}) {
		t.Errorf("all but one is %v", got)
	}
}

// TestRangeOfTexts reads names that have the word between two names in them.
func TestRangeOfTexts(t *testing.T) {
	p := Partition{Column: "leg", By: Value, Texts: []string{"A", "A to B", "B"}}
	for text, want := range map[string]Range{"A": Only(0), "A to B": Only(1), "B": Only(2)} {
		if got, err := p.Range(text); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := p.Range("A to C"); err == nil {
		t.Error("C is a period")
	}
}

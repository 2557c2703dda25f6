package audit

import (
	"testing"

	"dpsql/noise"
)

// mustAudit returns the case of a history.
func (p periodsOf) mustAudit(t *testing.T, name string, claim Claim) Case {
	t.Helper()
	c, err := p.audited(name, claim)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counted returns the rows that count in each period of D and of D′.
func (p periodsOf) counted(t *testing.T) (all [2][2]int64) {
	t.Helper()
	for i := range all {
		k, err := p.keep(i == 1)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = [2]int64{k.count(0), k.count(1)}
	}
	return all
}

// TestPeriodsDifferInOne checks the pair of tables: D′ has L more rows in period 0, and what
// counts in period 1 is the same.
func TestPeriodsDifferInOne(t *testing.T) {
	for _, limit := range []int64{1, 3, 1000} {
		p := periodsOf{limit: limit, key: []byte("key")}
		if got, want := p.counted(t), [2][2]int64{{2, limit + 1}, {limit + 2, limit + 1}}; got != want {
			t.Errorf("L = %d: %v count, want %v", limit, got, want)
		}
	}
}

// The claim of the twins: what was charged to period 0 of a history with a count over both periods
// of (1, 0.01). In each the charge of ε = 4 to period 1 must not matter, and does.
var claimOfPeriods = Claim{(ownEpsilon + oneEpsilon).Float(), someDelta.Float()}

// TestRowsKeptOfUnits is broken: max_rows is for a unit and not for each of its periods. Rows in
// period 0 push those of period 1 out, whose release has the noise of a budget that was never
// charged to period 0.
func TestRowsKeptOfUnits(t *testing.T) {
	t.Parallel()
	p := periodsOf{limit: 1, together: true, span: dlap(t, 2)}
	var counts [2][2]int64
	for n := range 64 { // half of the keys keep the row of period 0, and some of them push a row out
		p.key = []byte{byte(n)}
		if counts = p.counted(t); counts[0][1] > counts[1][1] {
			break
		}
	}
	if counts[0][1] != counts[1][1]+1 {
		t.Fatalf("%v count", counts)
	}
	other := dlap(t, 0.25)
	c := p.mustAudit(t, "rows kept of units", claimOfPeriods)
	c.Suspect = func(o Output) bool { return o[1] >= counts[0][1] }
	mustCatch(t, twin{c, other.Tail(0), other.Tail(1)})
}

// TestPartWithRowsOfOthers is broken: the release of a period has the rows of all of them, as
// with a column that is clamped to the period.
func TestPartWithRowsOfOthers(t *testing.T) {
	t.Parallel()
	p := periodsOf{limit: 1, key: []byte("key"), unbound: true, span: dlap(t, 2)}
	other := dlap(t, 0.25)
	c := p.mustAudit(t, "a part with the rows of other periods", claimOfPeriods)
	c.Suspect = func(o Output) bool { return o[1] >= 5 }
	mustCatch(t, twin{c, other.Tail(0), other.Tail(1)})
}

// TestSpanChargedToOnePeriod is broken: a count over both periods is charged to period 1 alone,
// and has the noise of its large budget.
func TestSpanChargedToOnePeriod(t *testing.T) {
	t.Parallel()
	other := dlap(t, 0.25)
	p := periodsOf{limit: 1, key: []byte("key"), span: other}
	c := p.mustAudit(t, "a count over periods that one of them pays", pure(ownEpsilon))
	c.Suspect = func(o Output) bool { return o[2] >= 5 }
	mustCatch(t, twin{c, other.Tail(0), other.Tail(1)})
}

// TestQuestionChosenByRows is broken: which question comes next, and so what is charged to
// period 1, follows from rows of period 0 and from no answer. Whether the noise of the last
// count is small tells which it was.
func TestQuestionChosenByRows(t *testing.T) {
	t.Parallel()
	p := periodsOf{limit: 3, key: []byte("key"), span: dlap(t, 6)}
	fine, coarse := dlap(t, 3.0/4), dlap(t, 300)
	c := p.mustAudit(t, "a question that rows choose", pure(ownEpsilon))
	honest := c.Run
	c.Run = func(changed bool, src *noise.Source) (Output, error) {
		o, err := honest(changed, src)
		if err != nil {
			return o, err
		}
		law := fine
		if changed { // has more rows in period 0
			law = coarse
		}
		draw, err := noise.Draw(law, src)
		o[3] = 4 + draw
		return o, err
	}
	c.Suspect = func(o Output) bool { return o[3] == 4 }
	mustCatch(t, twin{c, fine.Tail(0) - fine.Tail(1), coarse.Tail(0) - coarse.Tail(1)})
}

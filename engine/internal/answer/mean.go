package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// centre says how a direct answer to the sum inside a mean is bought: less the middle of the
// weights for each row that the mean is of. A row changes it by at most the reach.
type centre struct {
	count         query.Query
	middle, reach int64
}

// reach returns the most that a row changes a direct answer by.
func (r Request) reach() int64 {
	if r.centre != nil {
		return r.centre.reach
	}
	return r.Query.MaxWeight()
}

// bought returns the text by which a direct answer is stored, see text.
func (r Request) bought() string {
	if r.centre != nil {
		return fmt.Sprintf("less %d for each of %s: %s", r.centre.middle, r.centre.count.String(), r.text())
	}
	return r.text()
}

// estimate is Estimate for a direct answer to a request.
func (db *Database) estimate(r Request, a catalog.Answer, margin float64) released.Estimate {
	e := db.Estimate(a, margin)
	if r.centre != nil {
		e.Off = &r.centre.middle
	}
	return e
}

// varianceOf returns the σ² of a direct answer with Gaussian noise, and 0 of another.
func varianceOf(a catalog.Answer) float64 {
	var text string
	if a.Kind != catalog.AnswerDirect || json.Unmarshal(a.Law, &text) != nil {
		return 0
	}
	l, err := law.Parse(text)
	if g, ok := l.(*law.Gaussian); err == nil && ok {
		f, _ := g.Sigma2().Float64()
		return f
	}
	return 0
}

// rescale sets the width that the query's answer may have, for each unit of SET accuracy.
func (a *linear) rescale(scale float64) {
	if math.IsInf(scale, 1) { // while the number of rows is not known
		scale = float64(a.Query.MaxWeight())
	}
	a.scale = scale
	a.Settings.Accuracy = a.asked * scale
}

// centre joins the sums inside the means of a part with their numbers of rows.
func (st *Statement) centre(p Part) {
	width := p.bound.Width()
	for i, n := range p.index {
		c := p.bound.Slots[p.bound.SlotOf(i)].Centre
		a := &st.Asks[n]
		if c.Reach > 0 {
			of := i/width*width + c.Count
			count := p.bound.Queries[of]
			a.plain = a.plain || a.centre != nil && !a.centre.count.Equal(count)
			a.rows, a.Request.centre = p.index[of], &centre{count, c.Middle, c.Reach}
		}
		if a.plain {
			a.Request.centre = nil
		}
	}
}

// predict sets the accuracy of answers that are used in means. SET accuracy is what the mean
// is to reach, and its error is that of its answers over the number of rows. That number is predicted from
// what is public: a free answer, or else the same share of N̂ for each group.
func (st *Statement) predict(ctx context.Context) error {
	known := make(map[int]float64)
	for i := range st.Asks {
		a := &st.Asks[i]
		if a.perRow == 0 {
			continue
		}
		of := i
		if a.rows >= 0 {
			of = a.rows
		}
		n, ok := known[of]
		if !ok {
			var err error
			if n, err = st.rowsOf(ctx, of); err != nil {
				return err
			}
			known[of] = n
		}
		a.waits = n == 0 && a.asked > 0
		a.first = a.waits && !st.held && a.Table.Grant == nil && !a.file.isReadOnly()
		if a.rescale(a.most); n > 0 {
			a.rescale(min(a.most, n*a.perRow, n*a.reachOfMean()/4/cmp.Or(a.asked, Suggested)))
		}
	}
	return nil
}

// reachOfMean returns how far from 0 an answer inside a mean can be, for each row. Its noise is within a
// quarter of that, whatever is asked for: else the number of rows is not known well enough to divide by.
func (a *linear) reachOfMean() float64 {
	if a.centre == nil {
		return float64(a.Query.MaxWeight())
	}
	return float64(a.centre.reach)
}

// rowsOf predicts the number of rows that a mean is of, from the ask for it. It is 0 if nothing is known.
func (st *Statement) rowsOf(ctx context.Context, of int) (float64, error) {
	r := st.Asks[of].Request
	r.Settings.Accuracy, r.Settings.Mechanism, r.asked = 0, "auto", 0
	c, err := st.Database.tightest(ctx, st.view, r)
	if err != nil {
		return 0, err
	}
	if c != nil && c.Answer != nil {
		e, err := c.Answer(ctx)
		return max(1, float64(e.Value)), err
	}
	if r.Table.NHat == nil {
		return 0, nil
	}
	groups := 0
	for i := range st.Asks {
		if st.Asks[i].slot == st.Asks[of].slot {
			groups++
		}
	}
	return max(1, float64(r.Table.NHat.Value)/float64(groups)), nil
}

// tighten has the answers of releases be closer than bought ones. Nothing is known of how their errors
// depend on each other, and their sums are not about the middle: the mean's error is up to that of the sum,
// and twice the reach that of the count.
func (a *linear) tighten() {
	if a.perRow == 0 || a.asked == 0 {
		return
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		share := 4.0
		if a.Query.MaxWeight() > 1 {
			share = 2
		}
		if c.Refusal == "" && c.Known && c.Kind != "direct" && c.Margin > a.Settings.Accuracy/share {
			c.Refusal = "beyond SET accuracy = " + released.Counts(a.asked)
		}
	}
}

// aboutRows returns a hundred times what N̂ costs if a mean's price waits for it: what the account has left.
func aboutRows(v *view.View, t *view.Table) accounting.Amount {
	return accounting.Amount{Rho: v.Accounts[t.Account].RemainingIn(nil).Rho}
}

// countFirst buys the numbers of rows that prices wait for. It reports whether it bought one.
func (st *Statement) countFirst(ctx context.Context) (counted bool, err error) {
	for i := range st.Asks {
		if a := &st.Asks[i]; a.first {
			t := *a.Table
			about := aboutRows(st.view, &t)
			if err := st.view.Allows(&t, *a.buyer(), about.Rho/100); err != nil {
				return false, err
			}
			_, _, err = st.Database.desk.RowCount(ctx, st.bill, st.Database.rows, &t, catalog.KindInteractive, about)
			return err == nil, err
		}
	}
	return false, nil
}

// waiting is the error for a mean whose price is not known.
func (r Request) waiting(v *view.View) *sqlerr.Error {
	if r.first {
		return sqlerr.New(sqlerr.Budget, "the price waits for the number of rows, which is bought first for ρ = %s", released.Short((aboutRows(v, r.Table).Rho / 100).Float()))
	}
	return sqlerr.New(sqlerr.Budget, "the price waits for the number of rows").
		WithHint("SELECT COUNT(*) FROM %s WITH ACCURACY 50 buys it, and is free from then on", r.Table.Name)
}

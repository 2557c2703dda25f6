package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// prices are those of a process: a price hangs on public numbers alone.
var prices memo[direct.Request, price]

// Price returns the price of an accuracy.
func (db *Database) Price(r direct.Request) price {
	return prices.get(r, func() price {
		p, ok := direct.PlanFor(r)
		return price{p, ok}
	})
}

// Suggested is the accuracy, in counts, for which hints state a price.
const Suggested = 50

// Stored returns a direct answer as the catalog keeps it, with a value for each noisy count.
func (p price) Stored(r Request, value int64) (catalog.Answer, error) {
	if r.Question == sqlfront.Order {
		return p.storedDistribution(r, slices.Repeat([]int64{value}, int(r.scaleOf().places().Places)))
	}
	law, err := json.Marshal(p.Law.String())
	return catalog.Answer{TableID: r.Table.ID, Query: catalog.SumOf(r.bought()), Kind: boughtKinds[r.Question], Via: "direct", Estimate: value, Law: law}, err
}

// boughtKinds are the kinds of direct answers.
var boughtKinds = [...]catalog.AnswerKind{sqlfront.Weight: catalog.AnswerDirect, sqlfront.Units: catalog.AnswerUnits, sqlfront.Order: catalog.AnswerDistribution,
	sqlfront.DistinctValues: catalog.AnswerValues}

// maxOffered is the largest accuracy, in counts, that a hint offers.
const maxOffered = 1e12

// suggested returns the accuracy that the statement's hints state a price for: Suggested, or of means
// alone a twentieth of the least range that one has, or a little less.
func (st *Statement) suggested() float64 {
	least := math.Inf(1)
	for i := range st.Asks {
		a := &st.Asks[i]
		if !math.IsInf(a.most, 1) {
			return Suggested
		}
		least = min(least, math.Sqrt2*float64(a.reach())/a.perRow/20)
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, digit := range []float64{5, 2} {
		if digit*power <= least {
			return digit * power
		}
	}
	return power
}

// offered returns an accuracy that a statement can pay, and its cost. It is the
// accuracy wanted, or else the smallest of 1, 2 and 5 times a power of ten above it
// that takes at most a tenth of the remaining budget. It returns false if there is
// none.
func offered(wanted float64, p purse, cost func(accuracy float64) (accounting.Rho, bool)) (float64, accounting.Rho, bool) {
	if rho, ok := cost(wanted); ok && rho <= p.most {
		return wanted, rho, true
	}
	most, near := min(p.most, p.left/cautiousShare), wanted
	for power := math.Pow(10, math.Floor(math.Log10(wanted))); power <= maxOffered; power *= 10 {
		for _, accuracy := range []float64{power, 2 * power, 5 * power} {
			if accuracy <= wanted || accuracy < near {
				continue
			}
			rho, ok := cost(accuracy)
			if ok && rho <= most {
				return accuracy, rho, true
			}
			if ok { // ρ falls with the square, or nearly so
				near = 0.9 * accuracy * math.Sqrt(float64(rho)/float64(most))
			}
		}
	}
	return 0, 0, false
}

// least returns the tightest accuracy of two digits that a statement can pay, of those between
// one that it cannot pay and one that it can for rho. ρ falls with the square of the accuracy, or nearly
// so: it looks from a little below where that leads.
func least(wanted, affordable float64, rho accounting.Rho, p purse, cost func(accuracy float64) (accounting.Rho, bool)) float64 {
	near := max(wanted, 0.96*affordable*math.Sqrt(float64(rho)/float64(p.most)))
	power := math.Floor(math.Log10(near)) - 1
	of := func(n float64) float64 { return n * math.Pow(10, power) }
	if power < 0 { // a power of ten that is no fraction: 73/100 is 0.73, and 73·0.01 is not
		of = func(n float64) float64 { return n / math.Pow(10, -power) }
	}
	step := 1.0
	for n := math.Ceil(near / math.Pow(10, power)); of(n) < affordable; n += step {
		if n >= 100 {
			step = 10
		}
		if rho, ok := cost(of(n)); of(n) > wanted && ok && rho <= p.most {
			return of(n)
		}
	}
	return affordable
}

// tooExact refuses an accuracy that no noise has.
func tooExact(accuracy float64) string {
	return fmt.Sprintf("an answer within ±%s is all but the true number: it needs more than ρ = %s", released.Counts(accuracy), released.Short(float64(direct.MaxRho)/direct.Unit))
}

// offerHint returns a hint with the accuracy that a direct answer could have, and its
// price. The price of several queries is that of all together.
func offerHint(wanted, confidence float64, p purse, several bool, cost func(accuracy float64) (accounting.Rho, bool)) string {
	if p.closed != nil {
		return "no direct answer either: " + p.closed.Message
	}
	accuracy, rho, ok := offered(wanted, p, cost)
	if !ok && p.short {
		return "no direct answer can be bought either: the table's budget is nearly used up"
	}
	if !ok && p.most < p.left {
		return fmt.Sprintf("no direct answer can be bought either: the statement may take ρ = %s more", released.Short(max(0, p.most).Float()))
	}
	if p.total == 0 {
		return "no direct answer can be bought either: " + noShare
	}
	if !ok {
		return fmt.Sprintf("no direct answer can be bought either: the %s has ρ = %s left", p.name(), released.Short(p.left.Float()))
	}
	it, together, answers := "it", "", "answers"
	if several {
		it, together, answers = "them", " together", "statements"
	}
	hint := fmt.Sprintf("SET accuracy = %s answers %s directly within ±%s (%s %%) for ρ = %s%s; the %s left pays for %d such %s",
		released.Counts(accuracy), it, released.Counts(accuracy), released.Counts(100*confidence), released.Short(rho.Float()), together, p.budget(), int64(p.left/rho), answers)
	if accuracy == wanted {
		return hint
	}
	if tightest := least(wanted, accuracy, rho, p, cost); tightest < accuracy {
		hint += ", or for one within ±" + released.Counts(tightest)
	}
	return hint
}

// noShare says why a table sells no direct answers.
const noShare = "the declaration has no share of the budget for them, which needs a delta"

// purse is the budget that a statement can pay from.
type purse struct {
	total  accounting.Rho // the account's budget
	left   accounting.Rho // what remains of it
	most   accounting.Rho // the amount that the statement may still take
	closed *sqlerr.Error  // if not nil, the reason why it may buy nothing
	quota  bool           // it is a user's, who is not told what the account has left
	short  bool           // the account has less left than the user may take
}

// name names, for people, what a purse is.
func (p purse) name() string {
	if p.quota {
		return "quota"
	}
	return "interactive account"
}

// budget is name where it pays.
func (p purse) budget() string {
	if p.quota {
		return "quota"
	}
	return "interactive budget"
}

// retired returns which of some periods are retired. A table without periods reads them all.
func retired(t *view.Table, over period.Ranges) period.Ranges {
	if len(t.Retired) == 0 || !t.HasPeriods() {
		return t.Retired
	}
	return over.Intersect(t.Retired)
}

// purseOf returns what a statement that reads some periods, nil for all, can pay from if it also
// begins runs.
func purseOf(v *view.View, t *view.Table, over period.Ranges, by *catalog.Buyer, runs accounting.Rho) purse {
	a := v.Accounts[t.Account]
	remaining := a.RemainingIn(over).Rho
	p := purse{total: a.Caps.InteractiveRho, left: remaining}
	if g := t.Grant; g != nil {
		p.quota, p.total, p.left = true, g.Quota.Rho, g.Left()
	}
	p.most = p.left
	if l := v.Limits(t); l.MaxCharge > 0 {
		p.most = min(p.most, l.MaxCharge-by.Taken-runs)
	}
	if p.short = p.quota && remaining < p.most; p.short {
		p.most = remaining
	}
	errors.As(v.Allows(t, catalog.Buyer{Principal: by.Principal, User: by.User}, 0), &p.closed)
	if gone := retired(t, over); len(gone) > 0 {
		errors.As(catalog.Retired(&a.Account, gone[0]), &p.closed)
	}
	return p
}

// hinted returns the refusal of a limit, or nil. If a smaller purchase would pass the
// limit, the refusal has the hint that says which.
func hinted(err error, hint func() string) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Code == sqlerr.Budget {
		return e.WithHint("%s", hint())
	}
	return e
}

// affordable returns the reason why an amount cannot be charged to each of some periods, or "".
// Nil is every period.
func affordable(v *view.View, t *view.Table, over period.Ranges, amount accounting.Amount) string {
	a := v.Accounts[t.Account]
	if over == nil {
		over = period.Ranges{period.All}
	}
	for s := range a.Spending.In(over) {
		if a.Caps.Fits(s.Spent, amount) {
			continue
		}
		if t.Grant != nil {
			return catalog.OverBudget(amount.Rho).Message
		}
		text := "it needs ρ = " + released.Short(amount.Rho.Float()) + " and the interactive account has " + released.Short(a.Caps.Remaining(s.Spent).Rho.Float()) + " left"
		if t.HasPeriods() {
			text += " in " + t.Partition.Name(s.Over.First)
		}
		return text
	}
	return ""
}

// direct is the candidate that buys one count, or sum, with discrete Gaussian
// noise.
func (db *Database) direct(v *view.View, r Request) released.Candidate {
	c := released.Candidate{Origin: released.FromRows, Name: "direct", Kind: "direct", Support: released.SupportOf(r.Query), Known: true}
	a := v.Accounts[r.Table.Account]
	if r.waits {
		c.Failure = sqlerr.New(sqlerr.Uncovered, "the price of an average waits for its number of rows").
			WithHint("SELECT COUNT(*) with the same WHERE and GROUP BY tells it")
		c.Known, c.Refusal = false, c.Failure.Message
		c.Offer = func() string { return c.Failure.Hint }
		return c
	}
	price := func(accuracy float64) price {
		if r.Question == sqlfront.Order {
			return db.priceOfOrders([]Request{r}, accuracy*r.scale)
		}
		return db.priceOf(r, r.reach(), 1, direct.Request{Accuracy: accuracy * r.scale, Confidence: r.Settings.Confidence})
	}
	cost := func(accuracy float64) (accounting.Rho, bool) {
		p := price(accuracy)
		return p.cost().Rho, p.Possible
	}
	over := r.Table.Touched(r.Query)
	purse := purseOf(v, r.Table, over, r.buyer(), 0)
	accuracy := r.asked
	if accuracy == 0 {
		accuracy = r.suggested
		if other, _, ok := offered(accuracy, purse, cost); ok && (a.Limits.MaxCharge > 0 || r.Table.Grant != nil) {
			accuracy = other
		}
	}
	c.Offer = func() string { return offerHint(accuracy, r.Settings.Confidence, purse, false, cost) }
	p := price(accuracy)
	if !p.Possible {
		c.Known, c.Refusal = false, tooExact(accuracy)
		return c
	}
	c.Margin, c.Cost = float64(p.Width), p.cost()
	if gone := retired(r.Table, over); len(gone) > 0 {
		c, _ = c.Failed(catalog.Retired(&a.Account, gone[0]))
		return c
	}
	short := affordable(v, r.Table, over, c.Cost)
	c.Refusal = short
	if purse.total == 0 && !purse.quota {
		c.Refusal = noShare
		return c
	}
	c.Note = fmt.Sprintf("%d left", purse.left/accounting.Rho(p.Rho))
	limit := hinted(v.Allows(r.Table, *r.buyer(), c.Cost.Rho), c.Offer)
	switch {
	case limit != nil && (limit.Code == sqlerr.Forbidden || r.Settings.Accuracy > 0 || r.Table.Grant != nil):
		c.Failure, c.Refusal = limit, limit.Message
	case r.Settings.Accuracy > 0 && r.file.isReadOnly():
		c.Failure = r.file.refusal()
		c.Refusal = c.Failure.Message
	case r.Settings.Accuracy == 0 && (c.Refusal == "" || r.Table.Grant == nil):
		c.Refusal = "SET accuracy = " + released.Counts(accuracy) + " buys it"
	}
	if c.Refusal == short {
		c.Short = short
	}
	return c // the statement buys it together with others
}

// scale says which values share a place of a distribution that is bought: the first ordinal of
// the first place, and the number of ordinals in each but perhaps the last. More values than
// there can be places share them evenly.
type scale struct {
	First uint64 `json:"first"`
	Width uint64 `json:"width"`
	End   uint64 `json:"end"` // the ordinal behind the last
}

func (s scale) places() direct.Cumulative {
	return direct.Cumulative{Places: int64((s.End - s.First + s.Width - 1) / s.Width)}
}

// scaleOf returns the scale of a distribution that is bought for a request.
func (r Request) scaleOf() scale {
	first, values := r.order().Places()
	return scale{first, (values + direct.MaxPlaces - 1) / direct.MaxPlaces, first + values}
}

// counts returns how many of queries there are, or would be if records could have every value.
func (r Request) counts() int64 {
	switch r.Question {
	case sqlfront.Order:
		return r.scaleOf().places().Places
	case sqlfront.DistinctValues:
		return int64(r.Table.Universe.Columns()[r.column].Domain.Size())
	}
	return 1
}

// bytes bounds what a direct answer takes in the file: 260 bytes, and at most 21 for each number of a
// distribution (TestStoredBytes). It follows from the question and declarations alone.
func (r Request) bytes() int64 {
	n := int64(300)
	if r.Question == sqlfront.Order {
		n += 21 * r.counts()
	}
	return n
}

// share writes a part of a whole in percent.
func share(part, whole accounting.Rho) string {
	return fmt.Sprintf("%.0f %%", 100*part.Float()/whole.Float())
}

// cautiousShare is the fraction, one in cautiousShare, of an interactive account's
// remaining budget. A statement that costs more is announced before it is paid for.
const cautiousShare = 10

package answer

import (
	"context"
	"crypto/sha256"
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

// Purchases groups the direct answers by slot. The most demanding query of a slot sets
// its price.
func (st *Statement) Purchases() []Purchase {
	return st.priced(st.slotsOf(st.bought()), st.settings.Accuracy)
}

// bought returns the asks that a direct answer was chosen for.
func (st *Statement) bought() []int {
	var asks []int
	for i := range st.Asks {
		if best := st.Asks[i].Best; best != nil && best.Buys() {
			asks = append(asks, i)
		}
	}
	return asks
}

// together reports whether purchases about two tables are paid from one purse: that of an
// account, or for a user her quota for one table.
func together(t, other *view.Table) bool {
	return t.Account == other.Account && (t.Grant == nil || t.ID == other.ID)
}

// starts returns the smallest amount that the statement takes from the reserves of the
// mechanisms that are paid together with a table's: one run of each chosen mechanism that has
// none open. The statement's firings may start more, and how many is not known before.
func (st *Statement) starts(t *view.Table) (sum accounting.Rho) {
	seen := make(map[string]bool)
	for i := range st.Asks {
		best := st.Asks[i].Best
		if best != nil && best.Starts > 0 && !seen[best.Name] && together(st.Asks[i].Table, t) {
			seen[best.Name] = true
			sum += best.Starts
		}
	}
	return sum
}

// slotsOf groups asks by slot.
func (st *Statement) slotsOf(asks []int) map[int][]int {
	bySlot := make(map[int][]int)
	for _, i := range asks {
		bySlot[st.Asks[i].slot] = append(bySlot[st.Asks[i].slot], i)
	}
	return bySlot
}

// priced returns the purchases of asks by slot, at an accuracy.
func (st *Statement) priced(bySlot map[int][]int, accuracy float64) []Purchase {
	var all []Purchase
	for slot := range st.slots {
		asks := bySlot[slot]
		if len(asks) == 0 {
			continue
		}
		r := direct.Request{Accuracy: accuracy * st.Asks[asks[0]].scale}
		weight := int64(1)
		for _, i := range asks {
			a := &st.Asks[i]
			r.Accuracy = min(r.Accuracy, accuracy*a.scale)
			r.Confidence = max(r.Confidence, a.Settings.Confidence)
			weight = max(weight, a.Query.MaxWeight())
		}
		if st.Asks[asks[0]].Question == sqlfront.Order {
			requests := make([]Request, len(asks))
			for i, n := range asks {
				requests[i] = st.Asks[n].Request
			}
			all = append(all, Purchase{asks, st.Database.priceOfOrders(requests, r.Accuracy), st.touched(asks)})
			continue
		}
		all = append(all, Purchase{asks, st.Database.priceOf(st.Asks[asks[0]].Request, weight, len(asks), r), st.touched(asks)})
	}
	return all
}

// touched returns the periods that queries about one table have a weight in.
func (st *Statement) touched(asks []int) (over period.Ranges) {
	for _, n := range asks {
		a := &st.Asks[n]
		if a.Table.HasPeriods() {
			over = over.Union(a.Table.Touched(a.Query))
		}
	}
	return over
}

// Total returns the cost of all purchases together: the most that is taken from any one period.
// It returns false if no noise is as small as one of them needs.
func Total(all []Purchase) (sum accounting.Amount, ok bool) {
	for _, p := range all {
		if !p.Price.Possible {
			return sum, false
		}
	}
	return accounting.Amount{Rho: catalog.Most(Shares(all))}, true
}

// Due yields, in order of the parts, a table of each purse that the statement pays from, and
// the purchases that it pays for.
func (st *Statement) Due(yield func(*view.Table, []Purchase) bool) {
	all := st.Purchases()
	for i := range st.Parts {
		t := st.Parts[i].Table
		about := func(of *view.Table) bool { return together(of, t) }
		if slices.ContainsFunc(st.Parts[:i], func(before Part) bool { return about(before.Table) }) {
			continue
		}
		if !yield(t, st.of(all, about)) {
			return
		}
	}
}

// of returns the purchases about some tables.
func (st *Statement) of(all []Purchase, about func(*view.Table) bool) (some []Purchase) {
	for _, p := range all {
		if about(st.Asks[p.Asks[0]].Table) {
			some = append(some, p)
		}
	}
	return some
}

// affordable refuses a statement whose purchases cost more than remains in an account, or
// more than one statement may take from it, and one that takes too long to be held.
func (st *Statement) affordable() error {
	if st.held {
		if err := st.fits(); err != nil {
			return err
		}
	}
	if bought := st.bought(); len(bought) > 0 {
		if err := st.bearable(bought); err != nil {
			return err
		}
	}
	for t, due := range st.Due {
		if err := st.affords(t, due); err != nil {
			return err
		}
	}
	return nil
}

// affords is affordable for the purse of a table.
func (st *Statement) affords(t *view.Table, due []Purchase) error {
	cost, ok := Total(due)
	why := lacking(st.view, t, due)
	if !ok {
		why = "no noise is within ±" + released.Counts(st.settings.Accuracy)
	}
	if takes := cost.Rho + st.starts(t); why == "" && takes > 0 {
		err := st.view.Allows(t, *st.Buyers.Of(t.Account), takes)
		if limit := hinted(err, func() string { return st.offer(t, st.bought()) }); limit != nil {
			return limit
		}
	}
	if why == "" {
		return nil
	}
	return sqlerr.New(sqlerr.Budget, "%s", why).WithHint("%s", st.offer(t, st.bought()))
}

// lacking returns the reason why purchases cannot be charged, or "".
func lacking(v *view.View, t *view.Table, due []Purchase) string {
	shares, err := catalog.PerPeriod(Shares(due))
	if err != nil {
		return "it needs more than any account has"
	}
	for _, s := range shares {
		if why := affordable(v, t, s.Over, accounting.Amount{Rho: s.Rho}); why != "" {
			return why
		}
	}
	return ""
}

// offer returns a hint with the price of answering those of the queries directly that the
// purse of a table pays for.
func (st *Statement) offer(t *view.Table, asks []int) string {
	accuracy := st.settings.Accuracy
	if accuracy == 0 {
		accuracy = Suggested
	}
	asks = slices.DeleteFunc(slices.Clone(asks), func(n int) bool { return !together(st.Asks[n].Table, t) })
	bySlot := st.slotsOf(asks)
	return offerHint(accuracy, st.settings.Confidence, purseOf(st.view, t, st.touched(asks), st.Buyers.Of(t.Account), st.starts(t)), true,
		func(accuracy float64) (accounting.Rho, bool) {
			cost, ok := Total(st.priced(bySlot, accuracy))
			return cost.Rho, ok && cost.Rho > 0
		})
}

// tables returns the tables that purchases are about, each once.
func (st *Statement) tables(purchases []Purchase) (tables []*view.Table) {
	for _, p := range purchases {
		t := st.Asks[p.Asks[0]].Table
		if !slices.ContainsFunc(tables, func(have *view.Table) bool { return have.ID == t.ID }) {
			tables = append(tables, t)
		}
	}
	return tables
}

// store stores answers that are paid for, even if the statement is cancelled.
func (st *Statement) store(ctx context.Context, answers []catalog.Answer) error {
	return st.Database.store.Write(context.WithoutCancel(ctx), func(tx *catalog.Tx) error {
		for i := range answers {
			if err := tx.PutAnswer(&answers[i]); err != nil {
				return err
			}
		}
		return nil
	})
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

// drawn returns a direct answer from its noisy counts, as it is stored and as it is used.
func (db *Database) drawn(p price, r Request, noisy []int64) (a catalog.Answer, e released.Estimate, err error) {
	if r.Question == sqlfront.Order {
		if a, err = p.storedDistribution(r, noisy); err == nil {
			e, _, err = distributionStored(r, a)
		}
		return a, e, err
	}
	if a, err = p.Stored(r, noisy[0]); err != nil {
		return a, e, err
	}
	margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
	return a, db.Estimate(a, margin), err
}

// unbought returns the asks without a stored answer that is good enough. It puts the
// stored answers of the others into answers.
func (st *Statement) unbought(tx *catalog.Tx, asks []int, answers []released.Estimate) ([]int, error) {
	var left []int
	for _, n := range asks {
		r := st.Asks[n].Request
		stored, err := tx.Answers(r.Table.ID, r.text())
		if err != nil {
			return nil, err
		}
		e, ok, err := st.Database.bought(r, stored)
		if err != nil {
			return nil, err
		}
		if ok {
			answers[n] = e
		} else {
			left = append(left, n)
		}
	}
	return left, nil
}

// digest identifies the purchases.
func (st *Statement) digest(purchases []Purchase) [32]byte {
	if len(purchases) == 1 && len(purchases[0].Asks) == 1 {
		return st.Asks[purchases[0].Asks[0]].Digest()
	}
	h := sha256.New()
	for _, p := range purchases {
		for _, n := range p.Asks {
			d := st.Asks[n].Digest()
			h.Write(d[:])
		}
	}
	return [32]byte(h.Sum(nil))
}

// Suggested is the accuracy, in counts, for which hints state a price.
const Suggested = 50

// price is the plan of a direct answer. ok is false if there is none.
type price struct {
	direct.Plan
	Possible bool
}

// Price returns the price of an accuracy.
func (db *Database) Price(r direct.Request) price {
	return db.prices.get(r, func() price {
		p, ok := direct.PlanFor(r)
		return price{p, ok}
	})
}

func (p price) cost() accounting.Amount { return accounting.Amount{Rho: accounting.Rho(p.Rho)} }

// direct is the candidate that buys one count, or sum, with discrete Gaussian
// noise.
func (db *Database) direct(v *view.View, r Request) released.Candidate {
	c := released.Candidate{Origin: released.FromRows, Name: "direct", Kind: "direct", Support: released.SupportOf(r.Query), Known: true}
	a := v.Accounts[r.Table.Account]
	price := func(accuracy float64) price {
		if r.Question == sqlfront.Order {
			return db.priceOfOrders([]Request{r}, accuracy*r.scale)
		}
		return db.priceOf(r, r.Query.MaxWeight(), 1, direct.Request{Accuracy: accuracy * r.scale, Confidence: r.Settings.Confidence})
	}
	cost := func(accuracy float64) (accounting.Rho, bool) {
		p := price(accuracy)
		return p.cost().Rho, p.Possible
	}
	over := r.Table.Touched(r.Query)
	purse := purseOf(v, r.Table, over, r.buyer(), 0)
	accuracy := r.asked
	if accuracy == 0 {
		accuracy = Suggested
		if other, _, ok := offered(Suggested, purse, cost); ok && (a.Limits.MaxCharge > 0 || r.Table.Grant != nil) {
			accuracy = other
		}
	}
	c.Offer = func() string { return offerHint(accuracy, r.Settings.Confidence, purse, false, cost) }
	p := price(accuracy)
	if !p.Possible {
		c.Known, c.Refusal = false, fmt.Sprintf("no noise is within ±%s", released.Counts(accuracy))
		return c
	}
	c.Margin, c.Cost = float64(p.Width), p.cost()
	if gone := retired(r.Table, over); len(gone) > 0 {
		c, _ = c.Failed(catalog.Retired(&a.Account, gone[0]))
		return c
	}
	c.Refusal = affordable(v, r.Table, over, c.Cost)
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
	return c // the statement buys it together with others
}

// Stored returns a direct answer as the catalog keeps it, with a value for each noisy count.
func (p price) Stored(r Request, value int64) (catalog.Answer, error) {
	if r.Question == sqlfront.Order {
		return p.storedDistribution(r, slices.Repeat([]int64{value}, int(r.scaleOf().places().Places)))
	}
	law, err := json.Marshal(p.Law.String())
	return catalog.Answer{TableID: r.Table.ID, Query: catalog.SumOf(r.text()), Kind: boughtKinds[r.Question], Via: "direct", Estimate: value, Law: law}, err
}

// boughtKinds are the kinds of direct answers.
var boughtKinds = [...]catalog.AnswerKind{sqlfront.Weight: catalog.AnswerDirect, sqlfront.Units: catalog.AnswerUnits, sqlfront.Order: catalog.AnswerDistribution,
	sqlfront.DistinctValues: catalog.AnswerValues}

// bought returns the tightest of the direct answers that reach the accuracy
// asked for.
func (db *Database) bought(r Request, answers []catalog.Answer) (e released.Estimate, ok bool, err error) {
	best := math.Inf(1) // the margin of ranks of a distribution
	for _, a := range answers {
		if r.Question == sqlfront.Order {
			d, margin, err := distributionStored(r, a)
			if err != nil {
				return e, false, err
			}
			if margin <= r.Settings.Accuracy && (!ok || margin < best) {
				e, ok, best = d, true, margin
			}
			continue
		}
		if a.Kind != boughtKinds[r.Question] {
			continue
		}
		margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
		if err != nil {
			return e, false, err
		}
		if margin <= r.Settings.Accuracy && (!ok || margin < e.Error.Reach()) {
			e, ok = db.Estimate(a, margin), true
		}
	}
	return e, ok, nil
}

// maxOffered is the largest accuracy, in counts, that a hint offers.
const maxOffered = 1e12

// offered returns an accuracy that a statement can pay, and its cost. It is the
// accuracy wanted, or else the smallest of 1, 2 and 5 times a power of ten above it
// that takes at most a tenth of the remaining budget. It returns false if there is
// none.
func offered(wanted float64, p purse, cost func(accuracy float64) (accounting.Rho, bool)) (float64, accounting.Rho, bool) {
	if rho, ok := cost(wanted); ok && rho <= p.most {
		return wanted, rho, true
	}
	for power := math.Pow(10, math.Floor(math.Log10(wanted))); power <= maxOffered; power *= 10 {
		for _, accuracy := range []float64{power, 2 * power, 5 * power} {
			if accuracy <= wanted {
				continue
			}
			if rho, ok := cost(accuracy); ok && rho <= min(p.most, p.left/cautiousShare) {
				return accuracy, rho, true
			}
		}
	}
	return 0, 0, false
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
	return fmt.Sprintf("SET accuracy = %s answers %s directly within ±%s (%s %%) for ρ = %s%s; the %s left pays for %d such %s",
		released.Counts(accuracy), it, released.Counts(accuracy), released.Counts(100*confidence), released.Short(rho.Float()), together, p.budget(), int64(p.left/rho), answers)
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

// cautiousShare is the fraction, one in cautiousShare, of an interactive account's
// remaining budget. A statement that costs more is announced before it is paid for.
const cautiousShare = 10

// caution returns the warning before a statement that buys answers for more than a
// tenth of an interactive account's remaining budget, or "". It follows from the price
// and the account alone, so it is public.
func (st *Statement) caution() string {
	if len(st.bought()) == 0 {
		return ""
	}
	for t, due := range st.Due {
		cost, ok := Total(due)
		left := purseOf(st.view, t, st.touched(st.bought()), st.Buyers.Of(t.Account), 0).left
		if ok && cost.Rho > left/cautiousShare && left > 0 {
			return fmt.Sprintf("this takes %s of what is left for direct answers: ρ = %s of %s", share(cost.Rho, left),
				released.Short(cost.Rho.Float()), released.Short(left.Float()))
		}
	}
	return ""
}

// share writes a part of a whole in percent.
func share(part, whole accounting.Rho) string {
	return fmt.Sprintf("%.0f %%", 100*part.Float()/whole.Float())
}

// agreed asks the caller to confirm an expensive statement. If nobody is asked it adds a
// warning.
func (st *Statement) agreed(confirm func(warning string) bool) error {
	warning := st.caution()
	switch {
	case warning == "":
	case confirm == nil && !slices.Contains(st.Parts[0].bound.Warnings, warning):
		b := *st.Parts[0].bound
		b.Warnings = append(slices.Clone(b.Warnings), warning)
		st.Parts[0].bound = &b
	case confirm != nil && !confirm(warning):
		return sqlerr.New(sqlerr.Cancelled, "the statement was not carried out")
	}
	return nil
}

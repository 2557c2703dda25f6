package answer

import (
	"context"
	"crypto/sha256"
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
			weight = max(weight, a.reach())
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
// the purchases that it pays for: those that no charge waits for.
func (st *Statement) Due(yield func(*view.Table, []Purchase) bool) {
	all := st.Purchases()
	if served := st.served(all); served != nil {
		all = st.of(all, func(t *view.Table) bool { return !served[t.ID] })
	}
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

// served returns the tables whose purchases a charge waits for, by their IDs. Of a statement without
// any it is nil.
func (st *Statement) served(all []Purchase) (served map[int64]bool) {
	if len(st.view.Waiting) == 0 || st.bill.Quota {
		return nil
	}
	for _, t := range st.tables(all) {
		p := st.paying(t, st.about(all, t))
		if st.bill.Served(st.view.Waiting, t, &p) {
			if served == nil {
				served = make(map[int64]bool)
			}
			served[t.ID] = true
		}
	}
	return served
}

// about returns the purchases about a table.
func (st *Statement) about(all []Purchase, t *view.Table) []Purchase {
	return st.of(all, func(of *view.Table) bool { return of.ID == t.ID })
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
		why = tooExact(st.settings.Accuracy)
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
		accuracy = st.suggested()
	}
	asks = slices.DeleteFunc(slices.Clone(asks), func(n int) bool { return !together(st.Asks[n].Table, t) })
	counts := slices.DeleteFunc(slices.Clone(asks), func(n int) bool { return !st.Asks[n].uncounted })
	waits := len(counts) > 0
	if waits {
		asks = counts
	}
	bySlot := st.slotsOf(asks)
	cost := func(accuracy float64) (accounting.Rho, bool) {
		cost, ok := Total(st.priced(bySlot, accuracy))
		return cost.Rho, ok && cost.Rho > 0
	}
	purse := purseOf(st.view, t, st.touched(asks), st.Buyers.Of(t.Account), st.starts(t))
	if waits {
		return st.offerMeans(accuracy, purse, cost)
	}
	if st.settings.Accuracy == 0 && accuracy != Suggested { // nobody knows yet whether that is dear
		spare := purse
		spare.most = min(purse.most, purse.left/cautiousShare)
		if wider, _, ok := offered(accuracy, spare, cost); ok {
			accuracy = wider
		}
	}
	return offerHint(accuracy, st.settings.Confidence, purse, true, cost)
}

// offerMeans returns a hint for means whose price waits for numbers of rows, of which cost is the price.
func (st *Statement) offerMeans(accuracy float64, purse purse, cost func(accuracy float64) (accounting.Rho, bool)) string {
	if st.settings.Accuracy > 0 {
		return "SELECT COUNT(*) with the same WHERE and GROUP BY tells the price"
	}
	rho, ok := cost(Suggested)
	if !ok || rho > purse.most || purse.closed != nil {
		return offerHint(Suggested, st.settings.Confidence, purse, true, cost)
	}
	return fmt.Sprintf("SET accuracy = %s answers them directly within ±%[1]s (%s %%): their rows are counted first for ρ = %s, and tell the price",
		released.Counts(accuracy), released.Counts(100*st.settings.Confidence), released.Short(rho.Float()))
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
	if len(answers) == 0 {
		return nil
	}
	return st.Database.store.Write(context.WithoutCancel(ctx), func(tx *catalog.Tx) error {
		for i := range answers {
			if err := tx.PutAnswer(&answers[i]); err != nil {
				return err
			}
		}
		return nil
	})
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
	return a, db.estimate(r, a, margin), err
}

// unbought returns the asks without a stored answer that is good enough. It puts the
// stored answers of the others into answers.
func (st *Statement) unbought(tx *catalog.Tx, asks []int, answers []released.Estimate) ([]int, error) {
	var left []int
	for _, n := range asks {
		r := st.Asks[n].Request
		stored, err := tx.Answers(r.Table.ID, r.bought())
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
			e, ok = db.estimate(r, a, margin), true
		}
	}
	return e, ok, nil
}

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

// agreed asks the caller to confirm an expensive statement. If nobody is asked it adds a
// warning.
func (st *Statement) agreed(confirm func(warning string) bool) error {
	warning := st.caution()
	switch {
	case warning == "":
	case confirm == nil && !slices.Contains(st.Parts[0].Bound.Warnings, warning):
		b := *st.Parts[0].Bound
		b.Warnings = append(slices.Clone(b.Warnings), warning)
		st.Parts[0].Bound = &b
	case confirm != nil && !confirm(warning):
		return sqlerr.New(sqlerr.Cancelled, "the statement was not carried out")
	}
	return nil
}

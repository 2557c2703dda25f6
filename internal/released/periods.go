package released

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// EachPeriod names, for people, the periods of a table by the column that it declares: each month
// of visited, each value of batch. It is "" without periods.
func EachPeriod(p *period.Partition, column string) string {
	switch {
	case p == nil:
		return ""
	case !p.Clocked():
		return "each value of " + column
	}
	return "each " + string(p.By) + " of " + column
}

// PeriodWord says what the periods of a table are: "month", or "batch" for the values of that
// column; "" if it has none.
func PeriodWord(p *period.Partition, column string) string {
	switch {
	case p == nil:
		return ""
	case !p.Clocked():
		return column
	}
	return string(p.By)
}

// PeriodNames lists periods for people.
func PeriodNames(p *period.Partition, all period.Ranges) string {
	const most = 4
	text := ""
	for i, r := range all {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, period.Ranges(all[i:]).Count())
		}
		if i > 0 {
			text += ", "
		}
		text += p.Text(r)
	}
	return text
}

// InPeriods returns the universe of the rows of some periods alone: no others count, since their values of the
// period's column are not in its domain. It is false if the column has no value in these periods.
func InPeriods(u *query.Universe, p *period.Partition, column int, over period.Range) (*query.Universe, bool) {
	d, some := p.Restrict(u.Columns()[column].Domain, over)
	if !some {
		return nil, false
	}
	return u.With(column, d), true
}

// ErrNowhere is the refusal of a release none of whose periods can have a row.
const ErrNowhere = "it has no rows of these periods"

// Elsewhere says that a query counts rows of periods that a release of some periods does not have; "" if it does not.
func Elsewhere(p *period.Partition, touched period.Ranges, span period.Range) string {
	missing := touched.Minus(period.Ranges{span})
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("it has no rows of %s, only of %s", PeriodNames(p, missing), p.Text(span))
}

// LeftOut says how a query does without a period with a clock, and those after it. column says in which period a row lies.
func LeftOut(p *period.Partition, column string, n int64) string {
	return fmt.Sprintf("WHERE %s < '%s' leaves it out", column, query.DateForm(query.StoredISO).Shown(query.Int(p.FirstDay(n))).Str())
}

// Begun cuts what was bound to the periods that have begun: rows of later ones count nowhere. So
// nothing about them is read, bought or stored. Groups that are only of later periods are left
// out. column says in which period a row lies.
func Begun(u *query.Universe, b *sqlfront.Bound, p *period.Partition, column int, begun period.Ranges) error {
	d := u.Columns()[column].Domain
	if p.Periods(d).Within(begun) {
		return nil
	}
	none, in := query.None(u), query.Where(u, column, p.Set(d, begun))
	width := b.Width()
	set, left := 0, 0
	if len(b.Sets) > 0 {
		left = b.Sets[0]
	}
	queries, groups := b.Queries[:0:0], b.Groups[:0:0]
	sets := slices.Clone(b.Sets)
	for g, keys := range b.Groups {
		for left == 0 {
			set++
			left = b.Sets[set]
		}
		left--
		lost := len(keys) > 0 && width > 0
		cut := make([]query.Query, width)
		for k := range width {
			q := b.Queries[g*width+k]
			var err error
			if cut[k], err = q.And(in); err != nil {
				return err
			}
			lost = lost && cut[k].Equal(none) && !q.Equal(none)
		}
		if lost {
			sets[set]--
			continue
		}
		queries, groups = append(queries, cut...), append(groups, keys)
	}
	b.Queries, b.Groups, b.Sets, b.Slots = queries, groups, sets, slices.Clone(b.Slots)
	for k := range b.Slots {
		var err error
		if b.Slots[k].Base, err = b.Slots[k].Base.And(in); err != nil {
			return err
		}
	}
	return nil
}

// Growing is a release of each period of a table.
type Growing struct {
	Name, Kind string
	Columns    []int // of the table; nil for all
	Partition  *period.Partition
	Built      period.Ranges                              // the periods that have a part
	Lacks      func(missing period.Ranges) string         // how those come that have none
	Part       func(n int64) (Release, query.Query, bool) // with the query there; false if it has no values
	One        func(context.Context, int64) (Candidate, error)
	AsOf       func(n int64) time.Time // when the rows of a period were read that had not ended; else zero
}

// Covers reports whether each of some periods has a part.
func (g Growing) Covers(touched period.Ranges) bool { return len(touched.Minus(g.Built)) == 0 }

// Candidate returns the candidate for a count. The query is cut by period, each
// part answers what lies in its own, and the answers are added: the parts are about different rows,
// and their noise is independent.
func (g Growing) Candidate(ctx context.Context, touched period.Ranges, s Settings) (Candidate, error) {
	c := Candidate{Origin: FromRelease, Name: g.Name, Kind: g.Kind, Columns: g.Columns}
	if missing := touched.Minus(g.Built); len(missing) > 0 { // a domain may have 2^60 periods
		c.Refusal = g.Lacks(missing)
		return c, nil
	}
	if hull, _ := touched.Hull(); touched.Count() == 1 {
		one, err := g.One(ctx, hull.First)
		one.Name, one.Columns = g.Name, g.Columns
		one.Note = JoinNotes(one.Note, "part "+g.Partition.Text(hull))
		return one, err
	}
	var all []placed
	support := new(big.Int)
	for n := range touched.Each() {
		p, size, refusal, err := g.place(ctx, n)
		if err != nil {
			return c.Failed(err)
		}
		if refusal != "" {
			c.Refusal = refusal
			return c, nil
		}
		support.Add(support, size)
		all = append(all, p)
	}
	c.Support = SupportSize{M: support}
	c.Note = fmt.Sprintf("%d parts, %s", len(all), PeriodNames(g.Partition, touched))
	e, err := added(ctx, all, s.Confidence)
	if err != nil {
		return c.Failed(err)
	}
	c.Margin, c.Known, c.Answer = e.Error.Reach(), e.Verified, AnsweredBy(e)
	for n := range touched.Each() { // the running one, at most
		c = c.Dated(g.AsOf(n))
	}
	return c.Marked(s), nil
}

// placed is a part of a release with its share of a query.
type placed struct {
	Answers
	query query.Query
}

// place takes a query to a part. It returns m there, or the reason why the part cannot answer.
func (g Growing) place(ctx context.Context, n int64) (p placed, size *big.Int, refusal string, err error) {
	part, q, ok := g.Part(n)
	if !ok {
		return p, nil, "", sqlerr.New(sqlerr.Internal, "a part has no values of the query")
	}
	see := part.Kind.Cover(q, part.Columns, part.MaxSupport)
	where := ", in " + g.Partition.Text(period.Only(n))
	if see.Refusal != "" {
		return p, nil, see.Refusal + where, nil
	}
	if part.Waits != "" {
		return p, nil, part.Waits, nil
	}
	if p.Answers, err = part.Load(ctx); err != nil {
		return p, nil, "", err
	}
	if see = p.Cover(see); see.Refusal != "" {
		return p, nil, see.Refusal + where, nil
	}
	if p.query, size = see.Query, see.Size.M; size == nil {
		size = new(big.Int)
		if known := SupportOf(see.Query); known.M != nil {
			size = known.M
		}
	}
	return p, size, "", nil
}

// added adds the answers of several parts.
func added(ctx context.Context, all []placed, confidence float64) (Estimate, error) {
	queries, parts := make([]query.Query, len(all)), make([]Answers, len(all))
	for i, p := range all {
		queries[i], parts[i] = p.query, p.Answers
	}
	ask := func(confidence float64) (Estimate, error) {
		return parts[0].Add(ctx, parts, queries, confidence)
	}
	e, err := ask(confidence)
	e.At = func(confidence float64) (post.Interval, error) {
		other, err := ask(confidence)
		return other.Error, err
	}
	return e, err
}

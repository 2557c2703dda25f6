package answer

import (
	"context"
	"encoding/json"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// places returns the scale of a distribution, as the first ordinal and their number: the places are the values that the column has in the query's
// records, from the least to the greatest.
func (r Request) places() (first, places uint64) {
	ranges := r.Query.Values(r.column).Ranges()
	first = ranges[0].First
	return first, ranges[len(ranges)-1].Last - first + 1
}

// cut returns the requests for the numbers of records at the places up to one, and behind it.
func (r Request) cut(first, place uint64) (below, above Request, err error) {
	d := r.Table.Universe.Columns()[r.column].Domain
	below, above = r, r
	below.Question, above.Question = sqlfront.Weight, sqlfront.Weight
	at := d.Value(first + place)
	least, err := d.Less(at, true)
	if err != nil {
		return below, above, err
	}
	rest, err := d.Greater(at, false)
	if err != nil {
		return below, above, err
	}
	if below.Query, err = r.Query.And(query.Where(r.Table.Universe, r.column, least)); err != nil {
		return below, above, err
	}
	above.Query, err = r.Query.And(query.Where(r.Table.Universe, r.column, rest))
	return below, above, err
}

// distributions lists the ways to answer a request for a distribution: stored ones, releases,
// and a tree of counts that is bought. A mechanism has none: each of its runs would go to one
// cut.
func (db *Database) distributions(ctx context.Context, v *view.View, r Request) (all []Candidate, err error) {
	if !r.fresh {
		trees, err := db.store.Answers(ctx, r.Table.ID, r.text())
		if err != nil {
			return nil, err
		}
		for _, a := range trees {
			e, margin, err := treeEstimate(r, a)
			if err != nil {
				return nil, err
			}
			all = append(all, Candidate{Origin: fromStored, Name: a.Via, Kind: "direct", support: view.SupportOf(r.Query),
				Margin: margin, Known: true, Note: JoinNotes(rankNote, StoredNote), Answer: answeredBy(e)})
		}
	}
	for i := range v.Releases {
		rel := &v.Releases[i]
		if rel.TableID != r.Table.ID || !r.considers(rel.Using, rel.Name) {
			continue
		}
		c, unbuilt, err := db.rehearsed.candidate(r, Unbuilt{syntax.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
		if !unbuilt {
			c, err = db.distributionOf(ctx, r, rel)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if r.Table.Source == "" || !r.considers("direct", "direct") {
		return all, nil
	}
	c := db.direct(v, r)
	c.Note = JoinNotes(rankNote, c.Note)
	return append(all, c), nil
}

// distributionOf returns the candidate of a release for a distribution. Its margin is that
// of a rank: the largest error of the counts on both sides of the middle of the places, at
// the confidence that each of them needs.
func (db *Database) distributionOf(ctx context.Context, r Request, rel *catalog.Release) (Candidate, error) {
	first, places := r.places()
	whole := r
	whole.Question = sqlfront.Weight
	c, err := db.fromRelease(ctx, whole, rel)
	if err != nil || c.Refusal != "" {
		return c, err
	}
	below, above, err := r.cut(first, (places-1)/2)
	if err != nil {
		return c.failed(err)
	}
	c.Margin = 0
	for _, half := range []Request{below, above} {
		half.Settings.Confidence = post.RankConfidence(int64(places), r.Settings.Confidence)
		one, err := db.count(ctx, half, rel)
		if err != nil || one.Refusal != "" {
			c.Refusal, c.failure = one.Refusal, one.failure
			return c, err
		}
		c.Margin, c.Known = max(c.Margin, one.Margin), c.Known && one.Known
	}
	c.simulated = 0
	whole.Settings.Accuracy = 0
	c.Note = JoinNotes(rankNote, c.Note)
	c.Answer = func(ctx context.Context) (reply, error) {
		out, err := db.countBy(ctx, whole, rel)
		out.distribution = db.evaluated(context.WithoutCancel(ctx), r, rel, first, places)
		return out, err
	}
	return c, nil
}

const rankNote = "margin of ranks, in rows"

// count returns the candidate of a release for a count, which may be of no records.
func (db *Database) count(ctx context.Context, r Request, rel *catalog.Release) (Candidate, error) {
	if r.Query.Equal(query.None(r.Table.Universe)) {
		return constant(0), nil
	}
	return db.fromRelease(ctx, r, rel)
}

// countBy returns a release's answer to a count.
func (db *Database) countBy(ctx context.Context, r Request, rel *catalog.Release) (reply, error) {
	c, err := db.count(ctx, r, rel)
	if err != nil {
		return reply{}, err
	}
	if c.Refusal != "" {
		return reply{}, sqlerr.New(sqlerr.Uncovered, "release %s: %s", c.Name, c.Refusal)
	}
	return c.Answer(ctx)
}

// evaluated returns a function for the distribution that a release has. It evaluates a cut
// when it is asked for, and remembers it.
func (db *Database) evaluated(ctx context.Context, r Request, rel *catalog.Release, first, places uint64) func(Settings) *post.Distribution {
	return func(s Settings) *post.Distribution {
		s.Clamp = false
		known := make(map[int64][2]post.Answer)
		count := func(half Request) (post.Answer, bool) {
			half.Settings.Accuracy = 0
			half.Settings.Confidence = post.RankConfidence(int64(places), s.Confidence)
			out, err := db.countBy(ctx, half, rel)
			if err != nil {
				return post.Answer{}, false
			}
			a := &linear{Request: half}
			return a.converted(out.Estimate, s), true
		}
		return &post.Distribution{Places: int64(places), Values: r.valuesFrom(first, 1),
			Split: func(place int64) (below, above post.Answer, ok bool) {
				if both, ok := known[place]; ok {
					return both[0], both[1], true
				}
				lower, upper, err := r.cut(first, uint64(place))
				if err != nil {
					return below, above, false
				}
				below, ok = count(lower)
				if ok {
					above, ok = count(upper)
				}
				if ok {
					known[place] = [2]post.Answer{below, above}
				}
				return below, above, ok
			}}
	}
}

// valuesFrom returns the values of places of a width, the first of which begins at an ordinal.
func (r Request) valuesFrom(first, width uint64) func(place int64) (least, most float64) {
	c := r.Table.Universe.Columns()[r.column]
	return func(place int64) (least, most float64) {
		from := first + uint64(place)*width
		return post.Values(c, from, min(from+width, c.Domain.Size())-1)
	}
}

// maxPlaces bounds the places of a tree that is bought. More values share places evenly.
const maxPlaces = 1 << 12

// treePlaces are the places of a tree: the first ordinal of the first, and the number of
// ordinals in each but perhaps the last.
type treePlaces struct {
	First uint64 `json:"first"`
	Width uint64 `json:"width"`
	End   uint64 `json:"end"` // the ordinal behind the last
}

// tree returns the tree that is bought for a request.
func (r Request) tree() (direct.Tree, treePlaces) {
	first, values := r.places()
	width := (values + maxPlaces - 1) / maxPlaces
	return direct.NewTree(int64((values + width - 1) / width)), treePlaces{first, width, first + values}
}

// treeCounts is what is stored of a distribution that was bought.
type treeCounts struct {
	treePlaces
	Branch int64   `json:"branch"`
	Law    string  `json:"law"`
	Counts []int64 `json:"counts"`
}

// nodes returns the queries of the nodes of the tree.
func (r Request) nodes() ([]query.Query, error) {
	tree, at := r.tree()
	d := r.Table.Universe.Columns()[r.column].Domain
	queries := make([]query.Query, 0, tree.Nodes())
	return queries, tree.Each(func(first, last int64) error {
		from, err := d.Greater(d.Value(at.First+uint64(first)*at.Width), true)
		if err != nil {
			return err
		}
		to, err := d.Less(d.Value(min(at.First+uint64(last+1)*at.Width, at.End)-1), true)
		if err != nil {
			return err
		}
		q, err := r.Query.And(query.Where(r.Table.Universe, r.column, from.Intersect(to)))
		queries = append(queries, q)
		return err
	})
}

// priceOfTrees returns the price of the distributions of disjoint groups of rows.
func (db *Database) priceOfTrees(requests []Request, accuracy float64) price {
	var trees []direct.Tree
	var confidences []float64
	for _, r := range requests {
		tree, _ := r.tree()
		trees, confidences = append(trees, tree), append(confidences, post.RankConfidence(tree.Places, r.Settings.Confidence))
	}
	p, ok := direct.PlanForTrees(trees, accuracy, confidences, requests[0].Table.Sensitivity())
	return price{p, ok}
}

// storedTree returns noisy counts of the nodes of the tree as the catalog keeps them.
func (p price) storedTree(r Request, counts []int64) (catalog.Answer, error) {
	tree, at := r.tree()
	law, err := json.Marshal(treeCounts{at, tree.Branch, p.Law.String(), counts})
	n, _, _, _ := tree.Cut(counts, tree.Places-1)
	return catalog.Answer{TableID: r.Table.ID, Query: r.text(), Kind: catalog.AnswerTree, Via: "direct", Estimate: n, Law: law}, err
}

// treeEstimate returns a stored distribution, and the margin of its ranks.
func treeEstimate(r Request, a catalog.Answer) (e Estimate, margin float64, err error) {
	damaged := sqlerr.New(sqlerr.Corrupt, "a stored distribution cannot be read")
	var c treeCounts
	if a.Kind != catalog.AnswerTree || json.Unmarshal(a.Law, &c) != nil {
		return e, 0, damaged
	}
	d := r.Table.Universe.Columns()[r.column].Domain
	if c.Width < 1 || c.First >= c.End || c.End > d.Size() {
		return e, 0, damaged
	}
	tree := direct.Tree{Places: int64((c.End - c.First + c.Width - 1) / c.Width), Branch: c.Branch}
	law, err := noise.ParseLaw(c.Law)
	if err != nil || !tree.Valid() || int64(len(c.Counts)) != tree.Nodes() {
		return e, 0, damaged
	}
	sum := func(value, nodes int64) post.Answer {
		return post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
			width, ok := direct.Bound(law, nodes, confidence)
			return post.Within(width), ok
		}}
	}
	distribution := &post.Distribution{Places: tree.Places, Values: r.valuesFrom(c.First, c.Width),
		Split: func(place int64) (below, above post.Answer, ok bool) {
			b, a, n, m := tree.Cut(c.Counts, place)
			return sum(b, n), sum(a, m), true
		}}
	all, _, _ := distribution.Split(tree.Places - 1)
	width, known := all.Error(r.Settings.Confidence)
	margin, also := direct.Bound(law, tree.Most(), post.RankConfidence(tree.Places, r.Settings.Confidence))
	if !known || !also {
		return e, 0, damaged
	}
	return Estimate{Value: a.Estimate, Error: width, Verified: true, distribution: func(Settings) *post.Distribution { return distribution },
		at: func(confidence float64) (post.Interval, error) {
			width, _ := all.Error(confidence)
			return width, nil
		}}, margin, nil
}

// maxNodes bounds the counts of the trees that a statement buys.
const maxNodes = 1 << 17

// bearable refuses to buy answers with trees of too many counts. The number is public.
func (st *Statement) bearable(bought []int) error {
	nodes := int64(0)
	for _, n := range bought {
		if a := st.Asks[n]; a.Question == sqlfront.Order {
			tree, _ := a.tree()
			nodes += tree.Nodes()
		}
	}
	if nodes <= maxNodes {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "quantiles of so many values in so many groups cannot be bought: they need %d counts, at most %d", nodes, maxNodes).
		WithHint("select fewer groups in WHERE, or create a release, which has all of them")
}

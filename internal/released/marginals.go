package released

import (
	"cmp"
	"fmt"
	"slices"
)

// MarginalsAbout describes a release of marginals in the catalog, for people.
type MarginalsAbout struct {
	Marginals int    `json:"marginals"` // the number measured
	Cells     int    `json:"cells"`     // over all marginals
	Law       string `json:"law"`
	Estimate  string `json:"estimate"`            // fitted or unbiased
	Settled   bool   `json:"settled"`             // the fit ended near its optimum
	Unfitted  bool   `json:"unfitted,omitempty"`  // the table is yet to be fitted
	OnDemand  bool   `json:"on_demand,omitempty"` // no table is stored: one is fitted for each question
	Larger    int    `json:"larger,omitempty"`    // marginals above max_cells, whose parts were measured

	Keys []PublishedKeys `json:"keys,omitempty"` // of the columns that were declared without domain
}

// PublishedKeys describes the keys of a column.
type PublishedKeys struct {
	Column  string `json:"column"`
	Release string `json:"release"` // that published them, by its name when they were taken
	Count   int    `json:"count"`
}

// Shape summarises what was measured.
func (p MarginalsAbout) Shape() string {
	text := fmt.Sprintf("%d marginals of %d cells, ", p.Marginals, p.Cells)
	if p.Larger > 0 {
		text += fmt.Sprintf("%d larger ones by their parts, ", p.Larger)
	}
	for _, k := range p.Keys {
		text += fmt.Sprintf("%d keys of %s from %s, ", k.Count, k.Column, k.Release)
	}
	return text + p.Answers()
}

// Answers says what answers queries.
func (p MarginalsAbout) Answers() string {
	switch {
	case p.Unfitted:
		return "not fitted yet"
	case p.OnDemand:
		return p.Estimate + ", tables on demand"
	}
	return p.Estimate
}

// Among returns what sets of columns have in common with some columns, by their places
// there. No set is within another.
func Among(sets [][]int, rest []int) [][]int {
	var all [][]int
	for _, set := range sets {
		var places []int
		for i, c := range rest {
			if slices.Contains(set, c) {
				places = append(places, i)
			}
		}
		all = append(all, places)
	}
	return Maximal(all)
}

// Maximal sorts sets, the larger ones first, and returns those that no other one contains, each
// once.
func Maximal(all [][]int) [][]int {
	slices.SortFunc(all, func(a, b []int) int { return cmp.Or(len(b)-len(a), slices.Compare(a, b)) })
	kept := [][]int{}
	for _, set := range all {
		if !slices.ContainsFunc(kept, func(of []int) bool { return within(set, of) }) {
			kept = append(kept, set)
		}
	}
	return kept
}

// within reports whether all of a set are in another.
func within(set, of []int) bool {
	return !slices.ContainsFunc(set, func(c int) bool { return !slices.Contains(of, c) })
}

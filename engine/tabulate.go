package engine

import (
	"strings"

	"dpsql/engine/internal/view"
	"dpsql/post"
)

// result computes the rows of a statement from the answers to its queries, and
// says how these came about.
func (st *statement) result(answers []estimate) *Result {
	table := st.bound.Output.Run(st.groups(answers), st.settings.Confidence)
	out := &Result{Warnings: st.bound.Warnings, Rows: table.Rows, Answer: &Answer{
		Margins: table.Margins, Confidence: st.settings.Confidence, Support: st.support(), Verified: true,
		Cost: Cost{st.cost.Epsilon.Float(), st.cost.Rho.Float()}}}
	if st.table.MaxRows > 0 {
		out.Answer.Kept = Kept{st.table.Unit, st.table.MaxRows}
	}
	columns := st.bound.Output.Columns
	out.Columns, out.Answer.NotNull = make([]Column, len(columns)), make([]bool, len(columns))
	for i, c := range columns {
		out.Columns[i] = Column{c.Name, string(c.Value.Type())}
		out.Answer.NotNull[i] = post.NeverNull(c.Value)
	}
	out.Answer.Via, out.Answer.Mechanism = st.origin()
	out.Answer.Released = st.released()
	for _, e := range answers {
		out.Answer.Verified = out.Answer.Verified && e.verified
	}
	return out
}

// groups gives each group its keys and answers.
func (st *statement) groups(answers []estimate) []post.Group {
	converted := make([]post.Answer, len(answers))
	for i, e := range answers {
		converted[i] = st.asks[i].converted(e, st.settings.Clamp)
	}
	slots := len(st.bound.Slots)
	groups := make([]post.Group, len(st.bound.Groups))
	for g, keys := range st.bound.Groups {
		groups[g] = post.Group{Keys: keys, Answers: make([]post.Answer, slots)}
		for k := range slots {
			groups[g].Answers[k] = converted[st.index[g*slots+k]]
		}
	}
	return groups
}

// converted is an answer as rows are computed from it. No count is negative, so
// that one that is clamped is no further from the truth.
func (a *linear) converted(e estimate, clamp bool) post.Answer {
	value := e.value
	if clamp {
		value = max(0, value)
	}
	return post.Answer{Value: value, HalfWidth: func(confidence float64) (float64, bool) {
		if !e.verified {
			return 0, false
		}
		if confidence == a.settings.Confidence {
			return e.margin, true
		}
		width, err := e.at(confidence)
		return width, err == nil
	}}
}

// origin names what answered, and its kinds; what is constant is named where
// there is nothing else.
func (st *statement) origin() (via, kind string) {
	if len(st.asks) == 1 {
		return st.asks[0].best.name, st.asks[0].best.kind
	}
	var names, kinds []string
	for i := range st.asks {
		if c := st.asks[i].best; c.origin != fromConstant {
			names, kinds = appendNew(names, c.name), appendNew(kinds, c.kind)
		}
	}
	if len(names) == 0 {
		return "constant", "constant"
	}
	return strings.Join(names, ", "), strings.Join(kinds, ", ")
}

// released reports whether releases alone answer, beside what is constant.
func (st *statement) released() bool {
	found := false
	for i := range st.asks {
		switch st.asks[i].best.origin {
		case fromRelease:
			found = true
		case fromConstant:
		default:
			return false
		}
	}
	return found
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// support returns m of the statement's queries: one number, or the least and
// the largest.
func (st *statement) support() string {
	if len(st.asks) == 1 {
		return st.asks[0].best.support.String()
	}
	var all view.SupportRange
	for i := range st.asks {
		if c := st.asks[i].best; c.origin != fromConstant {
			all.Add(c.support)
		}
	}
	if !all.Least.Known() {
		return "0"
	}
	return all.String()
}

package released

import (
	"strings"

	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// Answered is the answer to one of a statement's queries.
type Answered struct {
	Estimate
	Confidence float64    // at which its Error holds
	By         *Candidate // that gave it
}

// Rows computes the rows of a SELECT from answers to its queries, with margins at a confidence. index
// has, for each query of the SELECT, its answer's place. The Answer of the result has what is shaped as the rows.
func Rows(b *sqlfront.Bound, index []int, answers []Answered, s Settings, confidence float64) *Result {
	table := b.Output.Run(groups(b, index, answers, s), confidence)
	out := &Result{Rows: table.Rows, Columns: ColumnsOf(b), Answer: &Answer{Margins: table.Margins, Intervals: table.Intervals, Bounds: table.Bounds}}
	out.Answer.NotNull = make([]bool, len(b.Output.Columns))
	for i, c := range b.Output.Columns {
		out.Answer.NotNull[i] = post.NeverNull(c.Value)
	}
	return out
}

// ColumnsOf returns the columns of a SELECT.
func ColumnsOf(b *sqlfront.Bound) []Column {
	columns := make([]Column, len(b.Output.Columns))
	for i, c := range b.Output.Columns {
		columns[i] = Column{c.Name, string(c.Value.Type()), b.Types[i]}
	}
	return columns
}

// groups returns the keys and answers of each group of a SELECT.
func groups(b *sqlfront.Bound, index []int, answers []Answered, s Settings) []post.Group {
	converted := make([]post.Answer, len(answers))
	for _, n := range index {
		if converted[n].Error == nil {
			converted[n] = Converted(answers[n].Estimate, answers[n].Confidence, s)
		}
	}
	slots := b.Width()
	groups := make([]post.Group, len(b.Groups))
	for g, keys := range b.Groups {
		groups[g] = post.Group{Keys: keys, Answers: make([]post.Answer, slots)}
		for k := range slots {
			groups[g].Answers[k] = converted[index[g*slots+k]]
		}
	}
	return groups
}

// Converted returns an estimate, whose Error holds at a confidence, in the form that rows are computed from.
func Converted(e Estimate, known float64, s Settings) post.Answer {
	last := struct { // what was last computed: MARGIN, LOW and HIGH ask for the same
		confidence float64
		by         post.Interval
		known      bool
	}{}
	miss := func(confidence float64) (post.Interval, bool) {
		if !e.Verified {
			return post.Interval{}, false
		}
		if byTheorem := s.Margins != Simulated || e.Simulated == nil; byTheorem && confidence == known {
			return e.Error, true
		}
		if last.confidence != confidence {
			last.confidence = confidence
			last.by, last.known = e.Missed(confidence, s.Margins)
		}
		return last.by, last.known
	}
	out := post.Answer{Value: e.Value, Error: miss}
	if s.Clamp {
		out = clamped(e.Value, miss)
	}
	if e.Distribution != nil {
		out.Distribution = e.Distribution(s)
	}
	return out
}

// clamped returns an answer that is not negative, as counts are. The interval moves with
// the estimate and ends at 0, so that clamping takes neither away from the truth.
func clamped(value int64, err func(confidence float64) (post.Interval, bool)) post.Answer {
	value = max(0, value)
	return post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
		miss, known := err(confidence)
		miss.High = max(miss.High, -float64(value))
		miss.Low = max(miss.Low, -float64(value))
		return miss, known
	}}
}

// Describe describes how answers came about, whatever is computed from them. It leaves what has the
// shape of rows, what the statement cost, and which rows the answers are about.
func Describe(answers []Answered, s Settings) Answer {
	how := Answer{Confidence: s.Confidence, Verified: true}
	var support SupportRange
	others := false
	for _, a := range answers {
		if !a.AsOf.IsZero() && (how.AsOf.IsZero() || a.AsOf.Before(how.AsOf)) {
			how.AsOf = a.AsOf
		}
		how.Verified = how.Verified && a.Verified
		if a.Verified && (a.Error.Low > 0 || a.Error.High < 0) {
			how.Apart++
		}
		how.Simulated = how.Simulated || s.Margins == Simulated && a.Simulated != nil
		if a.By.Origin != FromConstant {
			support.Add(a.By.Support)
			how.Released = true
			others = others || a.By.Origin != FromRelease
		}
	}
	how.Released = how.Released && !others
	if how.Support = "0"; support.Least.Known() {
		how.Support = support.String()
	}
	how.Via, how.Mechanism = Sources(answers)
	return how
}

// Sources returns the names and kinds of the candidates that answered. It names a constant
// only if nothing else answered.
func Sources(answers []Answered) (via, kind string) {
	if len(answers) == 1 {
		return answers[0].By.Name, answers[0].By.Kind
	}
	var names, kinds []string
	for _, a := range answers {
		if a.By.Origin != FromConstant {
			names, kinds = a.By.Named(names, kinds)
		}
	}
	if len(names) == 0 {
		return "constant", "constant"
	}
	return strings.Join(names, ", "), strings.Join(kinds, ", ")
}

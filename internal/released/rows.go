package released

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// Result is the result of one statement: its rows, if it has any, and for a private answer
// how it came about.
type Result struct {
	Columns  []Column // empty for a statement without rows
	Rows     [][]any  // int64, float64, string or nil
	Answer   *Answer  // nil unless the rows are a private answer
	Brief    *Result  // the columns and rows as a table for people has them; nil if they are those above
	Note     string   // what a statement without rows did, or what is to be known beside rows, in one line; "" if there is nothing to say
	Paid     string   // what a release cost, its margins and what is left, for a person at a terminal; "" otherwise
	Warnings []string
	Elapsed  time.Duration // how long the statement took; 0 for the analyst role, which is not told times
	// Total is what a rehearsal would spend over all accounts, as epsilon, delta and rho; nil for other rows.
	Total map[string]float64
}

// Column is a column of a result.
type Column struct {
	Name string
	Type string        // "INTEGER", "REAL" or "TEXT"; see Value
	SQL  query.SQLType // known before the statement runs
}

// ColumnOf returns a column of a list, whose type is INTEGER, REAL, TEXT, or DECIMAL: a REAL whose values are texts with
// all digits, see Value.
func ColumnOf(name, typ string) Column {
	sql := query.SQLText
	switch typ {
	case "INTEGER":
		sql = query.SQLInt8
	case "REAL":
		sql = query.SQLFloat8
	case "DECIMAL":
		typ = "REAL"
	}
	return Column{name, typ, sql}
}

// Value returns a value of the column for programs: what a list has in a column of numbers as a text with all digits is an
// int64 or a float64.
func (c Column) Value(v any) any {
	text, ok := v.(string)
	if !ok || c.SQL != query.SQLText {
		return v
	}
	switch c.Type {
	case "INTEGER":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "REAL":
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
	}
	return v
}

// Answer describes how a differentially private answer came about.
type Answer struct {
	Margins    [][]any   // shaped as Rows: the larger distance of an end of the interval (float64; in days for a Span), or nil if none is known or the value is public
	Intervals  [][]any   // shaped as Rows, an Interval or a Span, an Unknown, or nil for NULL and public values: what holds the true value, and the value, which need not be its middle
	Bounds     [][]any   // shaped as Rows, a Bound for each MARGIN, LOW and HIGH in the select list; nil if it has none
	NotNull    []bool    // one for each column: none of its values can be NULL
	Confidence float64   // the probability that a true value lies within its interval, for each value on its own
	Via        string    // the release or mechanism, "direct", or "constant" for an empty query; several are joined by ", "
	Mechanism  string    // "projection", "marginals", "smw", "direct" or "constant"; several are joined by ", "
	Support    string    // m, the sparsity of the query, in decimal, or "infinite"; "least to largest" for several queries
	Cost       Cost      // the charge for this statement; see Cost
	Verified   bool      // false if a value has no margin, for example after a mechanism's last run
	Apart      int       // how many of the answers that numbers are made of a fit has outside their proven intervals
	Simulated  bool      // margins come from simulations; no theorem supports them
	Released   bool      // releases gave all the answers
	AsOf       time.Time // when rows were read of periods that had not ended, so that more may have come; zero if there are none
	Kept       []Kept    // for each table of whose rows only some count
	Warnings   []string  // those of the Result, for callers who have no more than the Answer
}

// Bound says how to round a MARGIN, LOW or HIGH.
type Bound = post.Bound

// Interval is a closed interval of numbers.
type Interval = post.Interval

// Span is an interval of dates or timestamps, as they are shown.
type Span = post.Span

// Unknown says why a number has no interval.
type Unknown = post.Unknown

// Unknown returns why numbers have no interval, but for those that are unverified: each reason once.
func (a *Answer) Unknown() (why []string) {
	for _, row := range a.Intervals {
		for _, i := range row {
			if u, ok := i.(Unknown); ok && u != post.Unproven && !slices.Contains(why, string(u)) {
				why = append(why, string(u))
			}
		}
	}
	return why
}

// Kept describes which rows of a table answers are about. It is public: the table's
// declaration states it.
type Kept struct {
	Table   string
	Unit    string // the column that identifies a unit
	MaxRows int64  // the number of rows kept for each unit
	Period  string // what each unit keeps as many in: "month"; "" for all rows together
}

// Cost is the charge for a statement: what its run added to the ledger. An interrupted run has charged, and
// said so in its error; the run that its charge then serves costs 0. So the costs of all runs and errors
// add up to what was spent.
type Cost struct {
	Epsilon float64 // nats, releases account
	Rho     float64 // zero-concentrated divergence, interactive account
}

// String returns the cost as people read it: "0", "ε 0.1", "ρ 0.002", or both.
func (c Cost) String() string {
	var parts []string
	if c.Epsilon != 0 {
		parts = append(parts, fmt.Sprintf("ε %.2g", c.Epsilon))
	}
	if c.Rho != 0 {
		parts = append(parts, fmt.Sprintf("ρ %.2g", c.Rho))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, " and ")
}

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

// Selected is Rows with the description of how the answers came about. What they cost, and which rows they
// are about, it leaves to the caller.
func Selected(b *sqlfront.Bound, index []int, answers []Answered, s Settings) *Result {
	out := Rows(b, index, answers, s, s.Confidence)
	how := Describe(answers, s)
	how.Margins, how.Intervals, how.Bounds, how.NotNull = out.Answer.Margins, out.Answer.Intervals, out.Answer.Bounds, out.Answer.NotNull
	out.Answer, out.Warnings = &how, b.Warnings
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
	out := post.Answer{Value: e.Value, Error: miss, Less: e.Off}
	if s.Clamp && e.Off == nil {
		out = clamped(e.Value, miss)
	}
	if out.Value == e.Value { // a number that was moved has other noise
		out.Variance = e.Variance
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
	how.Via, how.Mechanism = sources(answers)
	return how
}

// sources returns the names and kinds of the candidates that answered. It names a constant
// only if nothing else answered.
func sources(answers []Answered) (via, kind string) {
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

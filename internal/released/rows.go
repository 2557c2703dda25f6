package released

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
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
	Price *Price // of EXPLAIN, what the statement would take now; nil if nothing answers it
}

// Price is what a statement takes from budgets and quotas.
type Price struct {
	Known bool           // false if it follows from answers that are bought first
	Rho   accounting.Rho // 0 if it is free
	Left  accounting.Rho // of the purse that it takes the largest part of, before it takes it; 0 if it is free
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

// Selection is a SELECT with the values of its parameters.
type Selection struct {
	Select *syntax.Select
	Args   []query.Value
	// Described says that the SELECT is not to be answered, and that its arguments are not known.
	Described bool
}

// Bind binds a SELECT to its table.
func (s Selection) Bind(t sqlfront.Table) (*sqlfront.Bound, error) {
	if s.Described {
		return sqlfront.Describe(s.Select, t)
	}
	return sqlfront.Bind(s.Select, t, s.Args)
}

// NotBound is the error of a SELECT that cannot be bound, so that nothing was planned.
type NotBound struct{ error }

// Unbound returns an error as a NotBound.
func Unbound(err error) NotBound { return NotBound{err} }

// Unwrap returns the reason.
func (e NotBound) Unwrap() error { return e.error }

// Part is a bound SELECT of a statement.
type Part struct {
	Bound *sqlfront.Bound
	Index []int // for each of Bound.Queries, the place of its answer among those of the statement
}

// Joint are the answers to the SELECTs of a statement.
type Joint struct {
	Parts    []Part
	Answers  []Answered // to the distinct queries of all parts
	Settings Settings
	Cost     Cost
	Kept     []Kept
}

// Result computes the rows of a statement of one SELECT, and describes how they came about.
func (j Joint) Result() *Result {
	out, how := j.Rows(0, j.Settings.Confidence), j.How()
	how.Margins, how.Intervals, how.Bounds, how.NotNull = out.Answer.Margins, out.Answer.Intervals, out.Answer.Bounds, out.Answer.NotNull
	out.Answer, out.Warnings = how, j.Warnings()
	return out
}

// Rows computes the rows of SELECT i, with margins at a confidence. Of the Answer it sets what is shaped as the rows.
func (j Joint) Rows(i int, confidence float64) *Result {
	return Rows(j.Parts[i].Bound, j.Parts[i].Index, j.Answers, j.Settings, confidence)
}

// How describes how the answers came about, whatever is computed from them. It leaves what has the shape of rows.
func (j Joint) How() *Answer {
	how := Describe(j.Answers, j.Settings)
	how.Cost, how.Kept = j.Cost, j.Kept
	return &how
}

// Warnings returns the warnings of all SELECTs.
func (j Joint) Warnings() (all []string) {
	if len(j.Parts) == 1 {
		return j.Parts[0].Bound.Warnings
	}
	for _, p := range j.Parts {
		for _, w := range p.Bound.Warnings {
			all = AppendNew(all, w)
		}
	}
	return all
}

// Surrounded is a statement as package around understands it.
type Surrounded struct {
	*around.Statement
	Why error // why it is not a private aggregate
}

// Query is a query that was read.
type Query struct {
	Read   *syntax.Reading
	Around func() (*around.Statement, error) // the query as one with surroundings
}

// Check refuses a query that can be neither a private aggregate nor a statement with surroundings: for the reason why
// not the latter, if it begins with VALUES, as no aggregate does.
func (q Query) Check() error {
	if q.Read.Why == nil {
		return nil
	}
	if _, err := q.Around(); err == nil || q.Read.Tokens[0].Matches("VALUES") {
		return err
	}
	return q.Read.Why
}

// meant returns the SELECT that a query is if it may be one private aggregate, or else the query as a
// statement with surroundings: if its text shows already that no SELECT of it can be bound. Binding
// it in vain took 0.3 ms where it joins a public table, a fifth of what its answer takes
// (BenchmarkSurrounded).
func (q Query) meant() (*syntax.Select, Surrounded) {
	var sel *syntax.Select
	switch st := q.Read.Statement.(type) {
	case *syntax.Select:
		sel = st
	case *syntax.Explain:
		sel = st.Select
	}
	if sel != nil && !sel.Composed() {
		return sel, Surrounded{}
	}
	parsed, err := q.Around()
	if err != nil {
		return sel, Surrounded{} // binding says more
	}
	return nil, Surrounded{parsed, q.Read.Why}
}

// instead returns a SELECT that cannot be bound, for the reason why, as a statement with
// surroundings. It is false if it can be none, or for any other error. Whether a SELECT can be bound
// follows from its text, its arguments and the catalog.
func (q Query) instead(why error) (Surrounded, bool) {
	var refused NotBound
	if !errors.As(why, &refused) {
		return Surrounded{}, false
	}
	parsed, err := q.Around()
	return Surrounded{parsed, why}, err == nil
}

// Either has a query done alone, as the private aggregate that it may be, or else as a statement with
// surroundings.
func Either[R any](q Query, alone func(*syntax.Select) (R, error), around func(Surrounded) (R, error)) (R, error) {
	sel, st := q.meant()
	if sel == nil {
		return around(st)
	}
	out, err := alone(sel)
	if st, ok := q.instead(err); ok {
		return around(st)
	}
	return out, err
}

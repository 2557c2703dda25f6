package sqlfront

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// Table describes a private table to Bind.
type Table interface {
	Name() string
	Universe() *query.Universe
}

// Unit is a Table whose rows belong to units.
type Unit interface {
	// Unit returns the name of the column that identifies a unit, declared or not, or "".
	Unit() string
}

// Undecided is a Table that may have columns whose domain is not known yet. A
// rehearsed script declares such tables.
type Undecided interface {
	// Undecided reports whether the domain of the column is not known yet.
	Undecided(column int) bool
}

// Listed is a Table with columns that have no domain, of which keys are listed: in public tables,
// or in releases.
type Listed interface {
	// Keys returns the listed keys of a column, in any order and possibly some twice, and the
	// names of the lists, of which there may be none.
	Keys(column int) (keys []query.Value, lists []string, err error)
}

// UndecidedError reports that a SELECT names a column whose domain is not known
// yet, so that it cannot be bound.
type UndecidedError struct {
	Column int    // of the table
	Name   string // of the column
}

// Error implements error.
func (e *UndecidedError) Error() string {
	return "the domain of column " + e.Name + " is not known yet"
}

// Worker is a Table that is told that compiling takes long.
type Worker interface {
	// Working is called now and then while a statement is compiled. An error ends that.
	Working() error
}

// Publics is a Table whose SELECTs may join public tables.
type Publics interface {
	// Public returns the content of a public table in the same snapshot of the
	// catalog. It is nil if no public table has the name.
	Public(name string) (*PublicRows, error)
}

// Bound is a SELECT as linear queries over its table's universe. The engine
// answers the queries, and Output computes the rows from the answers alone.
//
// Queries has Width queries of each group, one after the other: each of them is one
// number that Output computes with. SlotOf has their slots.
//
// Each grouping set of ROLLUP, CUBE or GROUPING SETS has groups and slots of its own.
// Any other statement has one set.
//
// Privacy. The groups of a set are disjoint: no record has a weight in the queries of
// two groups of one slot. Let W be the slot's largest weight. Then a unit of L records
// changes the slot's answers, as a vector over the groups, by at most L·W in ℓ1
// norm, however its records are spread over the groups. The ℓ2 norm is never larger.
type Bound struct {
	Queries  []query.Query
	Slots    []Slot          // those of the first grouping set, then those of the next
	Groups   [][]query.Value // the keys of each group; one group without keys if there is no GROUP BY
	Sets     []int           // the number of groups of each grouping set
	Numbers  int             // those that Queries are answered by: one each, and for DistinctValues one for each value of the column
	Output   post.Program
	Warnings []string // about literals that match nothing; at most maxWarnings

	// The types of the columns of Output, and for Describe those of the parameters. They are the
	// same for all arguments. That of a parameter is "" if nothing tells it.
	Types      []query.SQLType
	Parameters []query.SQLType
}

// Width returns the number of queries of each group.
func (b *Bound) Width() int { return len(b.Slots) / len(b.Sets) }

// SlotOf returns the slot of a query, by its index in Queries.
func (b *Bound) SlotOf(i int) int {
	width := b.Width()
	group, slot := i/width, i%width
	for _, groups := range b.Sets {
		if group < groups {
			break
		}
		group -= groups
		slot += width
	}
	return slot
}

// Question is what a slot asks about the records of its query. Only Weight is a linear
// query, which releases and mechanisms answer too.
type Question uint8

// The questions.
const (
	Weight         Question = iota // the sum of their weights
	Units                          // the number of units that have a kept record with a weight
	Order                          // how the values of a column, which they all have, are distributed among them
	DistinctValues                 // the number of values, NULL aside, that a column has in them
)

// Slot is one query of the select list, asked in each group.
type Slot struct {
	Base     query.Query // the slot's query before it is divided into groups
	Question Question    // about the records of the query
	// Scale is the width allowed to an answer's interval for each unit of SET
	// accuracy. It is 1 for a COUNT, one over the factor of the weights for a SUM, and
	// infinite for an answer that is used inside an AVG alone.
	Scale float64
	// PerRow is the width allowed for each unit of SET accuracy and each row that is averaged, of
	// an answer inside a mean; else 0.
	PerRow float64
	Rows   int    // 1 + the slot of the mean's number of rows, for the sum in a mean; else 0
	Centre Centre // of a sum that is used in a mean
	// Split is the number of answers that share the error probability of a value.
	Split  int
	Column int // of the private table, for Order and DistinctValues; else 0
}

// Centre says how the sum inside a mean is bought: less Middle for each record that counts. A
// record then changes it by at most Reach, half as much or less, and the price falls with the square.
type Centre struct {
	Middle, Reach int64 // Reach is -1 for a sum that something else uses, too: it is bought as it is. It is 0 for what is no sum in a mean
}

// binder compiles one SELECT.
type binder struct {
	s          *syntax.Select
	g          *syntax.Tokens
	table      Table
	u          *query.Universe // the table's, with the columns of joined tables behind it
	joins      joins
	read       map[string]*PublicRows // the public tables, by folded name
	args       []query.Value
	parameters []query.SQLType // of the whole statement; "" while it is not known, and nil if it has none
	describing bool            // the statement does not run: its arguments are not known
	scope      scope
	rows       query.Query // the records that pass FROM and WHERE, over u
	warnings   []string
	tests      map[testKey]pred // see whereTrue

	pass   *types.Pass // see typePass
	typing bool        // the type of an entry of the select list is being found

	undecided *UndecidedError // the first undecided column that is named; nil for none

	summing  bool // the argument of an aggregate is being compiled
	spent    *effort
	pins     map[int][]query.Value // columns without a domain that a conjunction pins, while its parts are compiled
	pinning  int                   // identifies the current pins; 0 for none
	pinnings int                   // the number of pins so far
}

func (b *binder) domain(column int) query.Domain { return b.u.Columns()[column].Domain }

// refuseUndecided refuses a column whose domain is not known yet.
func (b *binder) refuseUndecided(column int) error {
	t, ok := b.table.(Undecided)
	if !ok || column >= len(b.table.Universe().Columns()) || !t.Undecided(column) {
		return nil
	}
	b.undecided = &UndecidedError{column, b.u.Columns()[column].Name}
	return b.undecided
}

// maxWarnings bounds the warnings of one statement.
const maxWarnings = 10

// warn notes a warning once.
func (b *binder) warn(message string) {
	if len(b.warnings) < maxWarnings && !slices.Contains(b.warnings, message) {
		b.warnings = append(b.warnings, message)
	}
}

// scope holds the columns that the names in a SELECT can mean.
type scope []relation

// relation is a table or sub-select under the name that qualifies its columns.
type relation struct {
	name    string // "" for a sub-select without an alias
	private bool   // it is the private table itself
	columns []visible
}

// visible is a column of the universe under the name it has here.
type visible struct {
	name   string
	column int
}

// columnsNamed returns the columns with a name. The qualifier "" means none.
func (s scope) columnsNamed(qualifier, name string) []int {
	var columns []int
	for _, r := range s {
		if qualifier != "" && !query.SameName(r.name, qualifier) {
			continue
		}
		for _, v := range r.columns {
			if query.SameName(v.name, name) {
				columns = append(columns, v.column)
			}
		}
	}
	return columns
}

// qualifies reports whether a name qualifies columns.
func (s scope) qualifies(name string) bool {
	return slices.ContainsFunc(s, func(r relation) bool { return query.SameName(r.name, name) })
}

// column resolves a column's name.
func (b *binder) column(e *sqlparser.ColName) (int, error) {
	t, ok := b.g.Token(e.Name.String())
	if !ok {
		return 0, b.g.FirstToken(e).Unsupported("this name")
	}
	qualifier, err := b.qualifier(e.Qualifier)
	if err != nil {
		return 0, err
	}
	switch columns := b.scope.columnsNamed(qualifier, t.Value); len(columns) {
	case 0:
		return 0, sqlerr.New(sqlerr.Unknown, "no column %s in %s", syntax.Excerpt(t.Value, 40), b.scope.describe()).Of(sqlerr.Column).
			WithHint("%s", b.columnHint(t)).At(t.Position)
	case 1:
		if columns[0] == notBound {
			return 0, t.Unsupported("column "+syntax.Excerpt(t.Value, 40)+" of a public table, whose values are not all integers or all texts,").
				WithHint("declare a column of numbers with CREATE PUBLIC TABLE … (%s REAL BETWEEN 0 AND 1 STEP 0.001), or make a public view of the table with a column that is", t.Text)
		}
		return columns[0], b.refuseUndecided(columns[0])
	}
	return 0, t.Malformed("the name %s is ambiguous", syntax.Excerpt(t.Value, 40)).
		WithHint("qualify it by its table, or rename one of the columns")
}

// describe names the tables of FROM in a message.
func (s scope) describe() string {
	if s[0].name == "" {
		return "the sub-select"
	}
	if len(s) == 1 {
		return "table " + s[0].name
	}
	names := make([]string, len(s))
	for i, r := range s {
		names[i] = r.name
	}
	return "tables " + strings.Join(names, ", ")
}

// names lists the columns that can be named.
func (s scope) names() []string {
	var names []string
	for _, r := range s {
		for _, v := range r.columns {
			names = append(names, v.name)
		}
	}
	return names
}

// columnHint suggests a column for a name that is unknown.
func (b *binder) columnHint(t syntax.Token) string {
	if unit := b.unit(); unit != "" && query.SameName(unit, t.Value) {
		return unit + " says whose a row is, and no answer is about one unit alone; COUNT(DISTINCT " + unit + ") counts the units"
	}
	names := b.scope.names()
	written := make([]string, len(names))
	for i, name := range names {
		written[i] = syntax.WriteName(name)
		if before, _, more := strings.Cut(name, " "); more && query.SameName(before, t.Value) && t.Kind == syntax.KindWord {
			return "a name of several words is quoted: " + query.Quoted(name)
		}
	}
	hint := "the columns are " + syntax.Excerpt(strings.Join(written, ", "), 120)
	if near := sqlerr.Closest(t.Value, slices.Values(names)); near != "" {
		hint = "did you mean " + syntax.WriteName(near) + "?"
	}
	if t.Kind == syntax.KindQuoted && t.Text[0] == '"' {
		hint += " (a text is written in single quotes: '" + syntax.Excerpt(strings.ReplaceAll(t.Value, "'", "''"), 40) + "')"
	}
	return hint
}

// qualifier returns the text before the point of a qualified name. It must name a
// table of the FROM clause. An alias hides the table's name.
func (b *binder) qualifier(q sqlparser.TableName) (string, error) {
	if q.Name.IsEmpty() {
		return "", nil
	}
	t, ok := b.g.Token(q.Name.String())
	if !ok || !b.scope.qualifies(t.Value) {
		return "", sqlerr.New(sqlerr.Unknown, "no table or alias %s in this statement", syntax.Excerpt(t.Value, 40)).
			WithHint("its columns are qualified by %s", b.scope[0].name).At(t.Position)
	}
	if schema, ok := b.g.Token(q.Qualifier.String()); ok && !query.SameName(schema.Value, "main") {
		return "", schema.Unsupported("an attached database")
	}
	return t.Value, nil
}

// PublicRows is the content of a public table. A column that was declared with
// steps has its values in steps, as integers.
type PublicRows struct {
	Columns []string
	Steps   []*query.Steps // one per column, nil for a column without; nil if there are none
	Rows    [][]any        // int64, float64, string, []byte or nil
}

// InSteps converts the values of a column to steps.
func (t *PublicRows) InSteps(column int, s query.Steps) error {
	for _, row := range t.Rows {
		v, err := s.Value(row[column])
		if err != nil {
			return inColumn(err, t.Columns[column])
		}
		row[column] = nil
		if !v.IsNull() {
			row[column] = v.Int64()
		}
	}
	t.Steps[column] = &s
	return nil
}

// inColumn adds the column's name to an error about a value.
func inColumn(err error, column string) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Message = "column " + column + ": " + e.Message
	return &c
}

func (t *PublicRows) steps(column int) *query.Steps {
	if t.Steps == nil {
		return nil
	}
	return t.Steps[column]
}

// join is a public table in FROM. While a statement is bound, the table's columns
// stand behind the private columns in the universe. Then resolve replaces them by
// functions of the private column that the table is joined on.
type join struct {
	table   *PublicRows
	columns []int // of the universe, one per public column; notBound if unusable
	lookup  query.Lookup
}

// notBound marks a public column whose values fit no column of a universe.
const notBound = -1

// joins are the public tables of a statement, by their items of FROM.
type joins map[*syntax.FromItem]*join

// steps returns the steps of a REAL column of a public table. It is nil for other
// columns of the universe.
func (all joins) steps(column int) *query.Steps {
	for _, j := range all {
		if i := slices.Index(j.columns, column); i >= 0 {
			return j.table.steps(i)
		}
	}
	return nil
}

// steps returns the steps of a REAL or NUMERIC column, which is a private one or one of a
// public table. It is nil for other columns of the universe.
func (b *binder) steps(column int) *query.Steps {
	if s := b.u.Columns()[column].Steps(); s != nil {
		return s
	}
	return b.joins.steps(column)
}

// realName returns the declared type of a column that has steps.
func (b *binder) realName(column int) string {
	if c := b.u.Columns()[column]; c.Form.IsStepped() {
		return c.TypeName()
	}
	return "REAL"
}

// pred is the set of records for which a condition holds. While that depends on
// one column only, it is kept as a set of the column's values.
type pred struct {
	shape  predShape
	always bool        // of a constant
	column int         // of a set
	set    query.Set   // of a set
	q      query.Query // of a diagram
}

type predShape uint8

const (
	isConstant predShape = iota
	isSet
	isDiagram
)

func constantPred(always bool) pred { return pred{always: always} }

func columnPred(column int, s query.Set) pred { return pred{shape: isSet, column: column, set: s} }

// query returns the diagram of a pred.
func (p pred) query(u *query.Universe) query.Query {
	switch {
	case p.shape == isSet:
		return query.Where(u, p.column, p.set)
	case p.shape == isDiagram:
		return p.q
	case p.always:
		return query.All(u)
	}
	return query.None(u)
}

// testKey names an IS TRUE, and the pins it is compiled under.
type testKey struct {
	c       *condition
	pinning int
}

// effort counts the work of compiling a statement and its sub-selects.
type effort struct {
	parts int        // see maxParts
	steps int        // see maxSteps
	told  int        // the steps when the table was last told, see Worker
	work  query.Work // of combining conditions
	sums  query.Work // of combining functions, whose branches have leaves and no memory in between
}

// outputs compiles the clauses behind WHERE: the groups, and the expressions over
// their keys and aggregates. Each aggregate becomes a combination of slots.
type outputs struct {
	*binder
	keys       []key
	sets       [][]int // the grouping sets: indexes of keys, ascending
	extras     []extra
	slots      []Slot
	bases      []query.Query // of each slot: its query before it is divided into groups
	columns    []post.Column // of the select list, once compiled
	compiling  []bool        // the entries of the select list being compiled
	aggregates int           // the number compiled so far
}

// slot returns the slot of a query. Aggregates that ask the same query share it.
func (o *outputs) slot(base query.Query, s Slot) int {
	for i, b := range o.bases {
		if b.Equal(base) && o.slots[i].Question == s.Question && o.slots[i].Column == s.Column {
			o.slots[i].merge(s)
			return i
		}
	}
	o.bases, o.slots = append(o.bases, base), append(o.slots, s)
	return len(o.bases) - 1
}

// merge has a slot answer for another aggregate, too.
func (s *Slot) merge(t Slot) {
	if s.Centre != t.Centre {
		s.Centre = Centre{Reach: -1}
	}
	s.Scale, s.Split, s.PerRow = min(s.Scale, t.Scale), max(s.Split, t.Split), cmp.Or(min(s.PerRow, t.PerRow), s.PerRow, t.PerRow)
	s.Rows = cmp.Or(s.Rows, t.Rows)
}

// kept returns the selected records for which a pred holds.
func (o *outputs) kept(p pred) (query.Query, error) { return o.spent.work.And(o.rows, p.query(o.u)) }

// aggregates are the aggregate functions of one column or expression.
var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "total": true, "var_pop": true, "var_samp": true, "variance": true,
	"stddev_pop": true, "stddev_samp": true, "stddev": true,
	"median": true, "quantile": true, "percentile_cont": true, "percentile_disc": true, "min": true, "max": true}

// pairs are the aggregates of two columns, as PostgreSQL names them. Their first argument
// is y and their second x.
var pairs = map[string]post.Statistic{
	"corr": post.Corr, "covar_pop": post.CovarPop, "covar_samp": post.CovarSamp,
	"regr_slope": post.Slope, "regr_intercept": post.Intercept, "regr_r2": post.R2,
	"regr_sxx": post.Sxx, "regr_syy": post.Syy, "regr_sxy": post.Sxy,
}

// means are those of the aggregates of two columns that need no product: the place of the
// argument that they average.
var means = map[string]int{"regr_avgy": 0, "regr_avgx": 1}

// isPair reports whether a lower-case name is an aggregate of two columns.
func isPair(name string) bool {
	_, statistic := pairs[name]
	_, mean := means[name]
	return statistic || mean || name == "regr_count"
}

// isOwn reports whether a lower-case name is an aggregate of this dialect.
func isOwn(name string) bool { return aggregates[name] || isPair(name) }

const countHint = "write SELECT COUNT(*) FROM table WHERE …"

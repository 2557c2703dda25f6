package released

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// Listed returns columns from pairs of a name and a type.
func Listed(namesAndTypes ...string) []Column {
	var all []Column
	for i := 0; i < len(namesAndTypes); i += 2 {
		all = append(all, ColumnOf(namesAndTypes[i], namesAndTypes[i+1]))
	}
	return all
}

// Texts returns columns of type TEXT.
func Texts(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, n := range names {
		columns[i] = ColumnOf(n, "TEXT")
	}
	return columns
}

// ListColumns returns the columns of a list of SHOW.
func ListColumns(what syntax.Topic) []Column {
	switch what {
	case syntax.Settings:
		return Texts("setting", "value")
	case syntax.Tables:
		return Listed("table", "TEXT", "kind", "TEXT", "columns", "INTEGER", "universe", "", "unit", "TEXT", "rows", "INTEGER", "margin", "INTEGER", "source", "TEXT", "limits", "TEXT")
	case syntax.Releases:
		return Listed("release", "TEXT", "table", "TEXT", "columns", "TEXT", "method", "TEXT", "epsilon", "DECIMAL", "delta", "DECIMAL", "max_support", "INTEGER", "bytes", "INTEGER", "created", "TEXT", "periods", "TEXT")
	case syntax.Mechanisms:
		return Listed("mechanism", "TEXT", "table", "TEXT", "columns", "TEXT", "epsilon", "DECIMAL", "runs", "TEXT", "comparisons", "TEXT", "max_support", "INTEGER", "prior", "TEXT", "within", "INTEGER", "guaranteed alpha", "REAL", "paper's alpha", "REAL", "created", "TEXT")
	case syntax.Budget:
		return Listed("table", "TEXT", "account", "TEXT", "unit", "TEXT", "total", "DECIMAL", "spent", "DECIMAL", "left", "DECIMAL", "in words", "TEXT")
	case syntax.Ledger:
		return Listed("seq", "INTEGER", "at", "TEXT", "rows of", "TEXT", "account", "TEXT", "action", "TEXT", "object", "TEXT", "epsilon", "DECIMAL", "delta", "DECIMAL", "rho", "DECIMAL", "hash", "TEXT", "periods", "TEXT")
	case syntax.Users:
		return Listed("user", "TEXT", "tables", "INTEGER", "created", "TEXT")
	case syntax.Grants:
		return Listed("user", "TEXT", "table", "TEXT", "rho", "DECIMAL", "charge", "DECIMAL", "spent", "DECIMAL", "left", "DECIMAL", "granted", "TEXT")
	case syntax.Sources:
		return Listed("source", "TEXT", "kind", "TEXT", "dsn_env", "TEXT", "timeout", "TEXT", "tables", "INTEGER", "created", "TEXT")
	}
	return nil
}

// DescribedColumns returns the columns of DESCRIBE.
func DescribedColumns() []Column {
	return Listed("column", "TEXT", "type", "TEXT", "domain", "TEXT", "size", "INTEGER", "unit", "TEXT", "source", "TEXT", "limits", "TEXT")
}

// ShowSettings returns the list of a session's settings.
func ShowSettings(s Settings) *Result {
	r := &Result{Columns: ListColumns(syntax.Settings)}
	for _, name := range SettingNames {
		r.Rows = append(r.Rows, []any{name, s.Get(name)})
	}
	return r
}

// ShownTable is a private table as lists have it.
type ShownTable struct {
	Name         string
	Universe     *query.Universe
	Unit         string // for people
	Rows, Margin any    // the noisy number of rows, and its margin; nil until it is bought
	Source       any    // nil where there are no rows, or they are not told
	Limits       string // "" for none
}

// ShowTables returns the list of tables.
func ShowTables(private []ShownTable, public []string) *Result {
	r := &Result{Columns: ListColumns(syntax.Tables)}
	universes := &r.Columns[3]
	universes.Type = "INTEGER" // as long as all are numbers
	for _, t := range private {
		size := "infinite"
		if n := t.Universe.Size(); n != nil {
			size = n.String()
		}
		if _, isText := universes.Value(size).(string); isText {
			universes.Type = "TEXT"
		}
		r.Rows = append(r.Rows, []any{t.Name, "private", int64(len(t.Universe.Columns())), size, t.Unit, t.Rows, t.Margin, t.Source, textOrNull(t.Limits)})
	}
	for _, p := range public {
		r.Rows = append(r.Rows, []any{p, "public", nil, nil, nil, nil, nil, p, nil})
	}
	return r
}

// textOrNull returns nil for an empty text.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Describe lists the table's columns with their domains. lists returns the names of what lists keys of a column, which may be none.
func (t ShownTable) Describe(full bool, lists func(column int) []string) *Result {
	r := &Result{Columns: DescribedColumns(),
		Brief: &Result{Columns: Listed("column", "TEXT", "type", "TEXT", "domain", "TEXT", "size", "INTEGER", "unit", "TEXT")}}
	if t.Limits != "" {
		r.Brief.Columns = append(r.Brief.Columns, ColumnOf("limits", "TEXT"))
	}
	for _, i := range query.Declared(t.Universe.Columns()) {
		c := t.Universe.Columns()[i]
		row := []any{c.Name, c.TypeName(), strings.TrimSpace("any text or NULL " + c.DomainText()), nil, t.Unit, t.Source, textOrNull(t.Limits)}
		if names := lists(i); names != nil {
			row[2] = fmt.Sprint(row[2], ", keys in ", strings.Join(names, ", "))
		}
		brief := slices.Clone(row[:5])
		if c.Domain.Finite() {
			row[2], row[3] = c.DomainText(), int64(c.Domain.Size())
			brief[2], brief[3] = briefDomain(c.DomainText()), row[3]
		}
		if t.Limits != "" {
			brief = append(brief, t.Limits)
		}
		r.Rows, r.Brief.Rows = append(r.Rows, row), append(r.Brief.Rows, brief)
	}
	if full {
		r.Brief = nil
	}
	return r
}

// briefDomain shortens IN ('a', 'b', …) to its first values and the number of the others.
func briefDomain(domain string) string {
	list, isList := strings.CutPrefix(domain, "IN (")
	end := strings.LastIndexByte(list, ')')
	if !isList || end < 0 || utf8.RuneCountInString(domain) <= briefWidth {
		return domain
	}
	var values []string
	from, quoted := 0, false
	for i := range end {
		if list[i] == '\'' {
			quoted = !quoted
		}
		if !quoted && strings.HasPrefix(list[i:end], ", ") {
			values, from = append(values, list[from:i]), i+2
		}
	}
	values = append(values, list[from:end])
	shown, n := values[0], 1
	for n < len(values) && utf8.RuneCountInString(shown+values[n]) < briefWidth-len("IN (, , +1,000)") {
		shown, n = shown+", "+values[n], n+1
	}
	if n < len(values) {
		shown += ", +" + Counts(float64(len(values)-n))
	}
	return "IN (" + shown + list[end:]
}

// briefWidth is how many characters a domain has in a list for people.
const briefWidth = 44

// ShownRelease is a release as lists have it.
type ShownRelease struct {
	Name, Table, Columns string
	Made                 Description
	Epsilon, Delta       string
	Support              any // nil where there is no bound
	Size                 int64
	Created              string
	Span                 any // its periods; nil where its table has none
}

// ShowReleases returns the list of releases, without any.
func ShowReleases() *Result {
	return &Result{Columns: ListColumns(syntax.Releases), Brief: &Result{Columns: Texts("release", "table", "columns", "method", "cost")}}
}

// Show adds the release to a list, and to its brief form.
func (rel ShownRelease) Show(r *Result, briefly bool) {
	r.Rows = append(r.Rows, []any{rel.Name, rel.Table, rel.Columns, rel.Made.Whole, rel.Epsilon, rel.Delta, rel.Support, rel.Size, rel.Created, rel.Span})
	if !briefly {
		return
	}
	r.Brief.Rows = append(r.Brief.Rows, []any{rel.Name, rel.Table, BriefList(rel.Columns), rel.Made.Brief, rel.Cost()})
}

// Cost returns what the release cost, for people.
func (rel ShownRelease) Cost() string {
	var cost []string
	for _, of := range []struct{ name, amount string }{{"ε", rel.Epsilon}, {"δ", rel.Delta}} {
		if x, err := strconv.ParseFloat(of.amount, 64); err == nil && x != 0 {
			cost = append(cost, of.name+" "+Rounded(x))
		}
	}
	return strings.Join(cost, ", ")
}

// ShownGrowing is a release of each period, as lists have it.
type ShownGrowing struct {
	Name, Table, Columns, Using string
	Created                     any
	Partition                   *period.Partition
	Word                        string // for a period
	Built                       period.Ranges
	Each                        string // the most that a part cost
}

// Show adds the release to a list, and to its brief form.
func (g ShownGrowing) Show(r *Result) {
	whole, brief, cost := "", "no parts yet", ""
	if hull, some := g.Built.Hull(); some {
		var names []string
		for _, r := range g.Built {
			names = append(names, g.Partition.Text(r))
		}
		whole, cost = strings.Join(names, ", "), g.Each+" a "+g.Word
		if brief = "1 part"; g.Built.Count() > 1 {
			brief = fmt.Sprintf("%d parts", g.Built.Count())
		}
		brief += ", " + g.Partition.Text(hull)
	}
	r.Rows = append(r.Rows, []any{g.Name, g.Table, g.Columns, g.Using + ", each period", nil, nil, nil, nil, g.Created, whole})
	r.Brief.Rows = append(r.Brief.Rows, []any{g.Name, g.Table, BriefList(g.Columns), g.Using + ", " + brief, cost})
}

// ByName sorts a list and its brief form by the names in front.
func (r *Result) ByName() *Result {
	byName := func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) }
	slices.SortStableFunc(r.Rows, byName)
	slices.SortStableFunc(r.Brief.Rows, byName)
	return r
}

// UnitText names a unit for people. If rows is 0 it leaves out the bound.
func UnitText(column string, rows int64) string {
	switch {
	case column == "":
		return "single rows"
	case rows == 0:
		return "all rows with one value of " + column
	}
	return fmt.Sprintf("up to %d rows with one value of %s", rows, column)
}

// Package draft writes a first declaration of a table, for a curator to edit. It reads the
// rows, and no noise is added: what it writes must be reviewed as a text for the public.
package draft

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Querier reads the database; *sql.Tx satisfies it.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

const (
	// mostListed is the largest number of values that are listed as a domain.
	mostListed = 40
	// leastRows is how many rows a value must have to be listed: one that a few rows have
	// tells of them.
	leastRows = 10
	// mostLooked is the largest public column that values are looked up in.
	mostLooked = 100_000
	// mostSummed is the largest number of values that dpsql adds up.
	mostSummed = 1 << 20
	// farthest is the largest number of steps between 0 and a bound.
	farthest = 1e9
	// mostDigits is the largest number of digits behind the point that are looked for.
	mostDigits = 6
	// mostTogether is the largest number of cells of a proposed release.
	mostTogether = 1 << 16
	// mostColumns, longestName and longestText are limits of a declaration. The text leaves
	// room for what stands around the columns.
	mostColumns = 1000
	longestName = 256
	longestText = 250 << 10
)

// Of returns the draft of a declaration of a table or view of the file. publics are the
// declared public tables, whose columns are proposed as domains where they have all values.
// The caller has refused the names that are reserved. Errors: Unknown, Cancelled.
func Of(ctx context.Context, q Querier, table string, publics []string) (string, error) {
	d := &drafter{ctx: ctx, q: q, from: "main." + query.Quoted(table) + " AS r", names: newNames()}
	names, err := d.texts(`SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, table)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", sqlerr.New(sqlerr.Unknown, "no such table or view: %s", table).WithHint("name a table that was loaded: .import FILE TABLE")
	}
	if err := d.lookups(publics); err != nil {
		return "", err
	}
	var kept []column
	var left []string
	size := 0
	for _, name := range names {
		c, err := d.column(name)
		if err != nil {
			return "", err
		}
		switch line := c.line(","); {
		case c.domain != "" && len(kept) == mostColumns:
			c = column{name: name, note: fmt.Sprintf("a table has at most %d columns: declare others of the source as another table", mostColumns)}
		case c.domain != "" && size+len(line) > longestText:
			c = column{name: name, note: "the statement would be too long: keep the values in a public table"}
		case c.domain != "":
			size += len(line)
			kept = append(kept, c)
			continue
		}
		left = append(left, fmt.Sprintf("--   %s: %s", visible(syntax.WriteName(name)), c.note))
	}
	return d.text(table, kept, left), nil
}

// visible keeps a name on the line of its comment.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, name)
}

// drafter writes one draft.
type drafter struct {
	ctx     context.Context
	q       Querier
	from    string
	rows    int64
	publics []lookup
	names   names
	persons []person
}

// lookup is a column of a public table.
type lookup struct{ table, column string }

// column is a line of the draft. A column without a domain is left out, for the reason in the
// note.
type column struct {
	name, domain, note string
	cells              float64 // how many values it can have; 0 if that is not known
	number             bool    // with averages
}

func (c column) line(comma string) string {
	return fmt.Sprintf("    %s %s%s -- %s\n", syntax.WriteName(c.name), c.domain, comma, c.note)
}

// facts are what the rows say of a column.
type facts struct {
	rows, values, nulls, integers, reals, texts, dates, clocks, blobs, zeros, moments int64

	leastOf, mostOf int64 // the rows that have the least, and the most
	least, most     any
}

// dated returns how many rows have a date, a time or both.
func (f facts) dated() int64 { return f.dates + f.clocks + f.moments }

func (d *drafter) column(name string) (column, error) {
	if len(name) > longestName || strings.ContainsRune(name, 0) {
		return column{name: name, note: fmt.Sprintf("a statement writes names of at most %d bytes: give it a shorter one in a view", longestName)}, nil
	}
	var f facts
	at := "r." + query.Quoted(name)
	err := d.q.QueryRowContext(d.ctx, strings.ReplaceAll(`SELECT COUNT(*), COUNT(DISTINCT ?), COALESCE(SUM(? IS NULL), 0),
		COALESCE(SUM(typeof(?) = 'integer'), 0), COALESCE(SUM(typeof(?) = 'real'), 0), COALESCE(SUM(typeof(?) = 'text'), 0),
		COALESCE(SUM(typeof(?) = 'text' AND length(?) = 10 AND date(?) IS ?), 0),
		COALESCE(SUM(typeof(?) = 'text' AND ? NOT GLOB '*[^0-9:.]*' AND length(?) >= 5 AND (substr(time(?), 1, length(?)) IS substr(?, 1, 8) OR ? LIKE '24:00%')), 0), COALESCE(SUM(typeof(?) = 'blob'), 0), COALESCE(SUM(? = 0), 0),
		COALESCE(SUM(typeof(?) = 'text' AND (? LIKE '____-__-__ __:__%' OR ? LIKE '____-__-__T__:__%') AND substr(datetime(?), 1, 16) IS substr(?, 1, 10) || ' ' || substr(?, 12, 5) AND ? NOT LIKE '%+%'), 0), MIN(?), MAX(?),
		COALESCE(SUM(? = (SELECT MIN(?) FROM `+d.from+`)), 0), COALESCE(SUM(? = (SELECT MAX(?) FROM `+d.from+`)), 0) FROM `+d.from, "?", at)).
		Scan(&f.rows, &f.values, &f.nulls, &f.integers, &f.reals, &f.texts, &f.dates, &f.clocks, &f.blobs, &f.zeros, &f.moments, &f.least, &f.most, &f.leastOf, &f.mostOf)
	if err != nil {
		return column{}, d.failure(err)
	}
	d.rows = f.rows
	c := column{name: name}
	present := f.rows - f.nulls
	p, named, err := d.asPerson(name, at, f)
	if err != nil {
		return c, err
	}
	if p.rows > 0 {
		d.persons = append(d.persons, p)
	}
	switch {
	case f.blobs > 0:
		c.note = "has blobs, which are no values"
	case present == 0:
		c.note = "has no values yet; declare what it can have"
	case p.sure || named && p.rows > 0:
		c.note = "may be the unit, which need not be declared"
	case f.values == present && (named || present > leastRows && f.reals == 0 && f.dated() == 0):
		c.note = "every row has another value: it names rows, or the persons who have one row each"
	case f.integers == present:
		err = d.integers(&c, at, f)
	case f.dates == present:
		least, _ := f.least.(string)
		most, _ := f.most.(string)
		c.domain, c.note = fmt.Sprintf("DATE BETWEEN '%.4s-01-01' AND '%.4s-12-31'", least, most), "whole years"
	case f.dates+f.moments == present:
		err = d.moments(&c, at, f)
	case f.clocks == present:
		err = d.times(&c, at)
	case f.texts == present:
		err = d.textual(&c, at, f)
	case f.integers+f.reals == present:
		err = d.fractions(&c, at, f)
	default:
		c.note = "has values of several types: a view can make one of them"
	}
	if c.domain != "" && f.nulls > 0 && c.domain != "TEXT" {
		c.domain += " OR NULL"
		c.cells++
	}
	if c.number {
		c.domain += " CLAMP"
	}
	return c, err
}

func (d *drafter) integers(c *column, at string, f facts) error {
	least, _ := f.least.(int64)
	most, _ := f.most.(int64)
	if public, ok, err := d.lookedUp(c.name, at, true); ok || err != nil {
		c.domain, c.note = "INTEGER IN "+public, "or a range of whole numbers"
		return err
	}
	if least == 0 && most == 1 {
		c.domain, c.note, c.cells = "BOOLEAN", "0 is FALSE, 1 is TRUE", 2
		return nil
	}
	if span := float64(most) - float64(least); f.values <= 12 && span >= 4*float64(f.values) {
		return d.list(c, "INTEGER", at)
	}
	low, high, ok := f.rounded(least, most)
	if !ok {
		c.note = "has numbers of any size; bin it in a view"
		return nil
	}
	if high-low >= mostSummed {
		return d.stepped(c, at, f)
	}
	c.domain, c.note = fmt.Sprintf("INTEGER BETWEEN %d AND %d", low, high), "rounded: give the bounds that can occur"
	c.number, c.cells = true, float64(high-low+1)
	return nil
}

// fractions proposes the multiples of a decimal unit, if all numbers are multiples of it and
// dpsql can add them up. Others go in steps.
func (d *drafter) fractions(c *column, at string, f facts) error {
	var digits sql.NullInt64
	test := "CASE"
	for n := range mostDigits + 1 {
		test += fmt.Sprintf(" WHEN MIN(ROUND(%s, %d) = %s) THEN %d", at, n, at, n)
	}
	if err := d.q.QueryRowContext(d.ctx, `SELECT `+test+` END FROM `+d.from+` WHERE `+at+` IS NOT NULL`).Scan(&digits); err != nil {
		return d.failure(err)
	}
	scale := int(digits.Int64)
	unit := math.Pow10(scale)
	least, most := math.Round(number(f.least)*unit), math.Round(number(f.most)*unit)
	if !digits.Valid || math.Abs(least) > farthest || math.Abs(most) > farthest {
		return d.stepped(c, at, f)
	}
	low, high, ok := f.rounded(int64(least), int64(most))
	if !ok || high-low >= mostSummed || low < -farthest || high > farthest {
		return d.stepped(c, at, f)
	}
	bound := func(n int64) string { return query.Decimal(big.NewRat(n, int64(unit))) }
	c.domain = fmt.Sprintf("NUMERIC(10, %d) BETWEEN %s AND %s", scale, bound(low), bound(high))
	c.note = "exact; rounded: give the bounds that can occur"
	c.number, c.cells = true, float64(high-low+1)
	return nil
}

// stepped proposes steps of a ten-thousandth of the range, or a little less: so fine that no
// sum shows the rounding. Where many rows are 0 it takes finer ones, if that gives 0 its own.
func (d *drafter) stepped(c *column, at string, f facts) error {
	least, most := number(f.least), number(f.most)
	span := most - least
	if !(span > 0) || math.Abs(least) > 1e15 || math.Abs(most) > 1e15 || span < 1e-9 {
		c.note = "has fractions without a range; declare what it can have"
		return nil
	}
	exponent := int64(math.Floor(math.Log10(span)))
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(exponent, -exponent)), nil))
	if exponent < 0 {
		unit.Inv(unit)
	}
	times := func(n float64) string { return query.Decimal(new(big.Rat).Mul(unit, new(big.Rat).SetFloat64(n))) }
	size, _ := unit.Float64()
	low := math.Floor(least / size)
	if least >= 0 && least <= span {
		low = 0
	}
	if math.Max(math.Abs(least), math.Abs(most)) > size*farthest/10_000-size {
		c.note = "has numbers that differ little for their size: subtract the least that can occur in a view"
		return nil
	}
	high := math.Ceil(most / size)
	if f.mostOf < leastRows && high*size == most {
		high++
	}
	if f.leastOf < leastRows && low != 0 && low*size == least {
		low--
	}
	parts, zero := 10_000.0, ""
	if low == 0 && f.zeros >= leastRows && f.zeros*20 >= f.rows {
		var next sql.NullFloat64 // that ten rows above 0 have, or less
		if err := d.q.QueryRowContext(d.ctx, `SELECT MAX(x) FROM (SELECT `+at+` AS x FROM `+d.from+` WHERE `+at+` > 0 ORDER BY 1 LIMIT ?)`, leastRows).Scan(&next); err != nil {
			return d.failure(err)
		}
		for next.Float64 < size/parts && parts*10*high < mostSummed {
			parts *= 10
		}
		zero = "; 0 has the first step: < %s selects it"
		if next.Float64 < size/parts {
			zero += ", with all that is below; for 0 alone, declare a column " + visible(syntax.WriteName(c.name)) + " = 0 of a view"
		}
	}
	step := query.Decimal(new(big.Rat).Quo(unit, new(big.Rat).SetFloat64(parts)))
	c.domain = fmt.Sprintf("REAL BETWEEN %s AND %s STEP %s", times(low), times(high), step)
	c.number, c.cells = true, (high-low)*parts
	c.note = "rounded: a row counts as the middle of its step; intervals hold what that may move"
	c.note += strings.ReplaceAll(zero, "%s", step)
	return nil
}

// number returns a number as SQLite stores it.
func number(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	x, _ := v.(float64)
	return x
}

// rounded returns a range around a range, whose ends are round numbers. None of them but 0 is a number of a few rows.
func (f facts) rounded(least, most int64) (low, high int64, ok bool) {
	const limit = 1e15
	if float64(least) < -limit || float64(most) > limit {
		return 0, 0, false
	}
	span, step := most-least, int64(1)
	for step*10 <= span {
		step *= 10
	}
	low = int64(math.Floor(float64(least)/float64(step))) * step
	if least >= 0 && least <= span {
		low = 0
	}
	if f.leastOf < leastRows && low == least && low != 0 {
		low -= step
	}
	if high = int64(math.Ceil(float64(most)/float64(step))) * step; f.mostOf < leastRows && high == most {
		high += step
	}
	return low, high, true
}

// moments proposes whole years of hours, or of days if no row has a time.
func (d *drafter) moments(c *column, at string, f facts) error {
	timed, step, last := false, "1 day", ""
	if err := d.q.QueryRowContext(d.ctx, `SELECT MAX(unixepoch(`+at+`) % 86400) > 0 FROM `+d.from).Scan(&timed); err != nil {
		return d.failure(err)
	}
	if timed {
		step, last = "1 hour", " 23:00"
	}
	least, _ := f.least.(string)
	most, _ := f.most.(string)
	c.domain = fmt.Sprintf("TIMESTAMP BETWEEN '%.4s-01-01' AND '%.4s-12-31%s' STEP '%s'", least, most, last, step)
	c.note = "whole years, in UTC; the longer the step, the less noise"
	return nil
}

// times proposes the longest step that loses no minute.
func (d *drafter) times(c *column, at string) error {
	step, test := "", "CASE"
	for _, s := range []string{"1 hour", "30 minutes", "15 minutes", "5 minutes"} {
		seconds, _ := query.ReadStep(s)
		test += fmt.Sprintf(" WHEN MAX(unixepoch(%s) %% %d) = 0 THEN '%s'", at, seconds, s)
	}
	if err := d.q.QueryRowContext(d.ctx, `SELECT `+test+` ELSE '1 minute' END FROM `+d.from+` WHERE `+at+` < '24'`).Scan(&step); err != nil {
		return d.failure(err)
	}
	seconds, _ := query.ReadStep(step)
	c.domain, c.note = "TIME STEP '"+step+"'", "of the whole day; the longer the step, the less noise"
	c.cells = float64(86_400 / seconds)
	return nil
}

func (d *drafter) textual(c *column, at string, f facts) error {
	public, ok, err := d.lookedUp(c.name, at, false)
	switch {
	case err != nil:
		return err
	case ok:
		c.domain, c.note = "TEXT IN "+public, "all values are there"
	case f.values > mostListed:
		c.domain, c.note = "TEXT", "any text; list values to count by them, or publish keys"
		var digits bool // in three rows of four, without letters but for a unit
		if err := d.q.QueryRowContext(d.ctx, `SELECT SUM(`+at+` GLOB '*[0-9]*' AND `+at+` NOT GLOB '0[0-9]*' AND trim(rtrim(`+at+`, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZł°²³µ/'), '0123456789.,-+%()$€£ ’''`+"\u00a0\u2009\u202f"+`') = '') >= 0.75 * COUNT(`+at+`) FROM `+d.from).Scan(&digits); err != nil {
			return d.failure(err)
		}
		if digits {
			c.note = "any text; if these are numbers, .import says with which switch it takes them: --numbers, --decimal or --null"
		}
	default:
		if err := d.list(c, "TEXT", at); err != nil || c.domain == "" {
			return err
		}
		c.domain += " OR " + query.Other
		c.cells++
	}
	return nil
}

// list proposes the values that enough rows have.
func (d *drafter) list(c *column, typ, at string) error {
	values, err := d.texts(`SELECT quote(`+at+`) FROM `+d.from+` WHERE `+at+` IS NOT NULL GROUP BY `+at+` HAVING COUNT(*) >= ? ORDER BY `+at, leastRows)
	if err != nil {
		return err
	}
	values = slices.DeleteFunc(values, func(v string) bool { return strings.ContainsFunc(v, unicode.IsControl) })
	values = slices.DeleteFunc(values, func(v string) bool { return v == "'"+query.Other+"'" })
	if len(values) == 0 {
		c.note = fmt.Sprintf("no value has %d rows; list those that can occur", leastRows)
		return nil
	}
	c.domain, c.cells = typ+" IN ("+strings.Join(values, ", ")+")", float64(len(values))
	c.note = fmt.Sprintf("each in %d rows or more: list all that can occur", leastRows)
	if slices.Contains(values, "''") {
		c.note += "; '' is an empty field, which .import --null '' makes NULL"
	}
	return nil
}

// lookups lists the columns of the public tables.
func (d *drafter) lookups(publics []string) error {
	for _, public := range publics {
		columns, err := d.texts(`SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, public)
		if err != nil {
			return err
		}
		for _, c := range columns {
			d.publics = append(d.publics, lookup{public, c})
		}
	}
	return nil
}

// lookedUp returns a sub-select of a public column that has all values. Numbers are looked up in
// columns of the same name only, because small numbers are everywhere.
func (d *drafter) lookedUp(name, at string, sameName bool) (string, bool, error) {
	for _, p := range d.publics {
		if sameName && !strings.EqualFold(p.column, name) {
			continue
		}
		of := query.Quoted(p.column) + " FROM main." + query.Quoted(p.table)
		var has bool
		err := d.q.QueryRowContext(d.ctx, `SELECT (SELECT COUNT(*) FROM (SELECT DISTINCT `+of+` LIMIT `+strconv.Itoa(mostLooked)+`)) < `+strconv.Itoa(mostLooked)+`
			AND NOT EXISTS (SELECT 1 FROM `+d.from+` WHERE `+at+` NOT IN (SELECT `+of+` WHERE `+query.Quoted(p.column)+` IS NOT NULL))`).Scan(&has)
		if err != nil {
			return "", false, d.failure(err)
		}
		if has {
			return fmt.Sprintf("(SELECT %s FROM %s)", syntax.WriteName(p.column), syntax.WriteName(p.table)), true, nil
		}
	}
	return "", false, nil
}

// text writes the draft.
func (d *drafter) text(table string, kept []column, left []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- A draft of a declaration of %s, made from its %d rows, without noise. It tells of\n", syntax.WriteName(table), d.rows)
	b.WriteString("-- them: review it as a text for the public before anyone else sees it or runs it.\n")
	if len(left) > 0 {
		b.WriteString("-- Left out:\n" + strings.Join(left, "\n") + "\n")
	}
	if len(kept) == 0 {
		return b.String() + "-- No column can be declared as it is.\n"
	}
	name, ok := strings.CutPrefix(table, "raw_")
	if !ok {
		name = "private_" + table
	}
	fmt.Fprintf(&b, "CREATE PRIVATE TABLE %s (\n", syntax.WriteName(name))
	for i, c := range kept {
		comma := ","
		if i == len(kept)-1 {
			comma = ""
		}
		b.WriteString(c.line(comma))
	}
	fmt.Fprintf(&b, ") FROM %s WITH (\n", syntax.WriteName(table))
	declared, asked := d.units()
	b.WriteString(declared)
	b.WriteString("    epsilon = 1, -- of everything that is ever answered: choose it before anyone asks\n")
	b.WriteString("    delta = 1e-6 -- far below 1 / rows\n")
	b.WriteString(asked + ");\n" + releases(name, kept))
	return b.String()
}

// releases proposes a release of columns of few values together, and one of a column of numbers.
func releases(table string, kept []column) string {
	var together []string
	var b strings.Builder
	line := func(name, columns, epsilon, what string) {
		fmt.Fprintf(&b, "-- CREATE RELEASE %s ON %s (%s) WITH (epsilon = %s); -- %s, free for ever after\n", name, visible(syntax.WriteName(table)), visible(columns), epsilon, what)
	}
	cells, number, clock := 1.0, "", ""
	for _, c := range kept {
		switch name := syntax.WriteName(c.name); {
		case len(together) < 4 && c.cells > 1 && c.cells <= 100 && cells*c.cells <= mostTogether:
			cells *= c.cells
			together = append(together, name)
		case c.number && number == "" && c.cells <= mostSummed:
			number = name
		case strings.HasPrefix(c.domain, "TIME") && clock == "":
			clock = name
		}
	}
	if len(together) > 0 {
		line("counts", strings.Join(together, ", "), "0.2", "counts by these columns together")
	}
	if number != "" {
		line("numbers", number, "0.2", "its sums, averages and quantiles")
	}
	if clock != "" {
		line("times", clock, "0.1", "counts by the hour, and quantiles")
	}
	return b.String()
}

func (d *drafter) texts(text string, args ...any) (all []string, err error) {
	rows, err := d.q.QueryContext(d.ctx, text, args...)
	if err != nil {
		return nil, d.failure(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, d.failure(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, d.failure(err)
	}
	return all, nil
}

// failure describes an error without its text, which could hold a value.
func (d *drafter) failure(err error) error {
	code, words, _ := sqlerr.OfSQLite(d.ctx, err)
	return sqlerr.New(code, "the table cannot be read: %s", words)
}

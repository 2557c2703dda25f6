// Package schemas reads public data only: the schemas of private tables, and the contents
// of tables that were declared public. It needs no receipt of package pay, because it
// reads no private row: it sees private tables only through a source.Checker, which cannot
// count.
package schemas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/places"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Unchanged refuses a table of the file whose source is not as it was declared. Its schema
// may have changed. Or it may read a table that is no longer public: those rows could have
// another budget, which nobody has charged. Unchanged reads only schemas, which are
// public. It returns the base tables.
func Unchanged(ctx context.Context, tx *catalog.Tx, t *view.Table) (bases []string, err error) {
	if bases, err = sameInFile(ctx, tx, t); err == nil {
		err = Covered(tx, t, bases)
	}
	return bases, err
}

// sameInFile is SameSchema for a table of the file, of which it returns the base tables.
func sameInFile(ctx context.Context, tx *catalog.Tx, t *view.Table) (bases []string, err error) {
	publics, err := tx.Publics()
	if err != nil {
		return nil, err
	}
	schema, err := SameSchema(ctx, source.Schemas(tx.SQL()), t, publics)
	return schema.Bases, err
}

// SameSchema returns what a table's source reads. It refuses a source whose schema is no
// longer the declared one or is no longer understood. Publics are the tables of the file
// that are public now.
func SameSchema(ctx context.Context, from source.Checker, t *view.Table, publics []string) (schema source.Schema, err error) {
	if t.Source == "" {
		return schema, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).
			WithHint("it is an exported release: only its queries are answered here")
	}
	rows := t.Rows()
	rows.Public = publics
	if schema, err = from.Check(ctx, rows); err != nil {
		return schema, err
	}
	if schema.Text != t.SourceSchema {
		return schema, sqlerr.New(sqlerr.Invalid, "the schema of %s changed since %s was declared", t.Place(), t.Name).
			WithHint("DROP PRIVATE TABLE %s and declare it again; its budget goes on", t.Name)
	}
	if t.HasPeriods() && !query.SameName(schema.Period, t.Partition.Column) {
		return schema, sqlerr.New(sqlerr.Invalid, "the rows of %s lie in periods of %s, and those of %s in periods of %s", t.Place(), schema.Period, t.Name, t.Partition.Column)
	}
	return schema, nil
}

// Covered refuses base tables that are neither public nor covered by the budget of t. Tables
// in also may have the same rows, so they must not have another budget.
func Covered(tx *catalog.Tx, t *view.Table, bases []string, also ...string) error {
	private := Distinct(bases)
	if t.Outside == nil {
		var err error
		if private, err = PrivateBases(tx, bases); err != nil {
			return err
		}
	}
	a, err := tx.AccountFor(private, also...)
	switch {
	case err != nil:
		return err
	case a != nil && a.ID == t.Account:
		return nil
	case t.Outside != nil:
		return sqlerr.New(sqlerr.Invalid, "%s reads tables that the budget of %s does not cover", t.Place(), t.Name).
			WithHint("does %s name another database now? DROP PRIVATE TABLE %s and declare it anew for the rows there; if these are the same rows, "+
				"carried there, the new budget does not know what was spent on them", t.Outside.DSNEnv, t.Name)
	}
	return sqlerr.New(sqlerr.Invalid, "%s reads tables that are no longer public, which its budget does not cover", t.Source).
		WithHint("declare them public again, or DROP PRIVATE TABLE %s and declare it anew", t.Name)
}

// StillCovered checks that the source of a table in the file is what was declared,
// and that its account covers every base table. If bases is nil it resolves them
// first. It returns them.
func StillCovered(ctx context.Context, store *catalog.Store, t *view.Table, bases []string) ([]string, error) {
	err := store.Read(ctx, func(tx *catalog.Tx) error {
		if bases == nil {
			var err error
			if bases, err = sameInFile(ctx, tx, t); err != nil {
				return err
			}
		}
		return Covered(tx, t, bases)
	})
	return bases, err
}

// PrivateBases returns the base tables that are not declared public. A view may join
// public ones, and they carry no budget.
func PrivateBases(tx *catalog.Tx, bases []string) ([]string, error) {
	var private []string
	for _, base := range bases {
		public, err := tx.IsPublic(base)
		if err != nil {
			return nil, err
		}
		if !public {
			private = append(private, base)
		}
	}
	return private, nil
}

// Distinct sorts the names of base tables outside the file. Of names that differ in case
// only it keeps the first, since names are compared without case.
func Distinct(bases []string) []string {
	sorted := slices.SortedFunc(slices.Values(bases), func(a, b string) int {
		return cmp.Or(strings.Compare(query.FoldName(a), query.FoldName(b)), strings.Compare(a, b))
	})
	return slices.CompactFunc(sorted, query.SameName)
}

// Moving describes the assumption of a table without a unit whose rows are on several
// servers.
const Moving = "the rows are on several servers, which share no snapshot: a row that moves from one to another while it is read counts twice, which placement = fixed rules out"

// ReadsNoPrivateRows refuses a public table or view that reads a base table with a budget,
// or one of also, which are about to get one. Callers check at every use of a public
// table, because a view can be redefined.
func ReadsNoPrivateRows(ctx context.Context, tx *catalog.Tx, public string, also []string) error {
	bases, err := source.Bases(ctx, tx.SQL(), public)
	if err != nil {
		return err
	}
	for _, base := range bases {
		a, err := tx.AccountFor([]string{base})
		if err != nil {
			return err
		}
		if a != nil || slices.ContainsFunc(also, func(b string) bool { return query.SameName(b, base) }) {
			return sqlerr.New(sqlerr.Invalid, "%s reads %s, which holds private rows", public, base).
				WithHint("what is public must not be computed from private rows")
		}
	}
	return nil
}

// PublicColumns returns the REAL columns of a declaration. It checks that every declared
// column exists and that its values have the declared type. The table is public, so an
// error may show a value.
func PublicColumns(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePublic) ([]catalog.PublicColumn, error) {
	if st.Columns == nil {
		return nil, nil
	}
	rows, err := publicRows(ctx, tx, st.Name.Text)
	if err != nil {
		return nil, sqlerr.Locate(err, st.Name.Position)
	}
	var columns []catalog.PublicColumn
	for _, c := range st.Columns {
		i := slices.IndexFunc(rows.Columns, func(name string) bool { return query.SameName(name, c.Name.Text) })
		if i < 0 {
			return nil, sqlerr.New(sqlerr.Unknown, "%s has no column %s", st.Name.Text, c.Name.Text).Of(sqlerr.Column).At(c.Name.Position)
		}
		if c.Steps == nil {
			if err := allOfType(rows, i, c.Type); err != nil {
				return nil, sqlerr.Locate(err, c.Name.Position)
			}
			continue
		}
		column := catalog.PublicColumn{Name: rows.Columns[i], Steps: *c.Steps}
		if err := rows.InSteps(i, column.Steps); err != nil {
			return nil, sqlerr.Locate(err, c.Name.Position)
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// maxPublicRows bounds the rows of a public table that is joined or copied.
const maxPublicRows = 1 << 20

// publicRows reads a table, which must be public.
func publicRows(ctx context.Context, tx *catalog.Tx, name string) (*sqlfront.PublicRows, error) {
	columns, values, err := source.Copy(ctx, tx.SQL(), name, maxPublicRows)
	rows := &sqlfront.PublicRows{Rows: values, Steps: make([]*query.Steps, len(columns))}
	for _, c := range columns {
		rows.Columns = append(rows.Columns, c.Name)
	}
	return rows, err
}

// Copy reads a public table for statements that name public tables only. In one snapshot it
// checks that the table is public and that it is not computed from private rows, and reads
// it.
func Copy(ctx context.Context, store *catalog.Store, name string) (columns []source.PublicColumn, rows [][]any, err error) {
	err = store.Read(ctx, func(tx *catalog.Tx) error {
		public, err := tx.IsPublic(name)
		if err != nil {
			return err
		}
		if !public {
			return sqlerr.New(sqlerr.Unknown, "there is no public table %s", name)
		}
		if err := ReadsNoPrivateRows(ctx, tx, name, nil); err != nil {
			return err
		}
		columns, rows, err = source.Copy(ctx, tx.SQL(), name, maxPublicRows)
		return err
	})
	return columns, rows, err
}

// allOfType refuses a column with a value of another type.
func allOfType(rows *sqlfront.PublicRows, column int, t query.Type) error {
	for _, row := range rows.Rows {
		_, isInt := row[column].(int64)
		_, isText := row[column].(string)
		if row[column] != nil && !(isInt && t == query.TypeInteger || isText && t == query.TypeText) {
			return sqlerr.New(sqlerr.Invalid, "column %s has %s, which is not %v", rows.Columns[column], shown(row[column]), t).
				WithHint("declare the type that the values have; numbers with fractions are REAL BETWEEN … AND … STEP …")
		}
	}
	return nil
}

// shown formats a public value for a message.
func shown(v any) string {
	switch v := v.(type) {
	case []byte:
		return "a BLOB"
	case string:
		return fmt.Sprintf("%.40q", v)
	}
	return fmt.Sprint(v)
}

// NoPublicViewReads refuses base tables that a declared public view reads. The view's
// contents could be, or become, a domain.
func NoPublicViewReads(ctx context.Context, tx *catalog.Tx, bases []string) error {
	publics, err := tx.Publics()
	if err != nil {
		return err
	}
	for _, public := range publics {
		if _, err := source.Bases(ctx, tx.SQL(), public); err != nil {
			continue // unreadable now, and checked again whenever it is used
		}
		if err := ReadsNoPrivateRows(ctx, tx, public, bases); err != nil {
			return err
		}
	}
	return nil
}

// bound implements sqlfront.Table.
type bound struct{ t *view.Table }

func (b bound) Name() string              { return b.t.Name }
func (b bound) Universe() *query.Universe { return b.t.Universe }

// Unit returns the name of the column that identifies a unit, or "".
func (b bound) Unit() string { return b.t.Unit }

// Undecided reports whether a column has no known domain. The binder refuses its name.
func (b bound) Undecided(column int) bool { return b.t.Undecided[column] != "" }

// joinable is a table that public tables can be joined to.
type joinable struct {
	bound
	ctx   context.Context
	store *catalog.Store
	now   time.Time
	texts Texts
	place *places.Place
	call  Functions
}

// Functions has SQLite compute a function of public values for a user, as sqlfront.Evaluator says.
type Functions func(ctx context.Context, user int64, function string, rows [][]any) ([]any, error)

// Texts returns the texts of a column that releases publish, and the names of these releases.
type Texts func(column int) (texts []query.Value, releases []string, err error)

// Bindable returns the table in the form that the front end binds a statement against,
// which began at now. It is valid until ctx is done. What takes long takes the place, if it is not nil.
func Bindable(ctx context.Context, store *catalog.Store, t *view.Table, now time.Time, texts Texts, place *places.Place, call Functions) sqlfront.Table {
	return joinable{bound{t}, ctx, store, now, texts, place, call}
}

// Evaluate implements sqlfront.Evaluator.
func (b joinable) Evaluate(function string, rows [][]any) ([]any, error) {
	user := int64(0)
	if b.place != nil {
		user = b.place.User
	}
	return b.call(b.ctx, user, function, rows)
}

// Working implements sqlfront.Worker.
func (b joinable) Working() error {
	if b.place == nil {
		return b.ctx.Err()
	}
	return b.place.Take(b.ctx)
}

// Now implements sqlfront.Clock.
func (b joinable) Now() time.Time { return b.now }

// Keys implements sqlfront.Listed. It reads the lists as Public does, and then those of releases.
func (b joinable) Keys(column int) (keys []query.Value, lists []string, err error) {
	keys, lists, err = b.texts(column)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range b.t.Lists[column] {
		rows, err := b.Public(name)
		if err != nil {
			return nil, nil, err
		}
		if rows == nil {
			continue
		}
		if !slices.Contains(lists, name) { // a release can have the name, too
			lists = append(lists, name)
		}
		for _, row := range rows.Rows {
			if text, ok := row[0].(string); ok {
				keys = append(keys, query.Text(text))
			}
		}
	}
	return keys, lists, nil
}

// Public reads a public table. It first checks, in the same snapshot, that the table is
// public, that it is not computed from private rows, and that its REAL columns hold the
// declared values. So the noise is scaled to the weights of the rows that were read.
func (b joinable) Public(name string) (rows *sqlfront.PublicRows, err error) {
	if b.t.Unread[query.FoldName(name)] {
		return nil, &view.UnreadError{Name: name}
	}
	err = b.store.Read(b.ctx, func(tx *catalog.Tx) error {
		public, err := tx.IsPublic(name)
		if err != nil || !public {
			return err
		}
		if err := ReadsNoPrivateRows(b.ctx, tx, name, nil); err != nil {
			return err
		}
		columns, err := tx.PublicColumns(name)
		if err != nil {
			return err
		}
		if rows, err = publicRows(b.ctx, tx, name); err != nil {
			return err
		}
		for _, c := range columns {
			i := slices.IndexFunc(rows.Columns, func(name string) bool { return query.SameName(name, c.Name) })
			if i < 0 {
				return sqlerr.New(sqlerr.Invalid, "%s no longer has the column %s that it was declared with", name, c.Name).
					WithHint("drop the declaration and declare it anew: DROP PUBLIC TABLE %s", name)
			}
			if err := rows.InSteps(i, c.Steps); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

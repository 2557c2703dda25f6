package declare

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// readSource reads the declaration of a database outside the file.
func readSource(st *syntax.CreateSource) (catalog.Source, error) {
	o := kind.NewOptions(st.Options, "dsn_env", "timeout")
	declared := catalog.Source{Name: st.Name.Text, Kind: catalog.Postgres,
		Timeout: time.Duration(o.Integer("timeout", 0, 1, 1e6)) * time.Second}
	switch given := o.Find("dsn_env"); {
	case given == nil:
		o.Fail(sqlerr.New(sqlerr.Invalid, "dsn_env is missing").
			WithHint("put the connection string into an environment variable and name that: WITH (dsn_env = 'WAREHOUSE_DSN')"), st.Name.Position)
	case given.Kind == syntax.Number || !syntax.IsVariable(given.Value):
		o.Fail(sqlerr.New(sqlerr.Invalid, "dsn_env must be the name of an environment variable").
			WithHint("WITH (dsn_env = 'WAREHOUSE_DSN')"), given.Position)
	default:
		declared.DSNEnv = given.Value
	}
	if slices.Contains([]string{"main", "temp"}, query.FoldName(declared.Name)) {
		o.Fail(sqlerr.New(sqlerr.Invalid, "a source cannot be called %s, as SQLite's own are", declared.Name), st.Name.Position)
	}
	return declared, o.Done()
}

// CreateSource declares a database outside the file. It does not connect: that needs the
// secret, which is read when rows are read.
func (s *Statement) CreateSource(ctx context.Context, st *syntax.CreateSource) (warnings []string, err error) {
	declared, err := readSource(st)
	if err != nil {
		return nil, err
	}
	if os.Getenv(declared.DSNEnv) == "" {
		warnings = append(warnings, declared.DSNEnv+" is not set where dpsql runs now: it is needed when rows are read")
	}
	return warnings, s.Store.Write(ctx, func(tx *catalog.Tx) error {
		existing, err := tx.Source(declared.Name)
		if err != nil || existing != nil && st.IfNotExists {
			return err
		}
		return sqlerr.Locate(tx.AddSource(&declared), st.Name.Position)
	})
}

// dropSource removes a source that no private table uses.
func (s *Statement) dropSource(ctx context.Context, name string) error {
	var dropped *catalog.Source
	err := s.Store.Write(ctx, func(tx *catalog.Tx) (err error) {
		if dropped, err = tx.Source(name); err != nil {
			return err
		}
		return tx.DropSource(name)
	})
	if err == nil && dropped != nil {
		s.Rows.CloseSource(dropped.ID)
	}
	return err
}

// Outside is a source and what it says about the rows of a table being declared.
type Outside struct {
	Source catalog.Source
	Schema source.Schema
}

// lookOutside asks the source in a declaration for the schema of its rows. It returns nil
// if the rows are in the file or the table exists already. It holds no lock on the file
// while it waits.
func (s *Statement) lookOutside(ctx context.Context, st *syntax.CreatePrivate, u unit, asked periods) (*Outside, error) {
	if st.In.Text == "" {
		return nil, nil
	}
	var t catalog.Table
	var found *catalog.Source
	err := s.Store.Read(ctx, func(tx *catalog.Tx) error {
		existing, err := tx.Table(st.Name.Text)
		switch {
		case err != nil, existing != nil && st.IfNotExists:
			return err
		case existing != nil:
			return sqlerr.New(sqlerr.Exists, "the private table %s exists", existing.Name).At(st.Name.Position)
		}
		if found, err = sourceOfName(tx, st.In); err != nil {
			return err
		}
		t, err = declared(ctx, tx, st, found, s.Unknown)
		return err
	})
	if err != nil || found == nil {
		return nil, err
	}
	t.Unit, t.MaxRows, t.Key = u.column, u.rows, u.key
	partition, err := asked.partition(t)
	if err != nil {
		return nil, err
	}
	if partition != nil {
		t.Period = partition.Column
	}
	if s.Unknown != nil {
		return s.Unknown.Outside(found, t), nil
	}
	out := &Outside{Source: *found}
	err = s.Rows.Look(ctx, found, func(from source.Checker) error {
		whole := view.SourceTable(t)
		whole.Columns = nil
		if _, err := from.Check(ctx, whole); err != nil {
			return sqlerr.Locate(err, st.Source.Position)
		}
		var err error
		out.Schema, err = from.Check(ctx, lieIn(t, partition))
		if err == nil && strings.HasSuffix(out.Schema.Text, source.Apart) && !u.fixed {
			err = sqlerr.New(sqlerr.Invalid, "the rows of %s are on several servers, which share no snapshot: one that moves while it is read could count twice", t.Source).
				WithHint("say whose rows they are, WITH (…, unit = …, max_rows = …), where a key as the unit needs max_rows = 1; or that none ever moves, WITH (…, placement = fixed)")
		}
		return sqlerr.Locate(err, st.Name.Position)
	})
	return out, sqlerr.Locate(err, st.In.Position)
}

// sourceOfName returns the declared source with that name.
func sourceOfName(tx *catalog.Tx, name syntax.Name) (*catalog.Source, error) {
	found, err := tx.Source(name.Text)
	if err == nil && found == nil {
		err = sqlerr.New(sqlerr.Unknown, "there is no source %s", name.Text).
			WithHint("SHOW SOURCES lists them, CREATE SOURCE declares one").At(name.Position)
	}
	return found, err
}

// notShared is the warning that only a declaration can give.
const notShared = "the budget is kept in this file: another dpsql file that declares the same rows has a budget of its own, and neither knows what the other spends"

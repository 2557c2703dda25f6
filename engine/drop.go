package engine

import (
	"context"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// drop removes a declaration. What was spent stays spent; a mechanism's runs
// that never started are given back.
func (s *Session) drop(ctx context.Context, st *sqlfront.Drop) (*Result, error) {
	if st.Kind == sqlfront.SourceObject {
		return &Result{}, sqlerr.Locate(forgiven(st, s.dropSource(ctx, st.Name.Text)), st.Name.Position)
	}
	err := s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		switch st.Kind {
		case sqlfront.Release:
			return tx.DropRelease(st.Name.Text)
		case sqlfront.Mechanism:
			return dropMechanism(tx, st.Name.Text)
		case sqlfront.PrivateTable:
			return tx.DropTable(st.Name.Text)
		}
		return tx.DropPublic(st.Name.Text)
	})
	return &Result{}, sqlerr.Locate(forgiven(st, err), st.Name.Position)
}

// forgiven leaves out that a thing is not there, where IF EXISTS says it may not.
func forgiven(st *sqlfront.Drop, err error) error {
	if st.IfExists && sqlerr.CodeOf(err) == sqlerr.Unknown {
		return nil
	}
	return err
}

func dropMechanism(tx *catalog.Tx, name string) error {
	m, err := tx.Mechanism(name)
	if err != nil {
		return err
	}
	if m == nil {
		return sqlerr.New(sqlerr.Unknown, "there is no mechanism %s", name)
	}
	t, err := tx.Table(m.Table)
	if err != nil {
		return err
	}
	if t == nil || t.ID != m.TableID {
		return sqlerr.New(sqlerr.Corrupt, "the private table of mechanism %s is missing", m.Name)
	}
	if unused := m.Updates - m.RunsStarted; unused > 0 {
		amount := accounting.Amount{Rho: m.RunRho * accounting.Rho(unused)}
		if err := tx.Return(t.Account, catalog.KindInteractive, "return unused runs", m.Name, amount); err != nil {
			return err
		}
	}
	return tx.DropMechanism(name)
}

// export writes a release into a new file that answers its queries anywhere
// and holds nothing else of the database.
func (s *Session) export(ctx context.Context, st *sqlfront.Export) (*Result, error) {
	err := s.db.store.ExportRelease(ctx, st.Release.Text, s.path(st.Path))
	if sqlerr.CodeOf(err) == sqlerr.Unknown {
		return nil, sqlerr.Locate(err, st.Release.Position)
	}
	return &Result{}, sqlerr.Locate(err, st.PathPosition)
}

package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// alterPrivate changes what SELECTs may take of the budget of a table's rows. It
// holds for the next purchase, in all processes.
func (s *Session) alterPrivate(ctx context.Context, st *sqlfront.AlterPrivate) (*Result, error) {
	o := newOptions(st.Options, limitNames...)
	limits := readLimits(o)
	if err := o.done(); err != nil {
		return nil, err
	}
	return &Result{}, s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		v, err := view.Read(tx)
		if err != nil {
			return err
		}
		t, err := altered(v, st)
		if err != nil {
			return err
		}
		return tx.SetLimits(t.Account, t.Name, limits.over(v.Limits(t)))
	})
}

// altered returns the table that an ALTER names.
func altered(v *view.View, st *sqlfront.AlterPrivate) (*view.Table, error) {
	t, err := v.Table(st.Name.Text, st.Name.Position)
	if err == nil && t.Source == "" {
		err = sqlerr.New(sqlerr.Invalid, "%s has no budget: it was exported with a release", t.Name).At(st.Name.Position)
	}
	return t, err
}

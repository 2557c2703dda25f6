package engine

import (
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// source plans the declaration of a source.
func (r *Rehearsal) source(st *sqlfront.CreateSource) (*Result, error) {
	declared, err := readSource(st)
	if err != nil {
		return nil, err
	}
	if known := r.sourceOf(st.Name.Text); known != nil {
		if st.IfNotExists {
			return planned(st.Name.Text, "source", "0", doneNote), nil
		}
		return nil, sqlerr.New(sqlerr.Invalid, "the source %s exists", known.Name).At(st.Name.Position)
	}
	declared.ID = r.id()
	r.view.Sources = append(r.view.Sources, declared)
	return planned(st.Name.Text, "source", "0", "is declared"), nil
}

// sourceOf returns the source of that name, nil when there is none.
func (r *Rehearsal) sourceOf(name string) *catalog.Source {
	for i := range r.view.Sources {
		if query.SameName(r.view.Sources[i].Name, name) {
			return &r.view.Sources[i]
		}
	}
	return nil
}

// place says which source has the rows of a table to be declared.
func (r *Rehearsal) place(st *sqlfront.CreatePrivate, t *view.Table) error {
	if st.In.Text == "" {
		return nil
	}
	known := r.sourceOf(st.In.Text)
	if known == nil {
		return sqlerr.New(sqlerr.Unknown, "there is no source %s", st.In.Text).At(st.In.Position)
	}
	in := *known
	t.Outside, t.SourceID = &in, in.ID
	return nil
}

// accountOutside returns the account that rows outside the file have by what the
// catalog knows, nil where that is none. Their server is not asked.
func (r *Rehearsal) accountOutside(tx *catalog.Tx, t *view.Table) (*catalog.Account, error) {
	for _, other := range r.view.Tables {
		if other.SourceID == t.SourceID && query.SameName(other.Source, t.Source) && !r.view.Accounts[other.Account].Unbuilt {
			return tx.Account(other.Account)
		}
	}
	r.leaves("whether the rows of %s have a budget already, and whether %s is what is declared: its server is not asked", t.Place(), t.Name)
	return nil, nil
}

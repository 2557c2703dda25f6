package catalog

import (
	"slices"
	"strings"
	"time"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Postgres is the kind of a source that is a PostgreSQL database.
const Postgres = "postgres"

// Source is a database outside the file that holds private rows. Its connection string
// is a secret, so the catalog stores only the name of the environment variable that
// holds the string.
type Source struct {
	ID        int64         `json:"-"`
	Name      string        `json:"-"`
	Kind      string        `json:"kind"`    // Postgres
	DSNEnv    string        `json:"dsn_env"` // the name of the environment variable
	Timeout   time.Duration `json:"-"`       // of one statement there, in whole seconds; 0 for none
	CreatedAt time.Time     `json:"created_at"`
}

// storedSource is the body of a source.
type storedSource struct {
	Source
	Timeout int64 `json:"timeout"` // in seconds
}

func sourceFrom(o *object, stored *storedSource) (Source, error) {
	s := stored.Source
	s.ID, s.Name, s.Timeout = o.id, o.name, time.Duration(stored.Timeout)*time.Second
	return s, nil
}

// Sources lists the declared sources by name.
func (tx *Tx) Sources() ([]Source, error) { return all(tx, kindSource, sourceFrom) }

// Source returns the source of that name, nil when there is none.
func (tx *Tx) Source(name string) (*Source, error) {
	return one(tx, kindSource, named(name), sourceFrom)
}

// SourceByID returns the source in which a private table has its rows. Errors:
// Corrupt when there is none.
func (tx *Tx) SourceByID(id int64) (*Source, error) {
	s, err := one(tx, kindSource, withID(id), sourceFrom)
	if err == nil && s == nil {
		err = corrupt("source %d is missing from the catalog", id)
	}
	return s, err
}

// AddSource stores a declaration and sets s.ID and s.CreatedAt. Errors: Invalid
// when the name is taken.
func (tx *Tx) AddSource(s *Source) error {
	existing, err := tx.Source(s.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Exists, "the source %s exists", existing.Name).Of(sqlerr.Thing)
	}
	s.CreatedAt = tx.stamp()
	s.ID, err = tx.create(kindSource, s.Name, 0, &storedSource{*s, int64(s.Timeout / time.Second)})
	return err
}

// DropSource removes the declaration. Errors: Unknown; Invalid while a private
// table has its rows there.
func (tx *Tx) DropSource(name string) error {
	s, err := tx.Source(name)
	switch {
	case err != nil:
		return err
	case s == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no source %s", name)
	}
	tables, err := tx.Tables()
	if err != nil {
		return err
	}
	if t := pick(tables, func(t *Table) bool { return t.SourceID == s.ID }); t != nil {
		return sqlerr.New(sqlerr.Invalid, "%s has the rows of the private table %s", s.Name, t.Name).
			WithHint("DROP PRIVATE TABLE %s first", t.Name)
	}
	return tx.drop(kindSource, s.ID)
}

// PublicColumn is a column of a public table that was declared REAL.
type PublicColumn struct {
	Public string // the table
	Name   string
	Steps  query.Steps
}

// KeyList says that a public table lists keys that a column of a private table had when they were
// discovered. The private table is known by its name: it may be declared anew.
type KeyList struct {
	Public string `json:"-"`
	Table  string `json:"table"`
	Column string `json:"column"`
}

// storedPublic is the body of a public table.
type storedPublic struct {
	id         int64
	name       string
	DeclaredAt time.Time     `json:"declared_at"`
	Columns    []storedSteps `json:"columns,omitempty"` // that were declared REAL
	Keys       *KeyList      `json:"keys,omitempty"`    // which it lists; nil for none
}

// storedSteps is a column of a public table with its steps, as decimal text.
type storedSteps struct {
	Name    string `json:"name"`
	Lowest  string `json:"lowest"`
	Highest string `json:"highest"`
	Step    string `json:"step"`
	OrNull  bool   `json:"or_null"`
}

func publicFrom(o *object, p *storedPublic) (storedPublic, error) {
	p.id, p.name = o.id, o.name
	return *p, nil
}

// AddPublic declares a raw table public, so that domains and joins may read it. The
// columns given are REAL columns with their steps. Errors: Invalid when the table is
// public already or a base of a private table.
func (tx *Tx) AddPublic(name string, columns ...PublicColumn) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	if len(accountsOf(accounts, name)) > 0 {
		return sqlerr.New(sqlerr.Invalid, "%s holds the rows of a private table and cannot be public", name)
	}
	if public, err := tx.IsPublic(name); err != nil || public {
		if err == nil {
			err = sqlerr.New(sqlerr.Exists, "%s is already public", name)
		}
		return err
	}
	p := storedPublic{DeclaredAt: tx.stamp()}
	for _, c := range columns {
		lowest, highest, step := c.Steps.Texts()
		p.Columns = append(p.Columns, storedSteps{c.Name, lowest, highest, step, c.Steps.HasNull()})
	}
	_, err = tx.create(kindPublic, name, 0, &p)
	return err
}

// IsPublic reports whether the raw table was declared public.
func (tx *Tx) IsPublic(name string) (bool, error) {
	objects, err := tx.living(kindPublic)
	return pick(objects, named(name)) != nil, err
}

// Publics lists the names of the public tables, sorted.
func (tx *Tx) Publics() (names []string, err error) {
	objects, err := tx.living(kindPublic)
	for _, o := range objects {
		names = append(names, o.name)
	}
	return names, err
}

// DropPublic removes the declaration. Errors: Unknown.
func (tx *Tx) DropPublic(name string) error {
	p, err := one(tx, kindPublic, named(name), publicFrom)
	switch {
	case err != nil:
		return err
	case p == nil:
		return sqlerr.New(sqlerr.Unknown, "%s is not a public table", name)
	}
	return tx.drop(kindPublic, p.id)
}

// PublicColumns lists by name the columns of a public table that were declared with
// steps.
func (tx *Tx) PublicColumns(public string) ([]PublicColumn, error) {
	p, err := one(tx, kindPublic, named(public), publicFrom)
	if err != nil || p == nil {
		return nil, err
	}
	var out []PublicColumn
	for _, c := range p.Columns {
		steps, ok := query.ReadSteps(c.Lowest, c.Highest, c.Step, c.OrNull)
		if !ok {
			return nil, corrupt("the steps of column %s cannot be read", c.Name)
		}
		out = append(out, PublicColumn{p.name, c.Name, steps})
	}
	slices.SortFunc(out, func(a, b PublicColumn) int { return strings.Compare(query.FoldName(a.Name), query.FoldName(b.Name)) })
	return out, nil
}

// AddKeyList stores what a public table lists.
func (tx *Tx) AddKeyList(l KeyList) error {
	p, err := one(tx, kindPublic, named(l.Public), publicFrom)
	switch {
	case err != nil:
		return err
	case p == nil || p.Keys != nil:
		return sqlerr.New(sqlerr.Internal, "%s is not a public table without a list of keys", l.Public)
	}
	p.Keys = &l
	return tx.replace(kindPublic, p.id, p)
}

// KeyLists returns the lists of keys, by the names of the public tables.
func (tx *Tx) KeyLists() (lists []KeyList, err error) {
	publics, err := all(tx, kindPublic, publicFrom)
	for _, p := range publics {
		if p.Keys != nil {
			lists = append(lists, KeyList{p.name, p.Keys.Table, p.Keys.Column})
		}
	}
	return lists, err
}

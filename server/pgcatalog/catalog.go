// Package pgcatalog answers what PostgreSQL's clients ask about a database's schema: SELECTs
// about pg_catalog and information_schema, and calls of functions that only a PostgreSQL
// server has.
//
// A Catalog is made of a Picture, plain data about the tables that one user may see. It has no
// file, no connection and no rows of tables, so no statement can reach a private row. A
// statement is parsed, and each of its expressions is given PostgreSQL's type, because clients
// ask for the types of columns and parameters before they ask for rows. The typed tree is then
// written as SQL of SQLite, in which every name is the binder's, and run by an SQLite in memory
// that has the relations as tables. What SQLite has not is one function, pg, that calls Go.
//
// A statement about the catalog is the analyst's own SQL. The time, the memory and the rows of
// one are limited, and an authorizer lets it read and call what the binder writes, and no more.
package pgcatalog

import "time"

// Picture is what a Catalog shows.
type Picture struct {
	Database string
	User     string  // who asks; no other user is shown
	Version  string  // the text of version()
	Tables   []Table // that the user may see
}

// Table is a table of the picture. Private and public tables are alike: clients list relations
// of the kind "r" and nothing else by default, and what a client could do with a view, to read
// its definition, neither kind allows.
type Table struct {
	Name    string
	Comment string // "" for none
	Columns []Column
}

// Column is a column of a table. Its type is one of int8, float8, numeric, numeric(p,s), text,
// bool, date, time and timestamp.
type Column struct {
	Name     string
	Type     string
	Nullable bool
	Comment  string // "" for none
}

// Catalog answers statements. It does not change, it holds no resources, and it is safe for
// concurrent use. It is little more than its picture: the rows that the system's relations have
// for it are made by the statement that reads them.
type Catalog struct {
	picture  Picture
	sorted   []*relation // the tables by name
	tables   map[string]*relation
	byOID    map[uint32]*relation
	rowTypes map[uint32]string // the types of tables' rows, and arrays of these
	roles    []role
	time     time.Duration // that a statement may run; maxTime if 0, and tests set another
}

type role struct {
	oid   uint32
	name  string
	login bool
}

// The column types of tables.
var columnTypes = []string{"int8", "float8", "numeric", "text", "bool", "date", "time", "timestamp"}

// relation is a table or view that a statement may name.
type relation struct {
	oid          uint32
	schema, name string
	kind         string // of pg_class: r or v
	columns      []relationColumn
	modifiers    []int64 // of a table's columns; none for the system's
	table        *Table  // nil for the system's
	rows         [][]any // those that every Catalog has
}

type relationColumn struct {
	name    string
	typ     uint32
	notNull bool
}

// types are the types that clients may meet.
type types struct {
	types map[uint32]*typeInfo
	names map[string]uint32
	procs map[string]uint32 // the functions of pg_proc, of one name the first
	named map[uint32]string // and their names
}

// systemCatalog is what all Catalogs share. Nothing in it changes.
type systemCatalog struct {
	relations map[string]*relation // by schema.name
	byOID     map[uint32]*relation
	keywords  [][]any
}

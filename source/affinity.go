package source

import (
	"context"
	"strings"

	"dpsql/query"
)

// comparesStored returns for each column of the table whether its stored values
// compare with values of the declared domain as the canonical ones do, so that a
// condition on the stored value is necessary: columns of numeric affinity with
// an INTEGER domain, and of TEXT affinity with a TEXT domain. Only columns of
// tables are asked; those of a view can be of mixed affinity.
func comparesStored(ctx context.Context, q Querier, t Table) ([]bool, error) {
	types, err := storedTypes(ctx, q, t.Source)
	if err != nil {
		return nil, err
	}
	sound := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		declared, ok := types[query.FoldName(c.Name)]
		switch affinity := affinityOf(declared); c.Domain.Type() {
		case query.TypeInteger:
			sound[i] = ok && affinity == numericAffinity
		case query.TypeText:
			sound[i] = ok && affinity == textAffinity
		}
	}
	return sound, nil
}

// storedTypes returns the declared types of the columns, by folded name, if the
// source is an ordinary table.
func storedTypes(ctx context.Context, q Querier, source string) (map[string]string, error) {
	return typesOf(ctx, q, source, `SELECT x.name || char(0) || x.type
		FROM main.sqlite_schema AS s, pragma_table_xinfo(s.name, 'main') AS x
		WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ? COLLATE NOCASE`)
}

// typesOf returns types by folded name, from a statement that gives each column's
// name and type with a NUL between.
func typesOf(ctx context.Context, q Querier, source, statement string) (map[string]string, error) {
	found, err := texts(ctx, q, source, statement, source)
	if err != nil {
		return nil, err
	}
	types := make(map[string]string)
	for _, f := range found {
		name, declared, _ := strings.Cut(f, "\x00")
		types[query.FoldName(name)] = declared
	}
	return types, nil
}

type affinity uint8

const (
	noAffinity      affinity = iota // values are stored as they come
	numericAffinity                 // INTEGER, REAL or NUMERIC: a text that is a number is stored as a number
	textAffinity                    // numbers are stored as texts
	unknownAffinity
)

// affinityOf applies SQLite's rules for a declared type (its documentation,
// "Datatypes In SQLite", section 3.1). ANY is NUMERIC in an ordinary table, but
// in a STRICT one has no affinity.
func affinityOf(declared string) affinity {
	folded := query.FoldName(declared) // of ASCII only, as SQLite does
	has := func(part string) bool { return strings.Contains(folded, part) }
	switch {
	case has("int"):
		return numericAffinity
	case has("char"), has("clob"), has("text"):
		return textAffinity
	case has("blob"), folded == "", folded == "any":
		return noAffinity
	}
	return numericAffinity
}

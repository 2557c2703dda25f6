package postgres

import (
	"context"
	"slices"

	"dpsql/sqlerr"
)

// vouch refuses views that can fail on a row, or vary. It returns what the server
// says of what they use.
func (r *reader) vouch(ctx context.Context, v view, source string) (known catalog, err error) {
	what := v.refused
	if what == "" {
		if err := r.lookUp(ctx, v, &known); err != nil {
			return known, err
		}
		what = v.refusedFor(known)
	}
	if what == "" {
		return known, nil
	}
	return known, sqlerr.New(sqlerr.Unsupported, "%s has %s: it could fail on a row, or vary between calls", source, what).
		WithHint("write it with what cannot fail, such as CASE, substr and lower, or leave it out of the view")
}

// catalog is what the server says of what a view uses, by numbers.
type catalog struct {
	functions  map[string]string // their names, of those that are PostgreSQL's own and not volatile
	operators  map[string]string // the names of the functions that they stand for, if those are such
	types      map[string]typ
	collations map[string]bool // the deterministic ones
}

// typ is a type.
type typ struct {
	name     string // as in printable; "" for one that is not PostgreSQL's own
	collates bool
}

const ownFunction = `p.pronamespace = 'pg_catalog'::regnamespace AND p.oid < 16384 AND p.provolatile <> 'v'`

const functionsText = `SELECT p.oid::text, p.oid::regprocedure::text FROM pg_proc AS p WHERE p.oid = ANY ($1::oid[]) AND ` + ownFunction

const operatorsText = `SELECT o.oid::text, p.oid::regprocedure::text FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = o.oprcode
	WHERE o.oid = ANY ($1::oid[]) AND o.oprnamespace = 'pg_catalog'::regnamespace AND o.oid < 16384 AND ` + ownFunction

const typesText = `WITH RECURSIVE base(oid, typ) AS (
		SELECT oid, oid FROM pg_type WHERE oid = ANY ($1::oid[])
		UNION ALL SELECT b.oid, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.typ WHERE t.typtype = 'd')
	SELECT b.oid::text, CASE WHEN t.typtype = 'e' THEN 'enum'
			WHEN t.typlen = -1 AND EXISTS (SELECT FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
				WHERE p.oid = t.typoutput AND l.lanname = 'internal' AND p.prosrc IN ('textout', 'varcharout', 'bpcharout')) THEN 'text'
			WHEN t.typnamespace = 'pg_catalog'::regnamespace AND t.oid < 16384 THEN t.typname::text ELSE '' END, t.typcollation <> 0
	FROM base AS b JOIN pg_type AS t ON t.oid = b.typ WHERE t.typtype <> 'd'`

const collationsText = `SELECT oid::text, '' FROM pg_collation WHERE oid = ANY ($1::oid[]) AND collisdeterministic`

// lookUp asks the server for all that a view uses.
func (r *reader) lookUp(ctx context.Context, v view, known *catalog) error {
	var functions, operators, types, collations []string
	operators = append(operators, v.operators...)
	for _, c := range v.calls {
		if c.operator {
			operators = append(operators, c.number)
		} else if c.number != "" {
			functions = append(functions, c.number)
		}
		types = append(types, c.types...)
		collations = append(collations, c.collation)
	}
	for _, u := range v.uses {
		types = append(types, u.from, u.to)
	}
	for _, c := range v.collated {
		types = append(types, c.typ)
	}
	known.types, known.collations = make(map[string]typ), make(map[string]bool)
	var err error
	if known.functions, err = r.names(ctx, functionsText, "dpsql_functions", functions); err != nil {
		return err
	}
	if known.operators, err = r.names(ctx, operatorsText, "dpsql_operators", operators); err != nil {
		return err
	}
	deterministic, err := r.names(ctx, collationsText, "dpsql_collations", collations)
	if err != nil {
		return err
	}
	for c := range deterministic {
		known.collations[c] = true
	}
	if types = numbered(types); len(types) == 0 {
		return nil
	}
	return r.rows(ctx, statement{typesText, texts(array(types)), "dpsql_types"}, func(row [][]byte) bool {
		known.types[string(row[0])] = typ{string(row[1]), row[2][0] == 1}
		return true
	})
}

// names asks for the names of what has numbers.
func (r *reader) names(ctx context.Context, text, name string, numbers []string) (map[string]string, error) {
	out := make(map[string]string)
	if numbers = numbered(numbers); len(numbers) == 0 {
		return out, nil
	}
	err := r.rows(ctx, statement{text, texts(array(numbers)), name}, func(row [][]byte) bool {
		out[string(row[0])] = string(row[1])
		return true
	})
	return out, err
}

// numbered sorts numbers, without those that are not known.
func numbered(all []string) []string {
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// refusedFor names what the view must not have, "" if it has none of it.
func (v view) refusedFor(known catalog) string {
	for _, c := range v.calls {
		if what := c.refusedFor(known); what != "" {
			return what
		}
	}
	for _, o := range v.operators {
		if name := known.operators[o]; !total.MatchString(name) {
			return "an order of values by a function that is not vouched for: " + name
		}
	}
	for _, u := range v.uses {
		from, to := known.types[u.from].name, known.types[u.to].name
		if from == "" || u.types != nil && !u.types[from] || u.to != "" && from != to {
			return u.what + " of the type " + from
		}
	}
	for _, c := range v.collated {
		if t, ok := known.types[c.typ]; !ok || t.collates && (c.collation == "" || c.collation == "0") {
			return "a text whose collation cannot be told"
		}
	}
	return ""
}

// refusedFor names what is wrong with a call, "" if it gives a value for every
// row.
func (c call) refusedFor(known catalog) string {
	for _, number := range c.types {
		t, ok := known.types[number]
		if !ok {
			return "an argument whose type cannot be told"
		}
		if t.collates && !known.collations[c.collation] {
			return "a comparison by a collation that is not deterministic, or cannot be told"
		}
	}
	names := known.functions
	if c.operator {
		names = known.operators
	}
	switch name := names[c.number]; {
	case c.number == "":
		return ""
	case name == "":
		return "a call of a function that is not PostgreSQL's own, or is volatile"
	case !c.safe(name):
		return "a call of " + name
	}
	return ""
}

package pgcatalog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// This file has the functions about the session, and about what has an OID.

func oidOf(v any) uint32 { return uint32(v.(int64)) }

func either(yes bool, a, b any) any {
	if yes {
		return a
	}
	return b
}

func serverVersion(r *run, _ []any) any { return r.catalog.picture.Version }

func databaseName(r *run, _ []any) any { return r.catalog.picture.Database }

func userName(r *run, _ []any) any { return r.catalog.picture.User }

func backendPID(r *run, _ []any) any { return int64(int32(r.session.PID)) }

// begun is when the statement began.
func begun(t uint32) evaluation {
	return func(r *run, _ []any) any { return r.begun.Format(layouts[t][0]) }
}

func currentSchemas(_ *run, a []any) any {
	if a[0] == true {
		return textArray("pg_catalog", "public")
	}
	return textArray("public")
}

func currentSetting(r *run, a []any) any {
	name := a[0].(string)
	if v, ok := r.setting(name); ok {
		return v
	}
	if len(a) > 1 && a[1] == true {
		return nil
	}
	fail(sqlerr.New(sqlerr.Unknown, "unrecognized configuration parameter %q", excerpt(name)).
		Of(sqlerr.Parameter))
	return nil
}

func setConfig(r *run, a []any) any {
	name, ok := a[0].(string)
	if !ok {
		fail(sqlerr.New(sqlerr.Invalid, "SET requires parameter name"))
	}
	value, _ := a[1].(string)
	if r.session.Set == nil {
		unsupported(0, "set_config of %s", excerpt(name))
	}
	if err := r.session.Set(name, value, a[2] == true); err != nil {
		fail(err)
	}
	return value
}

func encodingName(_ *run, a []any) any { return either(a[0] == int64(6), "UTF8", "") }

func encodingNumber(_ *run, a []any) any {
	name := strings.ToUpper(a[0].(string))
	return either(name == "UTF8" || name == "UTF-8", int64(6), int64(-1))
}

func formatType(r *run, a []any) any {
	n, ok := a[0].(int64)
	if !ok {
		return nil
	}
	if n == 0 {
		return "-"
	}
	s := r.catalog.typeTitle(uint32(n))
	switch m, ok := a[1].(int64); {
	case !ok:
	case n == numericOID && m >= 4:
		return fmt.Sprintf("%s(%d,%d)", s, (m-4)>>16, (m-4)&0x7ff)
	case (n == timestampOID || n == timestampTZ) && m >= 0:
		return strings.Replace(s, "timestamp", fmt.Sprintf("timestamp(%d)", m), 1)
	case (n == varcharOID || n == bpcharOID) && m > 4:
		return fmt.Sprintf("%s(%d)", s, m-4)
	case n == bpcharOID:
		return "bpchar"
	}
	return s
}

func tableIsVisible(r *run, a []any) any {
	if rel := r.catalog.relationOf(oidOf(a[0])); rel != nil {
		return rel.schema != "information_schema"
	}
	return nil
}

func typeIsVisible(r *run, a []any) any {
	n := oidOf(a[0])
	if typeTable().types[n] != nil {
		return n < firstUnpinned
	}
	return either(r.catalog.rowTypes[n] != "", true, nil)
}

func functionIsVisible(_ *run, a []any) any {
	return either(typeTable().named[oidOf(a[0])] != "", true, nil)
}

func roleNamed(r *run, a []any) any { return r.catalog.roleName(oidOf(a[0])) }

func described(r *run, a []any) any { return r.comment(a[0], 0) }

func columnDescribed(r *run, a []any) any { return r.comment(a[0], a[1].(int64)) }

// comment returns the comment on a relation, or on its column.
func (r *run) comment(oid any, column int64) any {
	for _, row := range sharedCatalog().relations["pg_catalog.pg_description"].rows {
		if row[0] == oid && row[2] == column {
			return row[3]
		}
	}
	rel := r.catalog.relationOf(oidOf(oid))
	if rel == nil || column < 0 {
		return nil
	}
	s := rel.description(int(column))
	return either(s != "", s, nil)
}

func toReg(t uint32) evaluation {
	return func(r *run, a []any) any {
		if n, err := strconv.ParseUint(a[0].(string), 10, 32); err == nil {
			return int64(n)
		}
		n := r.catalog.regLookup(a[0].(string), t)
		return either(n != 0, n, nil)
	}
}

// proc returns a row of pg_proc by column, nil if there is none.
func (r *run) proc(oid any) map[string]any {
	table := sharedCatalog().relations["pg_catalog.pg_proc"]
	for _, row := range table.rows {
		if r.step(); row[0] == oid {
			out := make(map[string]any, len(row))
			for i, c := range table.columns {
				out[c.name] = row[i]
			}
			return out
		}
	}
	return nil
}

func functionDefinition(_ *run, a []any) any {
	if name := typeTable().named[oidOf(a[0])]; name != "" {
		fail(sqlerr.New(sqlerr.Unsupported, "the definition of %s is outside the catalog: it is part of the server",
			name))
	}
	return nil
}

func functionResult(r *run, a []any) any {
	p := r.proc(a[0])
	if p == nil {
		return nil
	}
	s := r.catalog.typeTitle(oidOf(p["prorettype"]))
	return either(p["proretset"] == true, "SETOF "+s, s)
}

func functionArguments(r *run, a []any) any {
	p := r.proc(a[0])
	if p == nil {
		return nil
	}
	types, _ := p["proargtypes"].(*array)
	names, _ := p["proargnames"].(*array)
	var parts []string
	for i, t := range types.elements {
		s := r.catalog.typeTitle(oidOf(t))
		if names != nil && i < len(names.elements) && names.elements[i] != "" {
			s = fmt.Sprint(names.elements[i], " ", s)
		}
		parts = append(parts, s)
	}
	if p["prokind"] == "a" && len(parts) == 0 {
		return "*"
	}
	return strings.Join(parts, ", ")
}

func isPublishable(r *run, a []any) any {
	if rel := r.catalog.relationOf(oidOf(a[0])); rel != nil {
		return rel.schema == "public"
	}
	return nil
}

// noSize is 0: the size of a private table would tell how many rows it has.
func noSize(r *run, a []any) any {
	return either(r.catalog.relationOf(oidOf(a[0])) != nil, int64(0), nil)
}

func sizePretty(_ *run, a []any) any {
	n := number(a[0])
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; math.Abs(n) >= 10240 && i < len(units)-1; i++ {
		n = math.Round(n / 1024)
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " " + units[i]
}

// mayTable reports whether the user has one of the privileges on a table, given by name or OID as the first
// of so many last arguments: she may read what the catalog shows.
func mayTable(last int) evaluation {
	return func(r *run, a []any) any {
		oid, ok := a[len(a)-last].(int64)
		if !ok {
			oid = r.catalog.regInput(a[len(a)-last].(string), regclassOID)
		}
		if r.catalog.relationOf(uint32(oid)) == nil {
			return nil
		}
		return may("SELECT")(r, a)
	}
}

// may reports whether one of the privileges in the last argument is the one that everybody has.
func may(allowed string) evaluation {
	return func(_ *run, a []any) any {
		for _, p := range strings.Split(a[len(a)-1].(string), ",") {
			if strings.EqualFold(strings.TrimSpace(p), allowed) {
				return true
			}
		}
		return false
	}
}

// isRole reports whether a role, given by name or OID, is the user.
func isRole(r *run, a []any) any {
	role := a[len(a)-2]
	if oid, ok := role.(int64); ok {
		role = r.catalog.roleName(uint32(oid))
	}
	return role == r.catalog.picture.User
}

func keywords(*run, []any) any {
	var out []any
	for _, row := range sharedCatalog().keywords {
		out = append(out, row[0])
	}
	return out
}

// privilegeNames are the privileges by their letters in an aclitem.
var privilegeNames = map[rune]string{
	'r': "SELECT", 'a': "INSERT", 'w': "UPDATE", 'd': "DELETE", 'D': "TRUNCATE", 'x': "REFERENCES",
	't': "TRIGGER", 'U': "USAGE", 'C': "CREATE", 'c': "CONNECT", 'T': "TEMPORARY", 'X': "EXECUTE",
}

func aclExplode(r *run, a []any) any {
	var out []any
	role := func(name string) int64 { return r.catalog.regLookup(name, regroleOID) }
	for _, item := range itemsOf(r, a[0]).elements {
		s, _ := item.(string)
		who, rest, _ := strings.Cut(s, "=")
		letters, grantor, _ := strings.Cut(rest, "/")
		for _, c := range letters {
			if p := privilegeNames[c]; p != "" {
				out = append(out, record{role(grantor), role(who), p, false})
			}
		}
	}
	return out
}

func optionsToTable(r *run, a []any) any {
	var out []any
	for _, item := range itemsOf(r, a[0]).elements {
		s, _ := item.(string)
		name, value, _ := strings.Cut(s, "=")
		out = append(out, record{name, value})
	}
	return out
}

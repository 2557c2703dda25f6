package source

import (
	"context"
	"slices"
	"strings"

	"dpsql/query"
)

// schemaText returns the schema SQL of the source, of its base tables and of
// the views that it may pass through, sorted. A view counts as passed when its
// name occurs in the text of one that counts: more may be named than is read,
// never less, so that a change is never overlooked.
func schemaText(objects map[string]object, source string, bases []string) string {
	reached := map[string]bool{query.FoldName(source): true}
	queue := []string{query.FoldName(source)}
	for len(queue) > 0 {
		text := query.FoldName(objects[queue[0]].text)
		queue = queue[1:]
		for name, o := range objects {
			if o.kind == "view" && !reached[name] && mentions(text, name) {
				reached[name] = true
				queue = append(queue, name)
			}
		}
	}
	for _, base := range bases {
		reached[query.FoldName(base)] = true
	}
	var out []string
	for name := range reached {
		out = append(out, objects[name].text+";\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// mentions reports whether a text may name a view. A quote inside a name can be
// written in several ways, so that such a view always counts.
func mentions(text, view string) bool {
	return strings.Contains(text, view) || strings.ContainsAny(view, "\"'`")
}

// object is a table or view of the schema.
type object struct{ kind, name, text string }

// objectsOf returns the tables and views by folded name.
func objectsOf(ctx context.Context, q Querier, source string) (map[string]object, error) {
	found, err := q.QueryContext(ctx, `SELECT type, name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')`)
	if err != nil {
		return nil, failure(ctx, err, source)
	}
	defer found.Close()
	objects := make(map[string]object)
	for found.Next() {
		var o object
		if err := found.Scan(&o.kind, &o.name, &o.text); err != nil {
			return nil, failure(ctx, err, source)
		}
		objects[query.FoldName(o.name)] = o
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, source)
	}
	return objects, nil
}

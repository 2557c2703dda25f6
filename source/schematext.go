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
func schemaText(ctx context.Context, q Querier, source string, bases []string) (string, error) {
	texts, views, err := definitions(ctx, q, source)
	if err != nil {
		return "", err
	}
	reached := map[string]bool{query.FoldName(source): true}
	queue := []string{query.FoldName(source)}
	for len(queue) > 0 {
		text := query.FoldName(texts[queue[0]])
		queue = queue[1:]
		for _, view := range views {
			if !reached[view] && mentions(text, view) {
				reached[view] = true
				queue = append(queue, view)
			}
		}
	}
	for _, base := range bases {
		reached[query.FoldName(base)] = true
	}
	var out []string
	for name := range reached {
		out = append(out, texts[name]+";\n")
	}
	slices.Sort(out)
	return strings.Join(out, ""), nil
}

// mentions reports whether a text may name a view. A quote inside a name can be
// written in several ways, so that such a view always counts.
func mentions(text, view string) bool {
	return strings.Contains(text, view) || strings.ContainsAny(view, "\"'`")
}

// definitions returns the schema SQL of tables and views by folded name, and
// the folded names of the views.
func definitions(ctx context.Context, q Querier, source string) (sql map[string]string, views []string, err error) {
	found, err := q.QueryContext(ctx, `SELECT type, name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')`)
	if err != nil {
		return nil, nil, failure(ctx, err, source)
	}
	defer found.Close()
	sql = make(map[string]string)
	for found.Next() {
		var kind, name, text string
		if err := found.Scan(&kind, &name, &text); err != nil {
			return nil, nil, failure(ctx, err, source)
		}
		sql[query.FoldName(name)] = text
		if kind == "view" {
			views = append(views, query.FoldName(name))
		}
	}
	if err := found.Err(); err != nil {
		return nil, nil, failure(ctx, err, source)
	}
	return sql, views, nil
}

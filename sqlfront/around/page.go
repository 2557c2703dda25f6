//go:build js

package around

import (
	"context"

	"dpsql/sqlerr"
)

// connect refuses: a page has no SQLite.
func connect(context.Context, func(do action, name, of, database string) bool) (sqlite, error) {
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement needs SQLite, which is not here").
		WithHint("one SELECT of counts, with conditions and groups of one table, needs none")
}

package around

import (
	"context"
	"slices"
	"strings"
)

// batch is the number of calls that SQLite compiles at once, as columns of a SELECT.
const batch = 100

// Evaluate returns what a function, with a name of types.Function.Public, makes of each row of
// arguments. It has the walls that a statement has: the authorizer, which lets it read nothing, and
// the limits of time and memory. All rows have as many arguments.
func (db *Database) Evaluate(ctx context.Context, user int64, function string, rows [][]any) (out []any, err error) {
	none := &Statement{}
	err = db.with(ctx, none, Source{User: user}, func(c *connection) error {
		limited, cancel := db.limited(ctx)
		defer cancel()
		c.running = none
		for chunk := range slices.Chunk(rows, batch) {
			call := ", " + function + "(" + strings.TrimPrefix(strings.Repeat(", ?", len(chunk[0])), ", ") + ")"
			if function == "||" {
				call = ", ? || ?"
			}
			read, _, err := c.rows(limited, "SELECT "+strings.Repeat(call, len(chunk))[2:], len(chunk), slices.Concat(chunk...)...)
			if err != nil {
				return none.failure(ctx, limited, err)
			}
			out = append(out, read.Rows[0]...)
		}
		return nil
	})
	return out, err
}

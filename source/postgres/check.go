package postgres

import (
	"context"

	"dpsql/source"
)

// Check implements source.Reader.
func (r *reader) Check(ctx context.Context, t source.Table) (source.Schema, error) {
	var schema source.Schema
	err := r.read(ctx, t, func(rel *relation) error {
		_, err := columnsOf(rel, t)
		schema = source.Schema{Bases: []string{rel.schema + "." + rel.name}}
		return err
	})
	return schema, err
}

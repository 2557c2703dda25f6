package server_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestPeriods refuses the statements of periods to users, by both protocols.
func TestPeriods(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for _, text := range []string{
		`CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`,
		`REFRESH RELEASE r`, `REFRESH RELEASE r PERIOD '2024-01' AGAIN`, `DROP RELEASE r PERIOD '2024-01'`, `RETIRE PERIOD '2024-01' OF visits`,
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
			_, err := c.Exec(t.Context(), text, mode)
			var refusal *pgconn.PgError
			if !errors.As(err, &refusal) || refusal.Code != "42501" {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	_, err := c.Exec(t.Context(), `REFRESH MATERIALIZED VIEW v`)
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != "0A000" {
		t.Error(err)
	}
}

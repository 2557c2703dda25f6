package main

import (
	"encoding/json"
	"testing"
)

// TestDistinct: a log becomes the statements of a client, each once, with each list of
// parameters once, and with names for the server's own OIDs.
func TestDistinct(t *testing.T) {
	log := []entry{
		{Message: "connection authorized: user=ana"},
		{Message: "duration: 0.051 ms  statement: SELECT 'a''b'\n FROM t WHERE oid = 16402"},
		{Message: "duration: 1.5 ms  parse <unnamed>: SELECT $1, $2"},
		{Message: "duration: 0.2 ms  bind s1/c: SELECT $1, $2", Detail: "parameters: $1 = 'it''s, $2 = x', $2 = NULL"},
		{Message: "duration: 0.2 ms  execute s1/c: SELECT $1, $2", Detail: "parameters: $1 = 'it''s, $2 = x', $2 = NULL"},
		{Message: "duration: 0.2 ms  execute fetch from s1/c: SELECT $1, $2", Detail: "parameters: $1 = '16402', $2 = '116402'"},
		{Level: "ERROR", Message: "syntax error", Wrong: "SELEC 1"},
		{Message: "duration: 0.1 ms  statement: SELECT 'a''b'\n FROM t WHERE oid = 16402"},
	}
	got, err := json.Marshal(named(distinct(log), map[string]string{"16402": "{{t}}"}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"sql":"SELECT 'a''b'\n FROM t WHERE oid = {{t}}","protocol":"simple"},` +
		`{"sql":"SELECT $1, $2","protocol":"extended","args":[["it's, $2 = x",null],["{{t}}","116402"]]},` +
		`{"sql":"SELEC 1","protocol":"simple"}]`
	if string(got) != want {
		t.Errorf("statements:\n%s\nwant:\n%s", got, want)
	}
}

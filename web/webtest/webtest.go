// Package webtest holds what the console's API takes and replies to docs/web-schema.json, in tests.
package webtest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schemas are those of docs/web-schema.json by name. Here objects have no fields but theirs: what a reply has, they have.
type Schemas map[string]*jsonschema.Resolved

// Read reads docs/web-schema.json. It panics if that is no schema.
func Read(file string) Schemas {
	text, err := os.ReadFile(file)
	var whole jsonschema.Schema
	if err == nil {
		err = json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"properties":`, `"additionalProperties": false, "properties":`)), &whole)
	}
	all := make(Schemas)
	for name := range whole.Defs {
		if err == nil {
			all[name], err = (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: whole.CloneSchemas().Defs}).Resolve(nil)
		}
	}
	if err != nil {
		panic(err)
	}
	return all
}

// follows fails unless a text of JSON is what a schema says.
func (all Schemas) follows(t testing.TB, name, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil || all[name] == nil {
		t.Errorf("%s is no JSON, or docs/web-schema.json has no %s: %v", text, name, err)
	} else if err := all[name].Validate(v); err != nil {
		t.Errorf("docs/web-schema.json has another %s: %v: %s", name, err, text)
	}
}

// Documented fails unless a reply at a path of the API is as docs/web-schema.json says, and a body that it took.
func (all Schemas) Documented(t testing.TB, path, body string, status int, kind, reply string) {
	t.Helper()
	name, api := strings.CutPrefix(path, "/api/v1/")
	name, _, _ = strings.Cut(name, "?")
	switch {
	case !api:
		return
	case kind == "application/x-ndjson":
		for line := range strings.Lines(reply) {
			all.follows(t, "line", line)
		}
	case status != 200:
		all.follows(t, "error", reply)
	case kind == "application/json":
		all.follows(t, name+"-reply", reply)
	}
	if status == 200 && body != "" {
		all.follows(t, name, body)
	}
}

package web_test

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"dpsql/web"
)

// schemas are those of docs/web-schema.json by name. Here objects have no fields but theirs: what a reply has, they have.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	text, err := os.ReadFile("../docs/web-schema.json")
	if err != nil {
		return nil, err
	}
	var whole jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"properties":`, `"additionalProperties": false, "properties":`)), &whole); err != nil {
		return nil, err
	}
	all := make(map[string]*jsonschema.Resolved)
	for name := range whole.Defs {
		one := &jsonschema.Schema{Ref: "#/$defs/" + name, Defs: whole.CloneSchemas().Defs}
		if all[name], err = one.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// follows fails unless a text of JSON is what a schema says.
func follows(t testing.TB, name, text string) {
	t.Helper()
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil || all[name] == nil {
		t.Errorf("%s is no JSON, or docs/web-schema.json has no %s: %v", text, name, err)
	} else if err := all[name].Validate(v); err != nil {
		t.Errorf("docs/web-schema.json has another %s: %v: %s", name, err, text)
	}
}

// documented fails unless a reply of the API is as docs/web-schema.json says, and a body that it took.
func documented(t testing.TB, path, body string, status int, kind, reply string) {
	t.Helper()
	name, api := strings.CutPrefix(path, "/api/v1/")
	name, _, _ = strings.Cut(name, "?")
	switch {
	case !api:
		return
	case kind == "application/x-ndjson":
		for _, line := range lines(reply) {
			follows(t, "line", line)
		}
	case status != 200:
		follows(t, "error", reply)
	case kind == "application/json":
		follows(t, name+"-reply", reply)
	}
	if status == 200 && body != "" {
		follows(t, name, body)
	}
}

// TestPathsAreDocumented: docs/web-schema.json has what each path takes and gives, and rejects what is none of it.
func TestPathsAreDocumented(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range web.New(web.Config{}).Paths() {
		replies := name != "run" && name != "watch" && name != "export"
		if body && all[name] == nil || replies && all[name+"-reply"] == nil {
			t.Errorf("docs/web-schema.json does not say what %s takes or gives", name)
		}
	}
	for name, wrong := range map[string]any{"error": object{"error": object{"code": "x"}}, "price": object{"rho": 1, "left": nil, "words": ""}, "logout-reply": object{"user": "ana"}, "line": object{"rows": "1"}} {
		if all[name].Validate(wrong) == nil {
			t.Errorf("%s may be %v", name, wrong)
		}
	}
}

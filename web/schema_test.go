package web_test

import (
	"sync"
	"testing"

	"dpsql/web"
	"dpsql/web/webtest"
)

var schemas = sync.OnceValue(func() webtest.Schemas { return webtest.Read("../docs/web-schema.json") })

// TestPathsAreDocumented: docs/web-schema.json has what each path takes and gives, and rejects what is none of it.
func TestPathsAreDocumented(t *testing.T) {
	all := schemas()
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

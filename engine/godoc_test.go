package engine_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTypesShowTheirFields: go doc shows of an alias what its comment says, so that has the fields, word for word.
func TestTypesShowTheirFields(t *testing.T) {
	shown, err := os.ReadFile("db.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"Result": "rows", "Column": "rows", "Answer": "rows", "Kept": "rows", "Cost": "rows", "Settings": "settings"} {
		text, err := os.ReadFile("../internal/released/" + file + ".go")
		if err != nil {
			t.Fatal(err)
		}
		fields := regexp.MustCompile(`(?ms)^type ` + name + ` struct \{\n(.*?)^\}`).FindSubmatch(text)
		comment := regexp.MustCompile(`(?m)((?:^\t//.*\n)+)\t` + name + ` = released\.`).FindSubmatch(shown)
		if fields == nil || comment == nil {
			t.Fatalf("no struct %s, or no alias of it", name)
		}
		if want := strings.ReplaceAll(strings.TrimSuffix("\n"+string(fields[1]), "\n"), "\n\t", "\n\t//\t"); !strings.Contains(string(comment[1]), want) {
			t.Errorf("the comment of %s does not have its fields:%s", name, want)
		}
	}
}

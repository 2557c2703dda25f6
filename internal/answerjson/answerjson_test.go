package answerjson

import "testing"

func TestSupport(t *testing.T) {
	for m, want := range map[string]string{"0": "0", "42": "42", "infinite": `"infinite"`, "": `""`, "007": `"007"`, "-1": `"-1"`, "1e3": `"1e3"`} {
		if got := string(jsonSupport(m)); got != want {
			t.Errorf("jsonSupport(%q) = %s, want %s", m, got, want)
		}
	}
}

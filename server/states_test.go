package server_test

import "testing"

// TestStates: a SQLSTATE follows from the code of an error and from the kind of object that is
// unknown, and not from names that its message has.
func TestStates(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for text, want := range map[string]string{
		"SELECT COUNT(*) FROM a_column":                 "42P01",
		"SELECT COUNT(*) FROM \"function f\"":           "42P01",
		"SELECT COUNT(*) FROM visits WHERE nowhere = 1": "42703",
		"SELECT 'a_column'::regclass":                   "42P01",
		"SELECT 'nothing'::regtype":                     "42704",
		"SELECT nothing(1), version()":                  "42883",
		"SELECT current_setting('nothing')":             "42704",
		"SET accuracy = nothing":                        "22023",
		"SELECT 1 FROM":                                 "42601",
		"RELEASE SAVEPOINT a":                           "25P01",
		"FETCH c":                                       "34000",
	} {
		if _, state := run(t, c, text); state != want {
			t.Errorf("%s: state %s, want %s", text, state, want)
		}
	}
}

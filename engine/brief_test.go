package engine_test

import (
	"testing"

	"dpsql/engine/internal/answer"
)

func TestBrief(t *testing.T) {
	for list, want := range map[string]string{
		"all": "all", "age, sex": "age, sex", "education-num, marital-status": "education-num, +1",
		"a, b, c, d, e, f, g, h, i": "a, b, c, d, e, f, +3", "one-very-long-name-of-a-column": "one-very-long-name-of-a-column",
		"race, sex, income>50": "race, sex, income>50", "race, sex, income>50K": "race, sex, +1",
	} {
		if got := answer.BriefList(list); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
	for digits, want := range map[string]string{"infinite": "infinite", "123456789": "123456789", "1234567890": "≈1.23e9",
		"160315848000000000": "≈1.60e17", "": ""} {
		if got := answer.BriefNumber(digits); got != want {
			t.Errorf("%s: %s, want %s", digits, got, want)
		}
	}
}

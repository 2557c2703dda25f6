package released_test

import (
	"strings"
	"testing"

	"dpsql/internal/released"
)

func TestDigits(t *testing.T) {
	for text, want := range map[string]string{"infinite": "infinite", "123456789": "123456789", "1234567890": "1.2·10⁹", "9990000000": "1.0·10¹⁰",
		"639980000000000000": "6.4·10¹⁷", "12 to 13": "12 to 13", "": "", "1" + strings.Repeat("0", 400): "1.0·10⁴⁰⁰"} {
		if got := released.Digits(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.083441717833675: "0.0834", 5e-7: "5e-7", 2: "2", 123456.7: "123457", 1e-15: "1e-15"} {
		if got := released.Rounded(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	for list, want := range map[string]string{
		"all": "all", "age, sex": "age, sex", "education-num, marital-status": "education-num, +1",
		"a, b, c, d, e, f, g, h, i": "a, b, c, d, e, f, +3", "one-very-long-name-of-a-column": "one-very-long-name-of-a-column",
		"race, sex, income>50": "race, sex, income>50", "race, sex, income>50K": "race, sex, +1",
	} {
		if got := released.BriefList(list); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

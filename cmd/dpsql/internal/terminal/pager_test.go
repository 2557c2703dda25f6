package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A text that is longer than the screen goes through the pager, whole.
func TestPager(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	text := strings.Repeat("a line\n", 30)
	tests := []struct {
		command string
		height  int
		shown   bool
	}{
		{"cat >'" + seen + "'", 24, true},
		{"cat >'" + seen + "'", 30, true},
		{"cat >'" + seen + "'", 40, false},
		{"cat >'" + seen + "'", 0, false},
		{"exit 1", 24, false},
	}
	for _, test := range tests {
		os.Remove(seen)
		p := &Pager{command: test.command, height: func() int { return test.height }}
		shown := p.Show([]byte(text))
		got, _ := os.ReadFile(seen)
		if shown != test.shown || shown && string(got) != text || !shown && len(got) > 0 {
			t.Errorf("%s at %d: shown %v, the pager saw %q", test.command, test.height, shown, got)
		}
	}
}

package terminal

import (
	"fmt"
	"strings"
	"testing"
)

// scrolled is a screen: the row of the cursor, and how many rows the screen has
// scrolled up.
type scrolled struct{ height, row, up int }

// apply does what a terminal does with a sequence. At the bottom, index scrolls.
func (s *scrolled) apply(t *testing.T, sequence string) {
	for sequence != "" {
		var n int
		switch {
		case strings.HasPrefix(sequence, "\x1bD"):
			if sequence = sequence[2:]; s.row == s.height-1 {
				s.up++
			} else {
				s.row++
			}
		default:
			if _, err := fmt.Sscanf(sequence, "\x1b[%dA", &n); err != nil {
				t.Fatalf("%q: %v", sequence, err)
			}
			sequence = sequence[strings.IndexByte(sequence, 'A')+1:]
			s.row = max(0, s.row-n)
		}
	}
}

// The cursor stays at the same place of the text on the screen, and the new text
// and one more row fit below it.
func TestRoomBelow(t *testing.T) {
	for _, text := range []string{"", "SELECT 1", "SELECT\n1\n;", strings.Repeat("é", 75), strings.Repeat("x", 200) + "\n"} {
		rows := 0 // that the text takes, in lines of 80 after the prompt
		for _, line := range strings.Split(text, "\n") {
			rows += 1 + (len(Prompt)+len([]rune(line)))/80
		}
		for row := range 24 {
			s := scrolled{height: 24, row: row}
			s.apply(t, roomBelow(text, 80, 24))
			if s.row+s.up != row {
				t.Errorf("%q at row %d: the cursor is at row %d, and the screen %d up", text, row, s.row, s.up)
			}
			if s.row+rows > 23 {
				t.Errorf("%q at row %d: at row %d is no room for %d rows and one more", text, row, s.row, rows)
			}
			if s.up > 0 && row+rows < 23 {
				t.Errorf("%q at row %d scrolls for nothing", text, row)
			}
		}
	}
	if got := roomBelow(strings.Repeat("x\n", 100), 80, 24); strings.Count(got, "\x1bD") != 23 {
		t.Errorf("a text higher than the screen: %q", got)
	}
	if got := roomBelow("x", 0, 0); got != "" {
		t.Errorf("on a screen of unknown size: %q", got)
	}
}

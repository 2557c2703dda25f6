package terminal

import (
	"context"
	"time"

	"github.com/reeflective/readline"

	"dpsql/internal/complete"
	"dpsql/sqlerr"
)

// completer completes words at the Tab key: keywords, dot-commands, and declared
// names and values, each where it can stand.
type completer struct {
	Config
	declared complete.Vocabulary // as of readAt
	readAt   time.Time
}

// offer returns the completions of the last word of a text, for the editor.
func (c *completer) offer(text string) readline.Completions {
	v := c.names()
	v.Commands, v.Formats = c.Commands, c.Formats
	start, words := v.Complete(text)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	offered := readline.CompleteValues(texts...)
	offered.PREFIX = text[start:]
	return offered
}

// names returns the declared names and values. It reads them again after
// maxAge. If they cannot be read there are none to offer.
func (c *completer) names() complete.Vocabulary {
	const maxAge = 2 * time.Second
	if time.Since(c.readAt) < maxAge {
		return c.declared
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := sqlerr.Guard(func() (err error) {
		c.declared, err = c.Vocabulary(ctx)
		return err
	})
	if err != nil {
		c.declared = complete.Vocabulary{}
	}
	c.readAt = time.Now()
	return c.declared
}

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/page/publish"
	"dpsql/sqlerr"
)

// runVerify carries out dpsql verify and returns the exit status.
func runVerify(args []string, s streams) int {
	fs := flag.NewFlagSet("dpsql verify", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	words, err := positional(fs, args)
	c := newConsole(s, render.Table)
	switch {
	case err == flag.ErrHelp:
		return show(s, verifyHelp)
	case err != nil:
		c.fail(flagError(err))
		return exitUsage
	case len(words) < 1 || len(words) > 2:
		c.fail(sqlerr.New(sqlerr.Invalid, "verify takes a page, and at most one database").WithHint("dpsql help verify explains it"))
		return exitUsage
	}
	return finish(c, sqlerr.Guard(func() error { return verify(c, words) }))
}

// verify holds a page to its digest, to this program and, if one is named, to a database.
func verify(c *console, words []string) error {
	file, err := os.ReadFile(words[0])
	if err != nil {
		return sqlerr.New(sqlerr.IO, "cannot read %s", words[0])
	}
	card, payloads, own, err := publish.Verify(file)
	if err != nil {
		return err
	}
	parts := render.Plural(int64(len(card.Releases)), "release")
	if n := len(card.Publics); n > 0 {
		parts += " and " + render.Plural(int64(n), "public table")
	}
	c.line(fmt.Sprintf("the card and %s have the digest %s", parts, card.Digest))
	if len(words) > 1 {
		db, err := engine.Open(words[1], engine.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer db.Close()
		s := db.NewSession()
		if err := s.Published(context.Background(), card, payloads); err != nil {
			return err
		}
		line, err := s.ExportLine(context.Background(), card.Digest)
		if err != nil {
			return err
		}
		if line > 0 {
			c.line(fmt.Sprintf("its export is line %d of the ledger", line))
		}
		c.line("the releases are those of " + render.Visible(words[1]))
	}
	if !own {
		return sqlerr.New(sqlerr.Invalid, "the rest of the page is not what this dpsql writes").
			WithHint("it was changed, or written by another version: %s", render.Visible(card.Version))
	}
	c.line("the rest of the page is what this dpsql writes")
	return c.flush()
}

// verifyHelp is what "dpsql help verify" prints.
const verifyHelp = `dpsql verify looks whether a page, which EXPORT RELEASE … TO 'x.html' wrote, is what was written.

usage: dpsql verify PAGE [DB]

It computes the digest of the card, the releases and the public tables. With DB, it compares them with those of
the database. Then it writes the page again: if a byte is another one, the page's program is not that of this
dpsql, and may show what it likes.

The exit status is 0; 1 if something is another one; or 2 if the usage is wrong.
`

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// fakeSession answers from a table of statements.
type fakeSession struct {
	results map[string]*engine.Result
	seen    []string // statements, and folders as "in FOLDER"
	imports []engine.Import
	words   engine.Vocabulary
	confirm func(warning string) bool
	report  func(done, all int64)
}

func (f *fakeSession) Exec(ctx context.Context, text string, _ []query.Value) (*engine.Result, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	f.seen = append(f.seen, text)
	switch {
	case ctx.Err() != nil:
		return nil, sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case strings.Contains(text, "wait"):
		<-ctx.Done()
		return nil, sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case strings.Contains(text, "panic"):
		panic(fmt.Sprintf("the private value %d", 424242))
	case strings.Contains(text, "strange"):
		return nil, errors.New("an error with the private value 424242")
	case strings.Contains(text, "wrong"):
		at := len([]rune(text[:strings.Index(text, "wrong")])) + 1
		return nil, sqlerr.New(sqlerr.Unknown, "there is no column wrong").At(at).WithHint("did you mean right?")
	}
	if f.report != nil {
		f.report(1, 2)
	}
	if strings.Contains(text, "dear") && !f.confirm("this takes 20 %") {
		return nil, sqlerr.New(sqlerr.Cancelled, "nothing was charged")
	}
	if r, ok := f.results[text]; ok {
		return r, nil
	}
	return &engine.Result{}, nil
}

func (f *fakeSession) SetProgress(report func(done, all int64)) { f.report = report }

func (f *fakeSession) SetConfirm(confirm func(warning string) bool) { f.confirm = confirm }

func (f *fakeSession) Import(_ context.Context, im engine.Import) (engine.ImportReport, error) {
	f.imports = append(f.imports, im)
	return engine.ImportReport{Table: im.Table, Rows: 1, Skipped: im.IfMissing, Columns: []engine.Column{{Name: "a", Type: "INTEGER"}, {Name: "b", Type: "TEXT"}}}, nil
}

func (f *fakeSession) Vocabulary(context.Context) (engine.Vocabulary, error) { return f.words, nil }

func (f *fakeSession) SetDirectory(dir string) { f.seen = append(f.seen, "in "+dir) }

// testRunner returns a runner on a fake session, and what it writes.
func testRunner(f render.Format) (r *runner, session *fakeSession, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	session = new(fakeSession)
	return &runner{session: session, role: engine.Curator, console: testConsole(out, errs, f), args: make(arguments)}, session, out, errs
}

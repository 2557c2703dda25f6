package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// maxDepth is how many scripts may be open at once, each read by the one
// before it.
const maxDepth = 16

// script runs what in delivers, statement by statement as it arrives: each
// result is written before the next statement is read. It stops at the first
// error, which it returns with its place in the file of that name; a name of
// "" stands for text that has no file.
func (r *runner) script(ctx context.Context, name string, in io.Reader) error {
	scanner := engine.NewScanner(in)
	for {
		input, err := next(ctx, scanner)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = r.run(ctx, input)
		}
		if err != nil {
			return locate(err, name, input)
		}
	}
}

// scriptFile runs a script with file names relative to its folder.
func (r *runner) scriptFile(ctx context.Context, path string) error {
	f, err := openScript(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.scriptIn(ctx, path, f)
}

// scriptIn runs an open script with file names relative to its folder.
func (r *runner) scriptIn(ctx context.Context, path string, f io.Reader) error {
	if r.depth == maxDepth {
		return sqlerr.New(sqlerr.Unsupported, "scripts that read scripts may be nested %d deep", maxDepth).
			WithHint("does the script read itself?")
	}
	outer := r.dir
	r.enter(filepath.Dir(path), r.depth+1)
	defer func() { r.enter(outer, r.depth-1) }()
	return r.script(ctx, path, withoutMark(f))
}

func (r *runner) enter(dir string, depth int) {
	r.dir, r.depth = dir, depth
	r.session.SetDirectory(dir)
}

// openScript opens a file to read statements from.
func openScript(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, cannotOpen(path, syscall.EISDIR)
	}
	return f, nil
}

// withoutMark drops the byte order mark that some editors put first.
func withoutMark(f io.Reader) io.Reader {
	b := bufio.NewReader(f)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	return b
}

// next returns the scanner's next input. A script that comes through a pipe can
// be interrupted between its statements.
func next(ctx context.Context, scanner *engine.Scanner) (engine.Input, error) {
	input, err := await(ctx, scanner.Next)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return input, sqlerr.New(sqlerr.Cancelled, "the script was interrupted")
	}
	return input, err
}

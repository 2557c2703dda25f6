//go:build js

// Command wasm is the engine of a page, which runs in a Worker: it opens the page, which tells the names of its columns as
// SQL has them, answers statements and completes words. Each function returns one JSON text, and none throws.
package main

import (
	"context"
	"syscall/js"

	"dpsql/internal/answerjson"
	"dpsql/internal/complete"
	"dpsql/page"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func main() {
	var desk *page.Desk
	var words complete.Vocabulary
	function("dpsqlOpen", func(args []js.Value) (any, error) {
		payloads := make([][]byte, args[1].Length())
		for i := range payloads {
			payloads[i] = make([]byte, args[1].Index(i).Length())
			js.CopyBytesToGo(payloads[i], args[1].Index(i))
		}
		opened, card, err := page.Read([]byte(args[0].String()), payloads)
		if err != nil {
			f := answerjson.FailureOf(err)
			f.Error.Code = page.Damaged
			return f, nil
		}
		desk, words = opened, card.Vocabulary()
		names := make([][]string, len(card.Tables))
		for i, t := range card.Tables {
			for _, c := range t.Columns {
				names[i] = append(names[i], syntax.WriteName(c.Name))
			}
		}
		return map[string]any{"names": names}, nil
	})
	function("dpsqlAsk", func(args []js.Value) (any, error) {
		r, err := desk.Ask(context.Background(), args[0].String())
		if err != nil {
			return nil, err
		}
		return answerjson.Of(r), nil
	})
	function("dpsqlComplete", func(args []js.Value) (any, error) {
		return words.At(args[0].String(), args[1].Int()), nil
	})
	select {}
}

// function makes a function of the Worker. Its result is an object of -json.
func function(name string, call func(args []js.Value) (any, error)) {
	js.Global().Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
		var out any
		err := sqlerr.Guard(func() (err error) {
			out, err = call(args)
			return err
		})
		if err != nil {
			out = answerjson.FailureOf(err)
		}
		text, err := answerjson.Marshal(out)
		if err != nil {
			text, _ = answerjson.Marshal(answerjson.FailureOf(err))
		}
		return string(text)
	}))
}

package main

import "context"

// await calls f, which waits for someone outside, and returns what it returns.
// When the context ends first it returns the context's error at once and
// leaves f behind, which the end of the process then ends.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = guard(func() (err error) {
			o.value, err = f()
			return err
		})
		done <- o
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

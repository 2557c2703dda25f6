package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"dpsql/sqlerr"
)

// guard runs f and turns a panic into an error that says where it happened and
// nothing of what the panic said, for that could be a private value.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = sqlerr.New(sqlerr.Internal, "dpsql itself failed%s", panicSite()).
				WithHint("this is a fault of dpsql: please report the statement and this place")
		}
	}()
	return f()
}

// panicSite returns the function and line that panicked.
func panicSite() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

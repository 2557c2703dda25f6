package sqlerr

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Guard runs f and turns a panic into an Internal error that says where it
// happened. What the panic said is dropped, because it could hold a private
// value.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = New(Internal, "dpsql itself failed%s", panicSite()).
				WithHint("this is a fault of dpsql: please report the statement and this place")
		}
	}()
	return f()
}

// panicSite returns the file and line that panicked.
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

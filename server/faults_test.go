package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestFaultOfAStatement: a fault ends the statement that has it, with XX000, and is counted. Nothing of it is told.
func TestFaultOfAStatement(t *testing.T) {
	var log strings.Builder
	s := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := &conn{server: s, log: s.log}
	for n := range 3 {
		err := c.work(func(context.Context) error { panic("private") })
		if r := response(err, nil); r.Code != "XX000" || r.Severity != "ERROR" || s.Counts().Panics.Load() != int64(n+1) || c.running.Load() != nil {
			t.Errorf("%v, %d faults", r, s.Counts().Panics.Load())
		}
	}
	if !strings.Contains(log.String(), "faults_test.go") || strings.Contains(log.String()+fmt.Sprint(response(c.work(func(context.Context) error { panic("private") }), nil)), "private") {
		t.Errorf("the log has %s", log.String())
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/internal/audit"
	"dpsql/noise"
)

// bare is a mechanism without noise: the audit refutes it with certainty.
func bare() audit.Case {
	return audit.Case{Name: "bare count", Unit: 1, Claim: audit.Claim{Epsilon: 1.23456}, Shows: []string{"answer"},
		Run: func(changed bool, _ *noise.Source) (audit.Output, error) {
			if changed {
				return audit.Output{8}, nil
			}
			return audit.Output{7}, nil
		}}
}

// constant is a mechanism that shows nothing.
func constant() audit.Case {
	return audit.Case{Name: "nothing", Unit: 1, Shows: []string{"answer"},
		Run: func(bool, *noise.Source) (audit.Output, error) { return audit.Output{}, nil }}
}

// onCases audits the cases as the command does, and returns the exit status.
func onCases(f render.Format, terminal bool, cases ...audit.Case) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	c := testConsole(&stdout, &stderr, f)
	c.errTTY = terminal
	o := auditOptions{format: f, Options: audit.Options{Runs: audit.MinRuns, Confidence: 0.999}}
	status = finish(c, o.runOn(cases, c))
	return status, stdout.String(), stderr.String()
}

func TestAuditReportsAViolation(t *testing.T) {
	status, out, errs := onCases(render.Table, false, constant(), bare())
	if status != exitFailed || !strings.Contains(errs, "the audit refutes 1 claim of 2, at confidence 0.999") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, want := range []string{"│ nothing ", "│ ok ", "│ bare count ", "1.2346", "│ VIOLATION │", "\nVIOLATION of bare count: answer ≤ 7 has probability 0.9"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	status, out, errs = onCases(render.JSON, false, bare())
	var result struct {
		Columns []string
		Rows    [][]any
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Rows) != 1 || len(result.Columns) != len(result.Rows[0]) {
		t.Fatalf("%v in %s", err, out)
	}
	if row := result.Rows[0]; row[6] != "VIOLATION" || row[7] != "answer ≤ 7" || row[8] != "D" {
		t.Errorf("row %v", row)
	}
	if status != exitFailed || !strings.HasPrefix(errs, `{"error":{"code":"internal",`) || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestAuditFindsNothing(t *testing.T) {
	status, out, errs := onCases(render.Table, true, constant())
	if status != exitOK || !strings.Contains(out, "│ mechanism │ unit │ epsilon │ delta │ bound │ runs │ verdict │\n") ||
		!strings.Contains(out, "no claim refuted at confidence 0.999 · ") {
		t.Errorf("status %d, %s", status, out)
	}
	if !strings.Contains(errs, clearLine+"100 %  nothing") || !strings.HasSuffix(errs, clearLine) {
		t.Errorf("progress %q", errs)
	}
	if _, out, errs = onCases(render.JSON, false, constant()); errs != "" || strings.Count(out, "\n") != 1 {
		t.Errorf("%s%s", out, errs)
	}
}

// A mechanism that cannot be audited fails the audit.
func TestAuditOfWhatFails(t *testing.T) {
	broken := bare()
	broken.Shows = nil
	if status, out, errs := onCases(render.Table, false, broken); status != exitFailed || out != "" || !strings.Contains(errs, "internal") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

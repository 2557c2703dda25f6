package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"dpsql/engine"
)

// childVariable holds, for a process that measures, what it has to do.
const childVariable = "DPSQL_BENCH_CHILD"

// childInput is a file to open and the statements to run in it.
type childInput struct {
	Path       string
	Statements []string
}

// childOutput is how long each statement took and how large the process was, in
// bytes, 0 where the system does not say.
type childOutput struct {
	Seconds []float64
	Peak    float64
}

// runChild runs statements in a process of their own.
func runChild(in childInput, env []string) (out childOutput, err error) {
	job, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	child := exec.Command(self)
	child.Env = append(append(os.Environ(), childVariable+"="+string(job)), env...)
	var problems bytes.Buffer
	child.Stderr = &problems
	text, err := child.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return out, json.Unmarshal(text, &out)
}

// isChild reports whether this process was started by runChild; then it has
// done its work, and its exit code is the second result.
func isChild() (bool, int) {
	job := os.Getenv(childVariable)
	if job == "" {
		return false, 0
	}
	if err := childWork(job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true, 1
	}
	return true, 0
}

func childWork(job string) error {
	var in childInput
	if err := json.Unmarshal([]byte(job), &in); err != nil {
		return err
	}
	db, err := engine.Open(in.Path, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	session := db.NewSession()
	var out childOutput
	for _, text := range in.Statements {
		start := time.Now()
		if _, err := session.Exec(context.Background(), text, nil); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		out.Seconds = append(out.Seconds, time.Since(start).Seconds())
	}
	out.Peak = peakMemory()
	return json.NewEncoder(os.Stdout).Encode(out)
}

// peakMemory returns the most memory that this process has had at a time.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib * 1024
		}
	}
	return 0
}

package pgtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// logName is the server's log in the cluster's folder.
const logName = "log"

// watch runs the server until its input has a line or ends. A line asks the server to
// stop. The end of the input means that the process at the other side of the pipe is
// gone, perhaps by SIGKILL. The data are then of no use and are removed.
const watch = `folder=$1; shift
"$@" & server=$!
if read line; then kill -QUIT $server; wait $server
else kill -QUIT $server; wait $server; rm -rf "$folder"; fi`

// ward is a running server and the shell that watches it.
type ward struct {
	line io.WriteCloser
	gone chan struct{} // closed when the server and its shell are gone
}

// guard starts the server of a folder, under watch.
func (t tools) guard(folder string) (*ward, error) {
	log, err := os.OpenFile(filepath.Join(folder, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	run := exec.Command("/bin/sh", "-c", watch, "sh", folder, t.path("postgres"), "-D", filepath.Join(folder, "data"))
	t.owner.apply(run)
	run.Dir = folder
	run.Stdout, run.Stderr = log, log
	line, err := run.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := run.Start(); err != nil {
		return nil, fmt.Errorf("the server's shell: %w", err)
	}
	w := &ward{line: line, gone: make(chan struct{})}
	go func() {
		_ = run.Wait() // a killed server always ends with an error
		close(w.gone)
	}()
	return w, nil
}

// end stops the server and waits until it is gone.
func (w *ward) end() error {
	_, err := io.WriteString(w.line, "stop\n")
	if err != nil {
		return fmt.Errorf("the server's shell: %w", err)
	}
	<-w.gone
	return nil
}

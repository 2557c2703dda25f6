package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fast trades durability for speed.
var fast = []string{
	"listen_addresses=''", "port=5432", "fsync=off", "full_page_writes=off",
	"wal_level=minimal", "max_wal_senders=0", "max_wal_size=4GB", "autovacuum=off", "max_connections=40",
	"shared_buffers=64MB", "jit=off", "timezone='UTC'", "log_timezone='UTC'",
}

// initialize creates the cluster's data.
func (c *Cluster) initialize() error {
	run := c.tools.command("initdb", "--pgdata="+c.data(), "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	run.Dir = c.folder
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// copyTo makes the data of another cluster, as initialize left them, in a tenth of its time.
func (c *Cluster) copyTo(other *Cluster) error {
	run := exec.Command("cp", "-R", "-p", c.data(), other.data())
	c.tools.owner.apply(run)
	run.Dir = c.folder
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// configure writes the settings.
func (c *Cluster) configure(settings []string) error {
	config, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	lines := append([]string{fmt.Sprintf("unix_socket_directories='%s'", c.folder)}, fast...)
	_, err = config.WriteString(strings.Join(append(lines, settings...), "\n") + "\n")
	if closed := config.Close(); err == nil {
		err = closed
	}
	return err
}

// patience is how long a server may take to start on a busy machine.
const patience = time.Minute

// await returns when the server accepts connections.
func (c *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := c.tools.command("pg_isready", "-q", "-d", c.DSN()).Run()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.runs.gone:
			return fmt.Errorf("the server did not start: %s", c.tail())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w: %s", err, c.tail())
		}
	}
}

// Log returns what the server has written so far.
func (c *Cluster) Log() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.folder, logName))
	return string(text), err
}

// tail returns the end of the log.
func (c *Cluster) tail() string {
	text, err := c.Log()
	if err != nil {
		return err.Error()
	}
	return text[max(0, len(text)-2000):]
}

package pgtest

import (
	"context"
	"crypto/sha256"
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

// initialize creates the cluster's data. initdb takes two thirds of a second of a processor, ten times what a copy
// takes. So what it made is kept in the user's cache, in a folder for each version of it.
func (c *Cluster) initialize() error {
	args := []string{"--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	kept := c.tools.kept(args)
	if _, err := os.Stat(kept); err == nil {
		return copied(kept, c.data())
	}
	run := c.tools.command("initdb", append(args, "--pgdata="+c.data())...)
	run.Dir = c.folder
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return keep(c.data(), kept)
}

// kept is the folder for what initdb makes with these arguments, or "" where the user has no cache.
func (t tools) kept(args []string) string {
	cache, err := os.UserCacheDir()
	version, err2 := t.command("initdb", "--version").Output()
	if err != nil || err2 != nil {
		return ""
	}
	name := fmt.Sprintf("%s %s %v", t.path("initdb"), version, args)
	return filepath.Join(cache, "dpsql-pgtest", fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
}

// keep copies data to a folder, which is there with all of them or not at all. It does nothing if a cache cannot be written,
// or another process was first.
func keep(data, kept string) error {
	parent := filepath.Dir(kept)
	if kept == "" || os.MkdirAll(parent, 0o700) != nil {
		return nil
	}
	making, err := os.MkdirTemp(parent, "making")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(making)
	whole := filepath.Join(making, "data")
	if err := copied(data, whole); err != nil {
		return err
	}
	_ = os.Rename(whole, kept) // fails if it is there
	return nil
}

// copied copies data with their owner.
func copied(data, to string) error {
	if out, err := exec.Command("cp", "-R", "-p", data, to).CombinedOutput(); err != nil {
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

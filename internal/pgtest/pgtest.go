// Package pgtest starts PostgreSQL servers for tests and benchmarks, from the packages
// installed on the machine. A server runs in a temporary folder, on Unix sockets only,
// as an unprivileged user. It ends with the process that started it, however that ends.
// Its settings trade durability for speed. What initdb makes is kept in the user's cache, 39 MB.
// Nothing that is shipped may import this package.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// ErrMissing is wrapped by the error of New if PostgreSQL cannot be started at all: it
// is not installed, or the system has no Unix sockets.
var ErrMissing = errors.New("PostgreSQL's server is missing")

// Cluster is one PostgreSQL server with its data. Its superuser is "postgres", who
// needs no password. A Cluster is not safe for concurrent use. Its DSN may be used
// concurrently.
type Cluster struct {
	tools    tools
	folder   string // short, because the path of a socket has at most 107 bytes
	runs     *ward  // nil while stopped
	database string // that of the DSN; "" is "postgres"
	borrowed bool   // made by SharedDatabase: another one runs the server

	proxies int // number of proxies made
}

// New creates and starts a cluster; Close stops and removes it. Each setting is a line
// of postgresql.conf, as in "work_mem=64MB".
func New(settings ...string) (*Cluster, error) {
	all, err := several(1, settings)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// several is New for n clusters, which are alike but for their folders.
func several(n int, settings []string) (all []*Cluster, err error) {
	found, err := findTools()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, c := range all {
				err = errors.Join(err, c.Close())
			}
		}
	}()
	for range n {
		c := &Cluster{tools: found}
		if c.folder, err = found.owner.mkdir(); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.initialize(); err != nil {
			return all, err
		}
	}
	for _, c := range all {
		if err := c.configure(settings); err != nil {
			return all, err
		}
		if err := c.Start(); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Start is New for one test. If PostgreSQL is missing, it skips the test and says why.
// The cluster is removed when the test ends.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startAll(t, 1, settings...)[0]
}

// startAll is Start for n clusters.
func startAll(t testing.TB, n int, settings ...string) []*Cluster {
	t.Helper()
	all, err := several(n, settings)
	need(t, err)
	t.Cleanup(func() {
		for _, c := range all {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return all
}

// Shared is Start with one cluster for all tests of the process, because creating one
// takes a second. The cluster is removed when the process ends. A test that stops it or
// leaves something in it must Start its own.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, err := shared()
	need(t, err)
	return c
}

var shared = sync.OnceValues(func() (*Cluster, error) { return New() })

// SharedDatabase returns the shared cluster with a database of the test's own in place of
// "postgres", which costs a fifth of what a cluster does. It cannot be started, stopped or
// closed. Roles and what the server says of all its sessions are shared.
func SharedDatabase(t testing.TB) *Cluster {
	t.Helper()
	c := Shared(t)
	own := &Cluster{tools: c.tools, folder: c.folder, borrowed: true, database: fmt.Sprintf("own%d", databases.Add(1))}
	c.MustExec(t, "CREATE DATABASE "+own.database)
	t.Cleanup(func() { c.MustExec(t, "DROP DATABASE "+own.database+" WITH (FORCE)") })
	return own
}

var databases atomic.Int64 // made by SharedDatabase

// need ends the test if there is an error, and skips it if that is ErrMissing.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing):
		t.Skipf("%v (apt-get install postgresql postgresql-contrib, or brew install postgresql)", err)
	case err != nil:
		t.Fatal(err)
	}
}

// DSN returns the connection string of the cluster's database "postgres".
func (c *Cluster) DSN() string {
	if c.database == "" {
		return dsn(c.folder)
	}
	return strings.Replace(dsn(c.folder), "dbname=postgres", "dbname="+c.database, 1)
}

func dsn(folder string) string {
	return fmt.Sprintf("host=%s port=5432 user=postgres dbname=postgres sslmode=disable", folder)
}

// Database creates a database and returns its connection string. The options are those
// of CREATE DATABASE, such as "TEMPLATE template0 ENCODING 'LATIN1'".
func (c *Cluster) Database(name, options string) (string, error) {
	if _, err := c.Exec(fmt.Sprintf("CREATE DATABASE %q %s", name, options)); err != nil {
		return "", err
	}
	return strings.Replace(c.DSN(), "dbname=postgres", "dbname="+name, 1), nil
}

// Exec runs statements in the database "postgres", one after another, up to the first
// error. It returns the rows of all statements, one a line, with columns separated by
// "|".
func (c *Cluster) Exec(statements string) (string, error) {
	return c.psql(strings.NewReader(statements))
}

// MustExec is Exec that ends the test on an error.
func (c *Cluster) MustExec(t testing.TB, statements string) string {
	t.Helper()
	out, err := c.Exec(statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Copy appends the records of a CSV file to a table, without the file's first line. The
// table is written as in SQL, and may have a list of columns in parentheses.
func (c *Cluster) Copy(table string, csv io.Reader) error {
	_, err := c.psql(csv, "-c", "COPY "+table+" FROM STDIN (FORMAT csv, HEADER)")
	return err
}

func (c *Cluster) psql(in io.Reader, args ...string) (string, error) {
	args = append([]string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", c.DSN()}, args...)
	run := exec.Command(c.tools.path("psql"), args...)
	var out, problems bytes.Buffer
	run.Stdin, run.Stdout, run.Stderr = in, &out, &problems
	run.Env = append(os.Environ(), "PGOPTIONS=-c client_min_messages=warning")
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, problems.Bytes())
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Start starts a cluster that was stopped, with the data that it had.
func (c *Cluster) Start() error {
	if c.runs != nil || c.borrowed {
		return errors.New("the cluster runs already")
	}
	runs, err := c.tools.guard(c.folder)
	if err != nil {
		return err
	}
	c.runs = runs
	return c.await(context.Background())
}

// Stop ends the server at once, as a crash would: it cuts the connections. Everything
// committed is there again after Start.
func (c *Cluster) Stop() error {
	if c.borrowed {
		return errors.New("the cluster is shared")
	}
	if c.runs == nil {
		return nil
	}
	err := c.runs.end()
	c.runs = nil
	return err
}

// Close stops the cluster and removes its data.
func (c *Cluster) Close() error {
	if c.borrowed {
		return errors.New("the cluster is shared")
	}
	return errors.Join(c.Stop(), os.RemoveAll(c.folder))
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

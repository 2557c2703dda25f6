// Package clients runs the programs with which people use PostgreSQL: shells, drivers of
// many languages, object mappers, poolers. Each has a script in programs that connects,
// lists tables, describes one, asks with and without parameters, makes mistakes, and prints
// what came. The tests run them against dpsql serve. The command record runs them against
// PostgreSQL, to learn what they send.
//
// The clients are those of Debian 12, of npm (package.json) and of go.mod. What is not
// installed is skipped, with the reason. Nothing of this module is shipped.
package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Client is a program with which people use PostgreSQL.
type Client struct {
	Name     string
	Packages string   // what installs it
	probe    []string // succeeds where the client is installed
	command  []string // runs its script, in the folder of programs
}

// All are the clients, in the order in which they are run.
var All = []Client{
	{"psql", "apt-get install postgresql-client", []string{"psql", "--version"}, []string{"sh", "psql.sh"}},
	{"tools", "apt-get install postgresql-client", []string{"psql", "--version"}, []string{"sh", "tools.sh"}}, // not a client: see its script
	{"watch", "apt-get install postgresql-client", []string{"psql", "--version"}, []string{"sh", "watch.sh"}},
	{"pgbench", "apt-get install postgresql-contrib", []string{"pgbench", "--version"}, []string{"sh", "pgbench.sh"}},
	{"pgbouncer", "apt-get install pgbouncer postgresql-client", []string{"/usr/sbin/pgbouncer", "--version"}, []string{"sh", "pgbouncer.sh"}},
	{"pgcli", "apt-get install pgcli", []string{"pgcli", "--version"}, []string{"sh", "pgcli.sh"}},
	{"psycopg2", "apt-get install python3-psycopg2", python("psycopg2"), []string{"/usr/bin/python3", "dbapi.py"}},
	{"psycopg", "apt-get install python3-psycopg", python("psycopg"), []string{"/usr/bin/python3", "psycopg3.py"}},
	{"asyncpg", "apt-get install python3-asyncpg", python("asyncpg"), []string{"/usr/bin/python3", "asynchronous.py"}},
	{"pg8000", "apt-get install python3-pg8000", python("pg8000"), []string{"/usr/bin/python3", "eight.py"}},
	{"sqlalchemy", "apt-get install python3-sqlalchemy python3-psycopg2", python("sqlalchemy, psycopg2"), []string{"/usr/bin/python3", "alchemy.py"}},
	{"pandas", "apt-get install python3-pandas python3-sqlalchemy python3-psycopg2", python("pandas, sqlalchemy, psycopg2"), []string{"/usr/bin/python3", "frames.py"}},
	{"pyodbc", "apt-get install python3-pyodbc odbc-postgresql", []string{"sh", "-c", "odbcinst -q -d -n 'PostgreSQL Unicode' && /usr/bin/python3 -c 'import pyodbc'"}, []string{"/usr/bin/python3", "odbc.py"}},
	{"isql", "apt-get install unixodbc odbc-postgresql", []string{"sh", "-c", "odbcinst -q -d -n 'PostgreSQL Unicode' && isql --version"}, []string{"sh", "isql.sh"}},
	{"pgjdbc", "apt-get install libpostgresql-jdbc-java default-jdk-headless", []string{"sh", "-c", "java -version && javac -version && ls /usr/share/java/postgresql.jar"}, []string{"java", "-XX:TieredStopAtLevel=1", "-cp", "/usr/share/java/postgresql.jar", "Pgjdbc.java"}},
	{"pg", "npm ci --prefix clients", []string{"node", "-e", "require('pg')"}, []string{"node", "pg.js"}},
	{"postgres.js", "npm ci --prefix clients", []string{"node", "-e", "require('postgres')"}, []string{"node", "postgres.js"}},
	{"RPostgreSQL", "apt-get install r-cran-rpostgresql", []string{"Rscript", "-e", "library(RPostgreSQL)"}, []string{"Rscript", "--vanilla", "rpostgresql.R"}},
	{"DBD-Pg", "apt-get install libdbd-pg-perl", []string{"perl", "-MDBD::Pg", "-e", "1"}, []string{"perl", "dbi.pl"}},
	{"php", "apt-get install php-cli php-pgsql", []string{"php", "-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"}, []string{"php", "pdo.php"}},
	{"ruby", "apt-get install ruby-pg", []string{"/usr/bin/ruby", "-rpg", "-e", "1"}, []string{"/usr/bin/ruby", "pg.rb"}},
	{"pgx", "go mod download", []string{"go", "version"}, []string{"go", "run", "./pgx"}},
	{"lib/pq", "go mod download", []string{"go", "version"}, []string{"go", "run", "./pq"}},
	{"gorm", "go mod download", []string{"go", "version"}, []string{"go", "run", "./gorm"}},
}

func python(modules string) []string { return []string{"/usr/bin/python3", "-c", "import " + modules} }

// programs returns the folder of the scripts, which the tool go knows.
var programs = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "dpsql/clients").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "programs"), err
})

// Missing returns why the client cannot be run here, or nil.
func (c Client) Missing(ctx context.Context) error {
	folder, err := programs()
	if err != nil {
		return err
	}
	probe := exec.CommandContext(ctx, c.probe[0], c.probe[1:]...)
	probe.Dir = folder
	if out, err := probe.CombinedOutput(); err != nil {
		last := strings.TrimSpace(string(out))
		return fmt.Errorf("%s: %w: %s (%s)", c.probe[0], err, last[strings.LastIndex(last, "\n")+1:], c.Packages)
	}
	return nil
}

// Server says where a client connects, and as whom.
type Server struct {
	Host, Port, Database string
	User, Password       string
	TLS                  bool // ask for it: sslmode=require
}

// Environment is that of a client: the variables of libpq, which most clients read, and a
// folder to write to.
func (s Server) Environment(scratch string) []string {
	mode := "disable"
	if s.TLS {
		mode = "require"
	}
	return append(os.Environ(), "PGHOST="+s.Host, "PGPORT="+s.Port, "PGDATABASE="+s.Database, "PGUSER="+s.User,
		"PGPASSWORD="+s.Password, "PGSSLMODE="+mode, "SCRATCH="+scratch, "LC_ALL=C.UTF-8", "TZ=UTC")
}

// Run runs the client's script, which may write files to scratch, and returns what it
// printed. A script that fails has printed why.
func (c Client) Run(ctx context.Context, s Server, scratch string) (string, error) {
	folder, err := programs()
	if err != nil {
		return "", err
	}
	run := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	run.Dir, run.Env = folder, s.Environment(scratch)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err = run.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		fmt.Fprintln(&out, exit)
		err = nil
	}
	return out.String(), err
}

// Released are the questions about the private table whose answers scripts print, by the
// names under which they print them. Each answer is a release's, and never changes.
var Released = map[string]string{
	"women":  "SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE",
	"old":    "SELECT COUNT(*) FROM visits WHERE age >= 65",
	"spring": "SELECT COUNT(*) FROM visits WHERE admitted < '2024-03-01'",
	"listed": "SELECT COUNT(*) FROM visits WHERE ward IN ('cardiology', 'surgery')",
	"autumn": "SELECT COUNT(*) FROM visits WHERE admitted >= '2024-10-01'",
	"groups": "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward",
}

// Transcript is what a script printed, with each right answer replaced by words: what is
// left is the same for every release. The answers are rows as a shell prints them in CSV.
func Transcript(printed string, answers map[string]string) string {
	for name, csv := range answers {
		answer := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(csv), ",", " "), "\n", ", ")
		printed = strings.ReplaceAll(printed, "released "+name+": "+answer+"\n", "released "+name+": the release's answer\n")
	}
	return printed
}

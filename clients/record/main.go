// Command record runs the clients against a PostgreSQL that logs every statement, and
// writes what they sent: for each client its distinct statements, in the order of their
// first use, with the parameters seen. The tests of the catalog replay them. It also writes
// what each client printed, so that it can be compared with what it prints over dpsql.
//
//	go run ./clients/record -corpus server/pgcatalog/testdata/corpus.json -printed clients/testdata/postgres
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"dpsql/clients"
	"dpsql/internal/pgtest"
)

func main() {
	corpus := flag.String("corpus", "", "the `FILE` to write statements to")
	printed := flag.String("printed", "", "the `FOLDER` to write what clients print to")
	only := flag.String("only", "", "a regular expression for the `NAMES` of clients to run; the others keep what the corpus has")
	flag.Parse()
	if err := record(*corpus, *printed, *only); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// statement is one text that a client sent.
type statement struct {
	SQL      string      `json:"sql"`
	Protocol string      `json:"protocol"`       // "simple" or "extended"
	Args     [][]*string `json:"args,omitempty"` // parameters as texts, as they were sent, nil for NULL; each list once
}

func record(corpus, printed, only string) (err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	c, server, err := start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	answers := map[string]string{}
	for name, question := range clients.Released {
		if answers[name], err = c.Exec(`\c clinic` + "\n" + question); err != nil {
			return err
		}
		answers[name] = strings.ReplaceAll(answers[name], "|", ",")
	}

	names, err := numbers(c)
	if err != nil {
		return err
	}
	all := map[string][]statement{}
	if corpus != "" {
		if old, err := os.ReadFile(corpus); err == nil {
			if err := json.Unmarshal(old, &all); err != nil {
				return err
			}
		}
	}
	for _, client := range clients.All {
		if !wanted.MatchString(client.Name) {
			continue
		}
		if err := client.Missing(context.Background()); err != nil {
			fmt.Println("not recorded:", err)
			continue
		}
		out, sent, err := one(c, server, client)
		if err != nil {
			return fmt.Errorf("%s: %w", client.Name, err)
		}
		fmt.Printf("%s: %d distinct statements\n", client.Name, len(sent))
		all[client.Name] = named(sent, names)
		if printed != "" {
			name := filepath.Join(printed, strings.ReplaceAll(client.Name, "/", "-")+".txt")
			if err := os.WriteFile(name, []byte(clients.Transcript(out, answers)), 0o666); err != nil {
				return err
			}
		}
	}
	if corpus == "" {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	return os.WriteFile(corpus, out.Bytes(), 0o666)
}

// start starts a server with the clients' database, which logs all statements as JSON. It
// listens on an address of the loopback net of its own, since the port is given.
func start() (*pgtest.Cluster, clients.Server, error) {
	host := fmt.Sprintf("127.%d.%d.1", os.Getpid()/250%250+1, os.Getpid()%250+1)
	c, err := pgtest.New("listen_addresses='"+host+"'", "logging_collector=on", "log_destination=jsonlog", "log_rotation_size=0",
		"log_min_duration_statement=0", "log_connections=on", "max_connections=100")
	if err != nil {
		return nil, clients.Server{}, err
	}
	_, err = c.Exec("CREATE DATABASE clinic;\n\\c clinic\n" + clients.Postgres +
		"\\copy visits FROM STDIN (FORMAT csv, HEADER)\n" + clients.Visits(clients.Rows) + "\\.\n" +
		"\\copy wards FROM STDIN (FORMAT csv, HEADER)\n" + clients.Wards + "\\.\n" +
		"ALTER DATABASE clinic OWNER TO curator;\nANALYZE;")
	if err != nil {
		return nil, clients.Server{}, errors.Join(err, c.Close())
	}
	return c, clients.Server{Host: host, Port: "5432", Database: "clinic", User: "ana", Password: clients.Password}, nil
}

// one runs a client and returns what it printed and what it sent.
func one(c *pgtest.Cluster, server clients.Server, client clients.Client) (string, []statement, error) {
	scratch, err := os.MkdirTemp("", "client")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(scratch)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	begin, end := "begin "+client.Name, "end "+client.Name
	if _, err := c.Exec("SELECT '" + begin + "'"); err != nil {
		return "", nil, err
	}
	out, err := client.Run(ctx, server, scratch)
	if err != nil {
		return "", nil, err
	}
	if _, err := c.Exec("SELECT '" + end + "'"); err != nil {
		return "", nil, err
	}
	sent, err := between(c, begin, end)
	return out, sent, err
}

// numbers returns the OIDs of this server's own, with names to stand for them: {{visits}}
// is a table, {{visits type}} the type of its rows.
func numbers(c *pgtest.Cluster) (map[string]string, error) {
	out, err := c.Exec(`\c clinic
SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT reltype, relname || ' type' FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT oid, datname FROM pg_database WHERE datname = current_database()
UNION ALL SELECT oid, rolname FROM pg_roles WHERE oid >= 16384`)
	names := map[string]string{}
	for line := range strings.Lines(out) {
		oid, name, _ := strings.Cut(strings.TrimSpace(line), "|")
		names[oid] = "{{" + name + "}}"
	}
	return names, err
}

var number = regexp.MustCompile(`\b\d{5}\b`)

// named puts names in the place of OIDs, of which another server has others.
func named(sent []statement, names map[string]string) (out []statement) {
	put := func(text string) string {
		return number.ReplaceAllStringFunc(text, func(oid string) string {
			if name, ok := names[oid]; ok {
				return name
			}
			return oid
		})
	}
	for _, s := range sent {
		s.SQL = put(s.SQL)
		for _, args := range s.Args {
			for i, a := range args {
				if a != nil {
					text := put(*a)
					args[i] = &text
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// entry is a line of the server's log.
type entry struct {
	User    string `json:"user"`
	Level   string `json:"error_severity"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
	Wrong   string `json:"statement"` // of an error
}

// between returns the distinct statements of the log between two marks.
func between(c *pgtest.Cluster, begin, end string) ([]statement, error) {
	data, err := c.Exec("SHOW data_directory")
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		entries, whole, err := read(data, begin, end)
		switch {
		case err != nil:
			return nil, err
		case whole:
			return distinct(entries), nil
		case time.Now().After(deadline):
			return nil, errors.New("the server's log does not reach the end")
		}
		time.Sleep(50 * time.Millisecond) // the collector writes behind
	}
}

func read(data, begin, end string) (out []entry, whole bool, err error) {
	files, err := filepath.Glob(filepath.Join(data, "log", "*.json"))
	if err != nil {
		return nil, false, err
	}
	slices.Sort(files)
	inside := false
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		lines := bufio.NewReader(f)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break // the end, or a line that is being written
			}
			var e entry
			if json.Unmarshal(line, &e) != nil {
				continue
			}
			switch {
			case strings.Contains(e.Message, "'"+begin+"'"):
				inside = true
			case inside && strings.Contains(e.Message, "'"+end+"'"):
				return out, true, nil
			case inside && e.User == "ana":
				out = append(out, e)
			}
		}
	}
	return nil, false, nil
}

// Messages are "duration: 0.123 ms  statement: SELECT …" of the simple protocol, and "… parse
// name: …", "… bind name: …", "… execute name: …" of the extended one.
var message = regexp.MustCompile(`(?s)^duration: [0-9.]+ ms  (statement|parse|bind|execute|execute fetch from)(?: (\S+))?: (.*)$`)

func distinct(entries []entry) (out []statement) {
	at := map[[2]string]int{}
	add := func(protocol, sql string) *statement {
		key := [2]string{protocol, sql}
		i, seen := at[key]
		if !seen {
			i = len(out)
			at[key] = i
			out = append(out, statement{SQL: sql, Protocol: protocol})
		}
		return &out[i]
	}
	for _, e := range entries {
		if e.Wrong != "" && e.Level == "ERROR" {
			add("simple", e.Wrong) // which protocol it came by is not logged
			continue
		}
		found := message.FindStringSubmatch(e.Message)
		if found == nil {
			continue
		}
		if found[1] == "statement" {
			add("simple", found[3])
			continue
		}
		s := add("extended", found[3])
		if args, ok := parameters(e.Detail); ok && !slices.ContainsFunc(s.Args, func(seen []*string) bool { return equal(seen, args) }) {
			s.Args = append(s.Args, args)
		}
	}
	return out
}

var parameter = regexp.MustCompile(`\$\d+ = (NULL|'((?:[^']|'')*)')(?:, )?`)

// parameters reads the detail of an execution: parameters: $1 = 'x', $2 = NULL.
func parameters(detail string) (args []*string, ok bool) {
	list, ok := strings.CutPrefix(detail, "parameters: ")
	if !ok {
		return nil, false
	}
	for _, m := range parameter.FindAllStringSubmatch(list, -1) {
		if m[1] == "NULL" {
			args = append(args, nil)
			continue
		}
		value := strings.ReplaceAll(m[2], "''", "'")
		args = append(args, &value)
	}
	return args, true
}

func equal(a, b []*string) bool {
	return slices.EqualFunc(a, b, func(x, y *string) bool {
		return (x == nil) == (y == nil) && (x == nil || *x == *y)
	})
}

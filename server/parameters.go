package server

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dpsql/engine"
)

// Version is the version of PostgreSQL that the server gives as its own: that of the catalogs
// it answers about.
const Version = "15.0 (dpsql)"

// parameter is a setting of PostgreSQL that clients read or set.
type parameter struct {
	name     string // as SHOW ALL has it
	value    string // at first
	reported bool   // the client is told at login, and of each change
	check    func(value string) (string, bool)
}

// The settings that mean something here are statement_timeout, client_min_messages and the
// two of read-only transactions. The others are kept, since clients set them and ask.
var parameters = sync.OnceValue(func() map[string]*parameter {
	return index([]parameter{
		{"application_name", "", true, printable},
		{"backslash_quote", "safe_encoding", false, nil},
		{"bytea_output", "hex", false, nil},
		{"check_function_bodies", "on", false, nil},
		{"client_encoding", "UTF8", true, utf8Only},
		{"client_min_messages", "notice", false, oneOf("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")},
		{"constraint_exclusion", "partition", false, nil},
		{"datestyle", "ISO, MDY", true, isoDates},
		{"default_table_access_method", "heap", false, nil},
		{"default_tablespace", "", false, nil},
		{"default_transaction_deferrable", "off", false, onOff},
		{"default_transaction_isolation", "read committed", false, isolation},
		{"default_transaction_read_only", "off", true, onOff},
		{"default_with_oids", "off", false, onlyOff},
		{"extra_float_digits", "1", false, integer},
		{"geqo", "on", false, nil},
		{"idle_in_transaction_session_timeout", "0", false, nil},
		{"idle_session_timeout", "0", false, nil},
		{"in_hot_standby", "off", true, fixed},
		{"integer_datetimes", "on", true, fixed},
		{"intervalstyle", "postgres", true, nil},
		{"is_superuser", "off", true, fixed},
		{"jit", "off", false, nil},
		{"lc_collate", "C.UTF-8", false, fixed},
		{"lc_ctype", "C.UTF-8", false, fixed},
		{"lc_messages", "C.UTF-8", false, nil},
		{"lc_monetary", "C.UTF-8", false, nil},
		{"lc_numeric", "C.UTF-8", false, nil},
		{"lc_time", "C.UTF-8", false, nil},
		{"lock_timeout", "0", false, nil},
		{"max_identifier_length", "63", false, fixed},
		{"max_index_keys", "32", false, fixed},
		{"password_encryption", "scram-sha-256", false, fixed}, // psql asks it for \password
		{"plan_cache_mode", "auto", false, nil},
		{"quote_all_identifiers", "off", false, nil},
		{"row_security", "on", false, nil},
		{"search_path", `"$user", public`, false, nil},
		{"server_encoding", "UTF8", true, fixed},
		{"server_version", Version, true, fixed},
		{"server_version_num", "150000", false, fixed},
		{"session_authorization", "", true, fixed},
		{"ssl", "off", false, fixed},
		{"standard_conforming_strings", "on", true, oneOf("on")},
		{"statement_timeout", "0", false, milliseconds},
		{"synchronous_commit", "on", false, nil},
		{"synchronize_seqscans", "on", false, nil},
		{"tcp_keepalives_count", "0", false, nil},
		{"tcp_keepalives_idle", "0", false, nil},
		{"tcp_keepalives_interval", "0", false, nil},
		{"timezone", "UTC", true, nil},
		{"transaction_deferrable", "off", false, onOff},
		{"transaction_isolation", "read committed", false, isolation},
		{"transaction_read_only", "off", false, onOff},
		{"work_mem", "4MB", false, nil},
		{"xmloption", "content", false, nil},
	})
})

// reportedAs are the names of reported settings as PostgreSQL writes them, where clients care.
var reportedAs = map[string]string{"datestyle": "DateStyle", "intervalstyle": "IntervalStyle", "timezone": "TimeZone"}

func index(all []parameter) map[string]*parameter {
	out := make(map[string]*parameter, len(all))
	for i := range all {
		out[all[i].name] = &all[i]
	}
	return out
}

func fixed(string) (string, bool) { return "", false }

func oneOf(values ...string) func(string) (string, bool) {
	return func(v string) (string, bool) { v = strings.ToLower(v); return v, slices.Contains(values, v) }
}

func onOff(v string) (string, bool) {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1", "t", "y":
		return "on", true
	case "off", "false", "no", "0", "f", "n":
		return "off", true
	}
	return "", false
}

func onlyOff(v string) (string, bool) {
	v, ok := onOff(v)
	return v, ok && v == "off"
}

func integer(v string) (string, bool) {
	_, err := strconv.Atoi(v)
	return v, err == nil
}

// utf8Only accepts the names of UTF-8. Only their letters and digits count.
func utf8Only(v string) (string, bool) {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, v)
	switch strings.ToUpper(letters) {
	case "UTF8", "UNICODE", "SQLASCII":
		return "UTF8", true
	}
	return "", false
}

// isoDates accepts date styles with ISO output, in whichever order of the fields.
func isoDates(v string) (string, bool) {
	order := "MDY"
	for part := range strings.SplitSeq(v, ",") {
		switch p := strings.ToUpper(strings.TrimSpace(part)); p {
		case "ISO":
		case "MDY", "DMY", "YMD":
			order = p
		default:
			return "", false
		}
	}
	return "ISO, " + order, true
}

func isolation(v string) (string, bool) {
	return oneOf("read uncommitted", "read committed", "repeatable read", "serializable")(v)
}

// printable keeps the printable ASCII characters of a name and makes each other byte a
// question mark.
func printable(v string) (string, bool) {
	kept := []byte(v[:min(len(v), 63)])
	for i, b := range kept {
		if b < ' ' || b > '~' {
			kept[i] = '?'
		}
	}
	return string(kept), true
}

// milliseconds accepts a time: a number of milliseconds, or one with a unit.
func milliseconds(v string) (string, bool) {
	d, ok := duration(v)
	if !ok {
		return "", false
	}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if d > 0 && d%unit.of == 0 {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name, true
		}
	}
	return "0", true
}

func duration(v string) (time.Duration, bool) {
	v = strings.ReplaceAll(strings.TrimSpace(v), " ", "")
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		return time.Duration(n) * time.Millisecond, n >= 0
	}
	if days, ok := strings.CutSuffix(v, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 8)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n < 24
	}
	d, err := time.ParseDuration(strings.Replace(v, "min", "m", 1))
	return d.Truncate(time.Millisecond), err == nil && d >= 0 && d < 24*24*time.Hour
}

// options returns the settings in the startup packet's options: -c name=value, --name=value.
func options(text string) map[string]string {
	out := make(map[string]string)
	fields := strings.Fields(strings.ReplaceAll(text, "\\ ", "\x01"))
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		switch {
		case f == "-c" && i+1 < len(fields):
			i++
			f = fields[i]
		case strings.HasPrefix(f, "-c"):
			f = f[2:]
		case strings.HasPrefix(f, "--"):
			f = f[2:]
		default:
			continue
		}
		if name, value, ok := strings.Cut(f, "="); ok {
			out[strings.ReplaceAll(name, "-", "_")] = strings.ReplaceAll(value, "\x01", " ")
		}
	}
	return out
}

// accepted returns the name of a setting, and a value as it is kept.
func accepted(name, value string) (string, string, error) {
	name = strings.ToLower(name)
	if strings.Contains(name, ".") && len(name) <= 63 && len(value) <= 1024 { // of an extension
		return name, value, nil
	}
	p := parameters()[name]
	if p == nil {
		return "", "", failure("42704", "unrecognized configuration parameter %q", name)
	}
	if p.check == nil {
		if len(value) > 1024 {
			return "", "", failure("22023", "the value of %q is too long", name)
		}
		return name, value, nil
	}
	kept, ok := p.check(value)
	if !ok && p.value == value { // as a fixed one may be set to what it is
		kept, ok = value, true
	}
	if !ok {
		if f, _ := p.check(p.value); f == "" && name != "application_name" {
			return "", "", failure("55P02", "parameter %q cannot be changed", name)
		}
		return "", "", failure("22023", "invalid value for parameter %q: %q", name, value)
	}
	return name, kept, nil
}

// written returns the name of a setting as PostgreSQL writes it.
func written(name string) string {
	if as, ok := reportedAs[strings.ToLower(name)]; ok {
		return as
	}
	return strings.ToLower(name)
}

// ofEngine reports whether a setting belongs to the engine.
func ofEngine(name string) bool {
	return slices.Contains(engine.SettingNames, strings.ToLower(name))
}

// settings are the settings of a connection.
type settings struct {
	login   map[string]string // those of the startup packet, and of the session's beginning
	engine  engine.Settings   // the engine's, of then
	changed map[string]string // by SET
	local   map[string]string // by SET LOCAL, to the end of the transaction

	displaced map[string]string // by SET LOCAL of a setting of the engine: what it is after the transaction
}

// get returns the value of a setting.
func (s *settings) get(name string) (string, bool) {
	name = strings.ToLower(name)
	if _, set := s.local[name]; name == "transaction_isolation" && !set {
		name = "default_transaction_isolation"
	}
	for _, m := range []map[string]string{s.local, s.changed, s.login} {
		if v, ok := m[name]; ok {
			return v, true
		}
	}
	if p := parameters()[name]; p != nil {
		return p.value, true
	}
	return "", false
}

// initial returns the value that a setting had when the session began, "" if there is none of the name.
func (s *settings) initial(name string) string {
	v, _ := (&settings{login: s.login}).get(name)
	return v
}

// displace remembers what a setting of the engine was before a transaction set it for itself.
func (s *settings) displace(name, value string) {
	if s.displaced == nil {
		s.displaced = make(map[string]string)
	}
	if _, twice := s.displaced[name]; !twice {
		s.displaced[name] = value
	}
}

// readOnly reports whether transactions are read-only unless they say otherwise.
func (s *settings) readOnly() bool {
	v, _ := s.get("default_transaction_read_only")
	return v == "on"
}

// wants reports whether the client wants notices of a severity.
func (s *settings) wants(severity string) bool {
	v, _ := s.get("client_min_messages")
	switch v {
	case "error":
		return false
	case "warning":
		return severity == "WARNING"
	}
	return true
}

// deadline returns the context of a statement, which ends after statement_timeout.
func (s *settings) deadline() (context.Context, context.CancelFunc) {
	v, _ := s.get("statement_timeout")
	if d, _ := duration(v); d > 0 {
		return context.WithTimeout(context.Background(), d)
	}
	return context.WithCancel(context.Background())
}

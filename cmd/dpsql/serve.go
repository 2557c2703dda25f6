package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"dpsql/cmd/dpsql/internal/host"
	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/internal/places"
	"dpsql/internal/scram"
	"dpsql/server"
	"dpsql/sqlerr"
	"dpsql/web"
)

// defaultPort is the port of a server and of its Unix sockets. It is not PostgreSQL's, which
// may run beside it.
const defaultPort = 5433

// curatorName is the name by which the curator logs in over a Unix socket.
const curatorName = "curator"

// collectAfter is by how many percent the memory in use grows before garbage is collected. A
// server has some megabytes in use, and makes garbage with each statement. GOGC overrides it.
const collectAfter = 400

// serveOptions are what the command line of a server asks for.
type serveOptions struct {
	file                 string
	name                 string // that clients know the database by
	listen               []string
	certificate, key     string // files
	selfSigned           bool
	metrics              string
	web                  webOptions
	logFormat            string
	logLevel             slog.Level
	socketMode           fs.FileMode
	readonly             bool
	drain, idle          time.Duration
	connections, message int
	help                 bool
}

// runServe carries out dpsql serve and returns the exit status.
func runServe(args []string, s streams) int {
	o, err := parseServeFlags(args)
	c := newConsole(s, "")
	switch {
	case err != nil:
		c.fail(err)
		return exitUsage
	case o.help:
		return show(s, serveHelp)
	}
	return finish(c, sqlerr.Guard(func() error { return o.run(s.err) }))
}

func parseServeFlags(args []string) (serveOptions, error) {
	o := serveOptions{}
	words, err := positional(o.flagSet(), args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return o, nil
	case err != nil:
		return o, serveUsage(flagError(err))
	}
	return o, o.check(words)
}

func (o *serveOptions) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("dpsql serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("listen", "", func(text string) error { o.listen = append(o.listen, text); return nil })
	fs.StringVar(&o.name, "name", "", "")
	fs.StringVar(&o.certificate, "tls-cert", "", "")
	fs.StringVar(&o.key, "tls-key", "", "")
	fs.BoolVar(&o.selfSigned, "self-signed", false, "")
	fs.StringVar(&o.metrics, "metrics", "", "")
	fs.StringVar(&o.web.address, "web", "", "")
	o.web.flags(fs)
	fs.StringVar(&o.logFormat, "log-format", "text", "")
	fs.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "")
	o.socketMode = 0o777
	fs.Func("socket-mode", "", o.parseMode)
	fs.BoolVar(&o.readonly, "readonly", false, "")
	o.drain = 30 * time.Second
	fs.Func("drain", "", parseTime(&o.drain))
	fs.Func("idle", "", parseTime(&o.idle))
	fs.IntVar(&o.connections, "connections", 1000, "")
	fs.IntVar(&o.message, "message", 1<<20, "")
	return fs
}

// parseTime returns a function that reads a time into d.
func parseTime(d *time.Duration) func(string) error {
	return func(text string) (err error) {
		if *d, err = time.ParseDuration(text); err != nil || *d < 0 {
			return errors.New("a time is written as 30s, 5m or 1h")
		}
		return nil
	}
}

func (o *serveOptions) parseMode(text string) error {
	mode, err := strconv.ParseUint(text, 8, 32)
	o.socketMode = fs.FileMode(mode)
	if err != nil || mode > 0o777 {
		return errors.New("a mode is up to 777")
	}
	return nil
}

// serveUsage returns an error of the command line.
func serveUsage(err error) error {
	e := answerjson.Public(err)
	if e.Hint != "" && !strings.HasPrefix(e.Hint, "dpsql help lists") {
		return e
	}
	return e.WithHint("dpsql help serve explains the flags")
}

// check refuses a command line that makes no sense.
func (o *serveOptions) check(words []string) error {
	invalid := func(format string, args ...any) error {
		return serveUsage(sqlerr.New(sqlerr.Invalid, format, args...))
	}
	switch {
	case len(words) == 0 || words[0] == "":
		return sqlerr.New(sqlerr.Invalid, "no database is named").WithHint("dpsql serve clinic.db serves that file; to open a file called serve, write dpsql ./serve")
	case len(words) > 1:
		return invalid("a server has one database, and %q follows it", words[1])
	case (o.certificate == "") != (o.key == ""):
		return invalid("-tls-cert and -tls-key belong together")
	case o.selfSigned && o.certificate != "":
		return invalid("-self-signed makes a certificate, and -tls-cert names another")
	case o.logFormat != "text" && o.logFormat != "json":
		return invalid("there is no format %q of a log: it is text or json", o.logFormat)
	case o.web.upload < 1:
		return invalid("a file has at least 1 byte")
	case o.connections < 1 || o.message < 1<<10:
		return invalid("a server needs at least 1 connection, and messages of 1024 bytes")
	}
	o.file = words[0]
	if o.name == "" {
		base := filepath.Base(o.file)
		o.name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return nil
}

// run serves the database until a signal ends it.
func (o *serveOptions) run(errs io.Writer) error {
	if err := o.exists(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAfter)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	log := o.logger(errs)
	certificates, err := o.certificates()
	if err != nil {
		return err
	}
	listeners, err := o.open()
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	watched, err := o.openMetrics()
	if err != nil {
		return err
	}
	if o.web.listener, err = o.web.open(o.tls()); err != nil {
		return err
	}
	db, err := engine.Open(o.file, engine.Options{ReadOnly: o.readonly})
	if err != nil {
		return err
	}
	r := &running{options: o, db: db, log: log, certificates: certificates, listeners: listeners, started: time.Now()}
	if err := r.check(); err != nil {
		db.Close()
		return err
	}
	if ended := r.until(signals, watched); !ended {
		return nil // what still runs has the database
	}
	return db.Close()
}

// exists refuses a file that is not there: what a server would make is an empty database.
func (o *serveOptions) exists() error {
	info, err := os.Stat(o.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sqlerr.New(sqlerr.Unknown, "the file %s does not exist", o.file).WithHint("dpsql %s opens a shell in which to make it", o.file)
	case err == nil && info.IsDir():
		return sqlerr.New(sqlerr.Invalid, "%s is a directory", o.file)
	}
	return nil // the engine says what else there is
}

func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	how := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, how))
	}
	return slog.New(slog.NewTextHandler(w, how))
}

// certificates returns what is shown to clients, nil if no TLS is offered.
func (o *serveOptions) certificates() (*host.Certificates, error) {
	switch {
	case o.certificate != "":
		return host.LoadCertificates(o.certificate, o.key)
	case o.selfSigned:
		return host.SelfSigned(o.names())
	}
	return nil, nil
}

// names returns the names and addresses by which clients may reach the server.
func (o *serveOptions) names() []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	for _, text := range o.listen {
		if name, _, err := net.SplitHostPort(text); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// open opens the addresses to listen on, and takes those that systemd opened. It refuses
// before it listens where clients would have no TLS.
func (o *serveOptions) open() (listeners []net.Listener, err error) {
	defer func() {
		if err != nil {
			closeAll(listeners)
		}
	}()
	if listeners, err = host.Activated(); err != nil {
		return nil, err
	}
	for _, l := range listeners {
		if a := host.AddressOf(l); !a.Local() && !o.tls() {
			return listeners, withoutTLS(a)
		}
	}
	texts := o.listen
	if len(texts) == 0 && len(listeners) == 0 {
		texts = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(defaultPort))}
	}
	for _, text := range texts {
		a, err := host.ParseAddress(text, defaultPort)
		if err != nil {
			return listeners, err
		}
		if !a.Local() && !o.tls() {
			return listeners, withoutTLS(a)
		}
		l, err := host.Listen(a, o.socketMode)
		if err != nil {
			return listeners, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// port returns the port of the first address that is not a Unix socket; 0 if there is none.
func (r *running) port() int {
	for _, l := range r.listeners {
		if a := host.AddressOf(l); a.TCP != nil {
			return a.TCP.Port
		}
	}
	return 0
}

// tls reports whether there is TLS.
func (o *serveOptions) tls() bool { return o.selfSigned || o.certificate != "" }

func withoutTLS(a host.Address) error {
	return sqlerr.New(sqlerr.Invalid, "%s can be reached from other machines, and there is no TLS", a).
		WithHint("name a certificate by -tls-cert and -tls-key, or make one by -self-signed; loopback addresses and Unix sockets need none")
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// openMetrics opens the address of health and counters, if there is one.
func (o *serveOptions) openMetrics() (net.Listener, error) {
	if o.metrics == "" {
		return nil, nil
	}
	a, err := host.ParseAddress(o.metrics, defaultMetricsPort)
	if err != nil {
		return nil, err
	}
	if a.TCP == nil || !a.Local() {
		return nil, sqlerr.New(sqlerr.Invalid, "counters are for this machine alone, and %s is no loopback address", a).WithHint("-metrics 127.0.0.1:%d", defaultMetricsPort)
	}
	return host.Listen(a, 0)
}

// running is a server that runs.
type running struct {
	options      *serveOptions
	db           *engine.DB
	log          *slog.Logger
	certificates *host.Certificates
	listeners    []net.Listener
	server       *server.Server
	started      time.Time
	reloads      reloads
}

// check reads the users, so that a file that cannot be read is refused at the start, and says
// how to make a user if there is none.
func (r *running) check() error {
	users, err := r.db.NewSession().Exec(context.Background(), "SHOW USERS", nil)
	if err != nil {
		return err
	}
	if len(users.Rows) == 0 {
		r.log.Warn("nobody can log in: there are no users", "hint", fmt.Sprintf("in dpsql %s: CREATE USER ana PASSWORD '…'; GRANT SELECT ON table TO ana;", r.options.file))
	}
	return nil
}

// until serves until a signal says to end, and ends what still runs. It reports whether
// everything has ended.
func (r *running) until(signals <-chan os.Signal, watched net.Listener) (ended bool) {
	o := r.options
	failures, shares := scram.NewFailures(), places.NewShares()
	config := server.Config{Database: r.db, Name: o.name, Log: r.log, Curator: r.curator, Failures: failures, Shares: shares,
		Limits: server.Limits{Connections: o.connections, Idle: o.idle, Message: o.message}}
	if r.certificates != nil {
		config.Certificate = r.certificates.Current
	}
	for _, l := range r.listeners {
		config.RequireTLS = config.RequireTLS || !host.AddressOf(l).Local()
	}
	r.server = server.New(config)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var serving sync.WaitGroup
	for _, l := range r.listeners {
		serving.Go(func() { r.server.Serve(ctx, l) })
	}
	if watched != nil {
		counters := &http.Server{Handler: r.watch(ctx), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug)}
		go counters.Serve(watched)
		defer counters.Close()
		r.log.Info("counting", "address", "http://"+watched.Addr().String()+"/metrics")
	}
	console := o.web.serve(web.Config{Database: r.db, Name: o.name, Port: r.port(), File: o.file, Log: r.log, Failures: failures, Shares: shares, Certificate: config.Certificate})
	r.announce()
	r.notify(host.Ready)
	why := r.wait(signals)
	r.notify(host.Stopping)
	r.log.Info("stopping", "signal", why.String(), "connections", r.server.Counts().Open.Load(), "drain", o.drain)
	stop()
	serving.Wait() // nothing listens, and sockets are removed
	return r.end(signals, console)
}

// announce says where the server listens, and how to connect.
func (r *running) announce() {
	how := ""
	if r.certificates != nil {
		r.log.Info("certificate", "sha256", r.certificates.Fingerprint(), "expires", r.certificates.Expires(), "self-signed", r.certificates.Made())
		how = " sslmode=require channel_binding=require"
		r.warnExpired()
	}
	for _, l := range r.listeners {
		a := host.AddressOf(l)
		attributes := []any{"address", a.String(), "database", r.options.name}
		if connect := a.Connection(r.options.name); connect != "" {
			if a.TCP != nil {
				connect += how
			}
			quote := "'"
			if strings.Contains(connect, quote) {
				quote = `"`
			}
			attributes = append(attributes, "connect", "psql "+quote+connect+quote)
		}
		r.log.Info("serving", attributes...)
	}
}

// warnExpired tells of a certificate that clients do not take any more.
func (r *running) warnExpired() {
	if time.Now().After(r.certificates.Expires()) {
		r.log.Warn("the certificate has expired", "expires", r.certificates.Expires())
	}
}

// wait returns the first signal that ends the server, and obeys those before it.
func (r *running) wait(signals <-chan os.Signal) os.Signal {
	for s := range signals {
		if s != syscall.SIGHUP {
			return s
		}
		r.reload()
	}
	return syscall.SIGTERM
}

// reload reads the certificate again. One that cannot be read leaves the one before.
func (r *running) reload() {
	r.notify(host.Reloading())
	defer r.notify(host.Ready)
	if r.certificates == nil || r.certificates.Made() {
		r.log.Info("nothing to reload: no certificate was read from a file")
		return
	}
	if err := r.certificates.Reload(); err != nil {
		e := answerjson.Public(err)
		r.reloads.failed.Add(1)
		r.log.Error("the certificate stays as it was", "reason", e.Message, "hint", e.Hint)
		return
	}
	r.reloads.done.Add(1)
	r.log.Info("the certificate was read again", "sha256", r.certificates.Fingerprint(), "expires", r.certificates.Expires())
	r.warnExpired()
}

// afterDrain is how long a server waits for statements that were cancelled.
const afterDrain = 5 * time.Second

// end lets connections end their statements, as long as they may. A second signal ends the
// wait. It reports whether all have ended.
func (r *running) end(signals <-chan os.Signal, console *shownConsole) bool {
	limit, cancel := context.WithTimeout(context.Background(), r.options.drain)
	defer cancel()
	done := make(chan struct{})
	go func() {
		var web sync.WaitGroup
		web.Go(func() { console.shutdown(limit) })
		r.server.Shutdown(limit)
		web.Wait()
		close(done)
	}()
	late := time.NewTimer(r.options.drain + afterDrain)
	defer late.Stop()
	for {
		select {
		case <-done:
			r.log.Info("stopped")
			return true
		case <-late.C:
			r.log.Warn("stopped, while statements ran that could not be cancelled")
			return false
		case s := <-signals:
			if s != syscall.SIGHUP {
				r.log.Warn("stopped at once, by a second signal", "connections", r.server.Counts().Open.Load())
				return false
			}
		}
	}
}

func (r *running) notify(words string) {
	if err := host.Notify(words); err != nil {
		r.log.Warn("systemd could not be told", "what", strings.SplitN(words, "\n", 2)[0])
	}
}

// curator reports whether a connection is the curator's: over a Unix socket, by that name,
// from a process of the user who runs the server or whom the file belongs to. Either can read
// the file anyway.
func (r *running) curator(c net.Conn, user string) bool {
	if user != curatorName {
		return false
	}
	peer, known := host.PeerUID(c)
	if !known {
		return false
	}
	owner, owned := host.Owner(r.options.file)
	return peer == os.Geteuid() || owned && peer == owner
}

// serveHelp is what "dpsql help serve" prints.
const serveHelp = `dpsql serve answers clients of PostgreSQL: psql, JDBC, psycopg, pandas, R and others.

usage: dpsql serve [flags] DB

Analysts log in with a password and see what was granted to them. They never hold a row. The curator makes
them in a shell, also while the server runs: CREATE USER ana PASSWORD '…'; GRANT SELECT ON visits TO ana;

  -listen ADDRESS                host:port, :port for all addresses, or a Unix socket: its path, or the folder
                                 that clients name as host; may be repeated (default 127.0.0.1:5433)
  -name NAME                     what clients call the database (default: the file's name without its ending)
  -tls-cert FILE, -tls-key FILE  a certificate and its key, in PEM form
  -self-signed                   make a certificate at each start, and log its SHA-256 fingerprint
  -socket-mode MODE              of Unix sockets, in octal (default 777: the password guards, as over TCP)
  -connections N                 at a time (default 1000)
  -message BYTES                 the longest message of a client (default 1048576)
  -idle TIME                     end a connection that is silent for so long (default 0: never)
  -drain TIME                    when the server ends, how long statements may go on (default 30s)
  -readonly                      refuse every write to the file: nothing is bought
  -web ADDRESS                   serve the console, for browsers; FILE-key has the curator's link: see dpsql help web
  -web-host NAME                 a name by which browsers reach it, beside the certificate's; may be repeated
  -upload BYTES                  the longest file that the curator may send (default 1073741824)
  -metrics ADDRESS               serve /metrics, /healthz and /readyz on a loopback address, such as 127.0.0.1:9187
  -log-format FORMAT             text (default) or json
  -log-level LEVEL               debug, info (default), warn or error; info has a line for each statement
  -help                          print this text

On loopback addresses and Unix sockets TLS is optional. With any other address it is needed, and then every
client but those of Unix sockets must use it. Over a Unix socket, the user who runs the server and the one
who owns the file log in as "curator", without a password.

SIGHUP reads the certificate again. SIGTERM and Ctrl-C end the server once statements have ended; a second
one ends it at once. Sockets that systemd opens are served too, and systemd is told what goes on.

The log goes to standard error. A statement's line has the user, a hash of the text, where the answer came
from and its cost, and never a value. The exit status is 0, or 1 if the server cannot start, or 2 if the usage
is wrong. A database called serve is opened as dpsql ./serve
`

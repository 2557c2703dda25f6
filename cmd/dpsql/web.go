package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dpsql/cmd/dpsql/internal/host"
	"dpsql/engine"
	"dpsql/sqlerr"
	"dpsql/web"
)

// defaultWebPort is the port of the console of dpsql serve.
const defaultWebPort = 8433

// webOptions are what a command line asks for of a console.
type webOptions struct {
	address  string // "" for none
	hosts    []string
	upload   int64
	listener net.Listener // nil for none
}

func (o *webOptions) flags(fs *flag.FlagSet) {
	fs.Func("web-host", "", func(text string) error { o.hosts = append(o.hosts, text); return nil })
	fs.Int64Var(&o.upload, "upload", 1<<30, "")
}

// open listens at the address, if there is one.
func (o *webOptions) open(tls bool) (net.Listener, error) {
	if o.address == "" {
		return nil, nil
	}
	a, err := host.ParseAddress(o.address, defaultWebPort)
	switch {
	case err != nil:
		return nil, err
	case a.TCP == nil:
		return nil, sqlerr.New(sqlerr.Invalid, "browsers cannot reach %s, a Unix socket", a).WithHint("-web 127.0.0.1:%d", defaultWebPort)
	case !a.Local() && !tls:
		return nil, withoutTLS(a)
	}
	return host.Listen(a, 0)
}

// shownConsole is a console that runs. A nil one does not.
type shownConsole struct {
	*web.Server
	url, file string // file has the curator's link
	log       *slog.Logger
	renew     chan struct{} // is sent to when the key was used
	stop      chan struct{} // is closed at the end
	done      chan struct{}
}

// serve begins to serve the console, if there is a listener: over TLS where other machines reach it.
func (o *webOptions) serve(c web.Config) *shownConsole {
	if o.listener == nil {
		return nil
	}
	a := host.AddressOf(o.listener)
	scheme := "https://"
	if a.Local() {
		scheme, c.Certificate = "http://", nil
	}
	at := o.listener.Addr().String()
	if a.TCP.IP.IsUnspecified() {
		at = net.JoinHostPort("localhost", strconv.Itoa(a.TCP.Port))
	}
	run := &shownConsole{url: scheme + at + "/", file: c.File + "-key", log: c.Log, renew: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	c.Hosts, c.Upload = o.hosts, o.upload
	c.KeyUsed = func() {
		select {
		case run.renew <- struct{}{}:
		default: // a new one is being written
		}
	}
	run.Server = web.New(c)
	run.link()
	go run.Serve(o.listener, !a.Local())
	go run.links()
	c.Log.Info("showing", "url", run.url, "curator", run.file)
	return run
}

// link makes a new link, and writes it into the file, for its owner alone.
func (c *shownConsole) link() string {
	link := c.url + "#key=" + c.NewKey()
	kept, err := os.CreateTemp(filepath.Dir(c.file), filepath.Base(c.file)+"-*") // with mode 600
	if err == nil {
		_, err = io.WriteString(kept, link+"\n")
		err = errors.Join(err, kept.Close())
		if err == nil {
			err = os.Rename(kept.Name(), c.file)
		}
		if err != nil {
			os.Remove(kept.Name())
		}
	}
	if err != nil {
		c.log.Warn("the curator's link is not written", "file", c.file)
	}
	return link
}

// links makes a new link when one was used, and when it is good no more.
func (c *shownConsole) links() {
	defer close(c.done)
	defer os.Remove(c.file)
	for {
		select {
		case <-c.stop:
			return
		case <-c.renew:
		case <-time.After(web.KeyTime):
		}
		c.link()
	}
}

func (c *shownConsole) shutdown(ctx context.Context) {
	if c == nil {
		return
	}
	c.Shutdown(ctx)
	close(c.stop)
	<-c.done
}

// runWeb carries out dpsql web and returns the exit status.
func runWeb(args []string, s streams) int {
	o := webOptions{address: "127.0.0.1:0"}
	readonly := false
	fs := flag.NewFlagSet("dpsql web", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.address, "listen", o.address, "")
	fs.BoolVar(&readonly, "readonly", false, "")
	o.flags(fs)
	words, err := positional(fs, args)
	c := newConsole(s, "")
	switch {
	case errors.Is(err, flag.ErrHelp):
		return show(s, webHelp)
	case err != nil:
		err = flagError(err)
	case len(words) != 1 || words[0] == "" || o.upload < 1:
		err = sqlerr.New(sqlerr.Invalid, "a console has one database").WithHint("dpsql web clinic.db; dpsql help web explains the flags")
	}
	if err != nil {
		c.fail(err)
		return exitUsage
	}
	return finish(c, sqlerr.Guard(func() error { return o.run(words[0], readonly, s) }))
}

// run shows the database until a signal ends it. Its log has warnings, and the link goes to standard output.
func (o *webOptions) run(file string, readonly bool, s streams) (err error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return sqlerr.New(sqlerr.Invalid, "%s is a directory", file)
	}
	if o.listener, err = o.open(false); err != nil {
		return err
	}
	defer o.listener.Close()
	db, err := engine.Open(file, engine.Options{ReadOnly: readonly})
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.NewSession().Exec(context.Background(), "SHOW USERS", nil); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	base := filepath.Base(file)
	run := o.serve(web.Config{Database: db, Name: strings.TrimSuffix(base, filepath.Ext(base)), File: file,
		Log: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	text, err := os.ReadFile(run.file)
	if err == nil {
		_, err = s.out.Write(text)
	}
	if err == nil {
		<-signals
	}
	limit, cancel := context.WithTimeout(context.Background(), afterDrain)
	defer cancel()
	run.shutdown(limit)
	return err
}

// webHelp is what "dpsql help web" prints.
const webHelp = `dpsql web shows a database in a browser: ask, see the budget, declare tables, build and publish releases.

usage: dpsql web [flags] DB

It prints a link for the curator. The link is good once, for ten minutes, on this machine and through no proxy;
the next one is in DB-key, which its owner alone can read. Ctrl-C ends it. Users log in with their passwords.

  -listen ADDRESS                a loopback address (default 127.0.0.1 and a free port)
  -web-host NAME                 a name by which browsers reach it, beside localhost and addresses; may be repeated
  -upload BYTES                  the longest file that may be sent (default 1073741824)
  -readonly                      refuse every write to the file
  -help                          print this text

dpsql serve -web ADDRESS shows the same beside the server, to other machines over TLS. A database called web is
opened as dpsql ./web
`

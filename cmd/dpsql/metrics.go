package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"

	"dpsql/engine"
)

// defaultMetricsPort is the port of health and counters.
const defaultMetricsPort = 9187

// reloads counts how often a certificate was read again.
type reloads struct{ done, failed atomic.Int64 }

// watch returns the pages of a running server for those who watch over it: health and
// counters. None of them shows a time that a statement took, how much memory there is in use,
// or a budget: the first two depend on private rows, and the third is the curator's.
func (r *running) watch(ctx context.Context) http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	pages.HandleFunc("GET /readyz", func(w http.ResponseWriter, asked *http.Request) {
		switch {
		case ctx.Err() != nil:
			http.Error(w, "stopping", http.StatusServiceUnavailable)
		case !r.readable(asked.Context()):
			http.Error(w, "the database cannot be read", http.StatusServiceUnavailable)
		default:
			io.WriteString(w, "ok\n")
		}
	})
	pages.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		r.metrics(w)
	})
	return pages
}

// readable reports whether the catalog can be read.
func (r *running) readable(ctx context.Context) bool {
	_, err := r.db.NewSession().Exec(ctx, "SHOW TABLES", nil)
	return err == nil
}

// metrics writes the counters in Prometheus' text form.
func (r *running) metrics(w io.Writer) {
	metric := func(name, kind, help string, samples ...any) {
		fmt.Fprintf(w, "# HELP dpsql_%s %s\n# TYPE dpsql_%s %s\n", name, help, name, kind)
		for i := 0; i < len(samples); i += 2 {
			fmt.Fprintf(w, "dpsql_%s%s %v\n", name, samples[i], samples[i+1])
		}
	}
	n := r.server.Counts()
	metric("build_info", "gauge", "The version that runs.", "{version="+strconv.Quote(engine.Version())+",go="+strconv.Quote(runtime.Version())+"}", 1)
	metric("start_time_seconds", "gauge", "When the server was started.", "", r.started.Unix())
	metric("connections", "gauge", "Connections now.", "", n.Open.Load())
	metric("connections_total", "counter", "Connections accepted.", "", n.Connections.Load())
	metric("logins_total", "counter", "Logins by outcome.", `{outcome="ok"}`, n.Logins.Load(), `{outcome="failed"}`, n.Refused.Load())
	verbs, catalog := n.Verbs.Load(), n.Catalog.Load()
	metric("statements_total", "counter", "Statements that ran, by kind: of the session, such as BEGIN, about the catalog of PostgreSQL, and all others.",
		`{kind="session"}`, verbs, `{kind="catalog"}`, catalog, `{kind="other"}`, max(n.Statements.Load()-verbs-catalog, 0))
	metric("statement_errors_total", "counter", "Statements that failed or were refused.", "", n.Errors.Load())
	metric("answers_total", "counter", "Private answers given.", "", n.Answers.Load())
	metric("answers_bought_total", "counter", "Private answers that were charged.", "", n.Bought.Load())
	metric("rows_sent_total", "counter", "Rows sent to clients.", "", n.Rows.Load())
	metric("bytes_total", "counter", "Bytes of messages, within TLS, by direction.", `{direction="received"}`, n.Received.Load(), `{direction="sent"}`, n.Sent.Load())
	metric("cancel_requests_total", "counter", "Requests to cancel a statement.", "", n.Cancels.Load())
	metric("faults_total", "counter", "Faults of the server, each of which ended a statement or a connection.", "", n.Panics.Load())
	if r.certificates != nil {
		metric("certificate_expiry_seconds", "gauge", "When the certificate ends.", "", r.certificates.Expires().Unix())
		metric("certificate_reloads_total", "counter", "Times that the certificate was read again, by outcome.",
			`{outcome="ok"}`, r.reloads.done.Load(), `{outcome="failed"}`, r.reloads.failed.Load())
	}
}

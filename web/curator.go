package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

const (
	mostRuns  = 20 // that are remembered
	mostTurns = 8  // of them, that have not ended
	lineTime  = 100 * time.Millisecond
)

// runs are the curator's statements. They go on without the request that began them, and whoever logs in as the
// curator finds them.
type runs struct {
	ctx context.Context
	end context.CancelFunc

	mu   sync.Mutex
	last int
	all  []*run
}

// run is a statement of the curator.
type run struct {
	id, sql string
	cancel  context.CancelFunc

	mu      sync.Mutex
	percent int // -1 before there is any progress
	reply   any // the last line; nil until the statement has ended
	changed chan struct{}
}

// begin remembers a run, in place of the oldest that has ended.
func (all *runs) begin(sql string) (*run, context.Context, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	going := 0
	for _, r := range all.all {
		if _, ended, _ := r.state(); ended == nil {
			going++
		}
	}
	if going >= mostTurns {
		return nil, nil, sqlerr.New(sqlerr.Busy, "%d statements run already, the most that may", going).WithHint("cancel one, or wait")
	}
	if len(all.all) >= mostRuns {
		i := slices.IndexFunc(all.all, func(r *run) bool { _, ended, _ := r.state(); return ended != nil })
		all.all = slices.Delete(all.all, i, i+1)
	}
	all.last++
	r := &run{id: strconv.Itoa(all.last), sql: engine.Masked(sql), percent: -1, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(all.ctx)
	r.cancel = cancel
	all.all = append(all.all, r)
	return r, ctx, nil
}

func (all *runs) named(id string) (*run, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	i := slices.IndexFunc(all.all, func(r *run) bool { return r.id == id })
	if i < 0 {
		return nil, refusal(http.StatusNotFound, "unknown", "there is no such statement").hinted("it ended long ago, or the console was started again")
	}
	return all.all[i], nil
}

// state returns how far a run is in percent, its last line if it has ended, and a channel that is closed at the next change.
func (r *run) state() (percent int, reply any, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.percent, r.reply, r.changed
}

func (r *run) change(percent int, reply any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if percent != r.percent || reply != nil {
		r.percent, r.reply = percent, reply
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// outcome returns the last line of a run: its result, with what the statement did and what it paid beside the rows.
func outcome(r *engine.Result) any {
	text, err := answerjson.Marshal(answerjson.Of(r))
	if err != nil {
		return failed(err)
	}
	for name, said := range map[string]string{"note": r.Note, "paid": r.Paid} {
		if line, err := answerjson.Marshal(map[string]string{name: said}); err == nil && said != "" {
			text = slices.Concat(text[:len(text)-1], []byte(","), line[1:])
		}
	}
	return map[string]json.RawMessage{"result": text}
}

// carryOut runs the statement to its end.
func (r *run) carryOut(ctx context.Context, s *engine.Session, p *engine.Prepared, audit func(*engine.Result, error)) {
	defer r.cancel()
	s.SetProgress(func(done, all int64) { r.change(int(100*done/max(all, 1)), nil) })
	var reply any
	err := sqlerr.Guard(func() error {
		out, err := s.ExecPrepared(ctx, p, nil)
		audit(out, err)
		if err == nil {
			reply = outcome(out)
		}
		return err
	})
	if err != nil {
		reply = failed(err)
	}
	r.change(100, reply)
}

func (c *call) run() (any, error) {
	var q question
	if err := c.read(&q); err != nil {
		return nil, err
	}
	s, p, _, err := c.prepare(&q)
	if err != nil {
		return nil, err
	}
	r, ctx, err := c.runs.begin(q.SQL)
	if err != nil {
		return nil, err
	}
	go r.carryOut(ctx, s, p, func(out *engine.Result, err error) { c.audit(q.SQL, out, err) })
	return nil, c.stream(r)
}

// stream writes a run's lines until it has ended, or nobody takes them.
func (c *call) stream(r *run) error {
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(c.w)
	line := func(v any) error {
		text, err := answerjson.Marshal(v)
		if err == nil {
			out.SetWriteDeadline(time.Now().Add(takeTime))
			if _, err = c.w.Write(append(text, '\n')); err == nil {
				err = out.Flush()
			}
		}
		return err
	}
	told, err := -1, line(map[string]string{"id": r.id})
	for err == nil {
		percent, reply, changed := r.state()
		if reply != nil {
			line(reply)
			return nil
		}
		if percent != told {
			told, err = percent, line(map[string]float64{"progress": float64(percent) / 100})
		}
		select {
		case <-changed:
			time.Sleep(lineTime)
		case <-c.ctx().Done():
			return nil
		}
	}
	return nil
}

func (c *call) running() (any, error) {
	c.runs.mu.Lock()
	defer c.runs.mu.Unlock()
	out := make([]map[string]any, len(c.runs.all))
	for i, r := range c.runs.all {
		percent, reply, _ := r.state()
		out[i] = map[string]any{"id": r.id, "sql": r.sql, "progress": nil, "done": reply != nil}
		if percent >= 0 {
			out[i]["progress"] = float64(percent) / 100
		}
	}
	return out, nil
}

// named returns the run that a request names.
func (c *call) named() (*run, error) {
	var body struct{ ID string }
	if err := c.read(&body); err != nil {
		return nil, err
	}
	return c.runs.named(body.ID)
}

func (c *call) watch() (any, error) {
	r, err := c.named()
	if err != nil {
		return nil, err
	}
	return nil, c.stream(r)
}

func (c *call) cancel() (any, error) {
	r, err := c.named()
	if err != nil {
		return nil, err
	}
	r.cancel()
	return struct{}{}, nil
}

// uploads is how files are called that are kept until they are loaded, beside the database: those that a file ends with.
const uploads = "-upload-"

// removeUploads removes what an earlier process did not.
func (s *Server) removeUploads() {
	folder := cmp.Or(filepath.Dir(s.config.File), ".")
	all, _ := os.ReadDir(folder)
	for _, f := range all {
		if s.config.File != "" && strings.HasPrefix(f.Name(), filepath.Base(s.config.File)+uploads) {
			os.RemoveAll(filepath.Join(folder, f.Name()))
		}
	}
}

// slow is a body that may take long, as long as some of it comes.
type slow struct {
	io.Reader
	out *http.ResponseController
}

func (s slow) Read(p []byte) (int, error) {
	s.out.SetReadDeadline(time.Now().Add(takeTime))
	return s.Reader.Read(p)
}

// keep writes a file beside the database, readable by its owner alone, and returns its path. The caller removes it.
func (c *call) keep(ending string, from io.Reader) (path string, err error) {
	f, err := os.CreateTemp(filepath.Dir(c.config.File), filepath.Base(c.config.File)+uploads+"*"+ending)
	if err != nil {
		return "", sqlerr.New(sqlerr.IO, "the file cannot be kept beside the database")
	}
	_, err = io.Copy(f, from)
	if err = cmp.Or(err, f.Close()); err == nil {
		return f.Name(), nil
	}
	os.Remove(f.Name())
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return "", refusal(http.StatusRequestEntityTooLarge, "size", "the file has more than %d bytes", c.config.Upload).hinted("load it on the machine, by .import, or raise --upload")
	}
	return "", sqlerr.New(sqlerr.IO, "the file did not arrive whole")
}

// load loads a file into a raw table.
func (c *call) load() (any, error) {
	asked := c.r.URL.Query()
	name := filepath.Base(asked.Get("name"))
	out := http.NewResponseController(c.w)
	kept, err := c.keep(ending(name), slow{http.MaxBytesReader(c.w, c.r.Body, c.config.Upload), out})
	if err != nil {
		return nil, err
	}
	defer os.Remove(kept)
	out.SetReadDeadline(time.Time{})
	im := engine.Import{Path: kept, Table: asked.Get("table"), Append: asked.Has("append"), Replace: asked.Has("replace"), Most: c.config.Upload,
		Dialect: engine.ImportDialect{Dates: asked["dates"]}}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		for _, value := range asked[name] {
			if slices.Contains([]string{"table", "name", "append", "replace", "dates"}, name) {
				continue
			}
			if err := im.Dialect.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	report, err := c.engine().Import(c.ctx(), im)
	if err != nil {
		f := renamed(err, kept, name, filepath.Base(kept), name)
		f.Readings = report.Readings
		return nil, f
	}
	columns := columnsOf(report.Columns)
	for i := range columns {
		columns[i].SQL = syntax.WriteName(columns[i].Name)
	}
	return map[string]any{"table": report.Table, "rows": report.Rows, "columns": columns, "notes": nonNil(report.Notes)}, nil
}

// renamed returns an error in which files have other names, as pairs say.
func renamed(err error, pairs ...string) *failure {
	f := failed(err)
	f.Failure.Error.Message = strings.NewReplacer(pairs...).Replace(f.Failure.Error.Message)
	return f
}

// ending returns the ending of a file's name that says how it is read.
func ending(name string) string {
	for _, known := range []string{".csv.gz", ".tsv.gz", ".tsv", ".parquet"} {
		if strings.HasSuffix(strings.ToLower(name), known) {
			return known
		}
	}
	return ".csv"
}

// draft returns a declaration to edit. Its comments have exact values, for the curator's eyes.
func (c *call) draft() (any, error) {
	var body struct{ Table string }
	if err := c.read(&body); err != nil {
		return nil, err
	}
	text, err := c.engine().Draft(c.ctx(), body.Table)
	return map[string]string{"sql": text}, err
}

// check returns how many rows each domain loses, exactly.
func (c *call) check() (any, error) {
	var body struct{ Table, SQL string }
	if err := c.read(&body); err != nil {
		return nil, err
	}
	text, err := c.engine().Check(c.ctx(), body.Table, body.SQL)
	return map[string]string{"text": text}, err
}

// advise returns proposals of releases for the statements of a workload.
func (c *call) advise() (any, error) {
	var body struct{ SQL, Epsilon, Delta string }
	if err := c.read(&body); err != nil {
		return nil, err
	}
	kept, err := c.keep(".sql", strings.NewReader(body.SQL))
	if err != nil {
		return nil, err
	}
	defer os.Remove(kept)
	for _, number := range []string{body.Epsilon, body.Delta} {
		if strings.Trim(number, "0123456789.eE+-") != "" {
			return nil, sqlerr.New(sqlerr.Invalid, "epsilon and delta are decimals")
		}
	}
	text := "ADVISE '" + strings.ReplaceAll(kept, "'", "''") + "' WITH (epsilon = " + body.Epsilon
	if body.Delta != "" {
		text += ", delta = " + body.Delta
	}
	r, err := c.engine().Exec(c.ctx(), text+")", nil)
	if err != nil {
		f := renamed(err, kept, workloadName)
		f.Failure.Error.Position = 0
		return nil, f
	}
	for _, row := range r.Rows {
		for i := range row {
			if text, ok := row[i].(string); ok {
				row[i] = strings.ReplaceAll(text, kept, workloadName)
			}
		}
	}
	return answerjson.Of(r), nil
}

// export replies with the file that an EXPORT RELEASE writes. It is written beside the database, in a folder of its own,
// and removed.
func (c *call) export() (any, error) {
	var q question
	if err := c.read(&q); err != nil {
		return nil, err
	}
	s, p, args, err := c.prepare(&q)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(c.config.File), filepath.Base(c.config.File)+uploads)
	if err != nil {
		return nil, sqlerr.New(sqlerr.IO, "there is no room for the page beside the database")
	}
	defer os.RemoveAll(folder)
	s.SetDirectory(folder)
	if _, err := s.ExecPrepared(c.ctx(), p, args); err != nil {
		return nil, renamed(err, folder+string(filepath.Separator), "")
	}
	written, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(written) != 1 {
		return nil, sqlerr.New(sqlerr.Invalid, "expected EXPORT RELEASE … TO a file's name that ends in .html")
	}
	text, err := os.ReadFile(written[0])
	if err != nil {
		return nil, sqlerr.New(sqlerr.IO, "the page cannot be read")
	}
	c.w.Header().Set("Content-Disposition", "attachment")
	c.w.Header().Set("Content-Type", "application/octet-stream") // it is for a file, not for this origin
	http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(10 * takeTime))
	c.w.Write(text)
	return nil, nil
}

// workloadName stands for a file that was kept for ADVISE.
const workloadName = "workload.sql"

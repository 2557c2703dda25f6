package pgtest

import (
	"strings"
	"testing"
)

// TestSharded spreads a table, and finds its rows on the shards and a grouped
// count of them computed there. A shard that is stopped and started has its rows again.
func TestSharded(t *testing.T) {
	t.Parallel()
	s := Sharded(t, 2)
	s.Create(t, "t", "a text, b integer", "a")
	s.Fill(t, "t", strings.NewReader("a,b\nx,1\n\"y,z\",2\nz,3\nx,4\nw,5\n"))
	s.Generate(t, "t", "SELECT 'n' || i % 10, i FROM generate_series(1, 9995) AS i")
	if got := s.MustExec(t, "SELECT a, count(*), sum(b) FROM t WHERE a > 'n9' GROUP BY a ORDER BY a"); got != "w|1|5\nx|2|5\ny,z|1|2\nz|1|3" {
		t.Errorf("groups %q", got)
	}
	rows := 0
	for _, shard := range s.Shard {
		rows += len(strings.Fields(shard.MustExec(t, "SELECT b FROM t")))
	}
	if rows != 10_000 {
		t.Errorf("%d rows on the shards", rows)
	}
	plan := s.Explain(t, "SELECT a, count(*) FROM t GROUP BY a")
	if n := strings.Count(plan, "Remote SQL: SELECT a, count(*) FROM public.t GROUP BY 1"); n != 2 {
		t.Errorf("%d shards count:\n%s", n, plan)
	}
	if err := s.Shard[1].Stop(); err != nil {
		t.Fatal(err)
	}
	for c, text := range map[*Cluster]string{s.Cluster: "SELECT count(*) FROM t", s.Shard[1]: "SELECT 1"} {
		if out, err := c.Exec(text); err == nil {
			t.Errorf("%q without a shard", out)
		}
	}
	if err := s.Shard[1].Start(); err != nil {
		t.Fatal(err)
	}
	if got := s.MustExec(t, "SELECT count(*) FROM t"); got != "10000" {
		t.Errorf("%s rows when the shard is back", got)
	}
	if _, err := s.Exec("SELECT 1; SELECT nothing; SELECT 2"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("error %v", err)
	}
	if got := s.MustExec(t, "SHOW listen_addresses"); got != "" {
		t.Errorf("it listens on %q", got)
	}
}

// TestProxy calls while bytes pass through a proxy, and cuts a connection, once each.
func TestProxy(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	p := c.Proxy(t)
	far := &Cluster{tools: c.tools, folder: p.folder}
	before := p.Sent()
	const rows = "SELECT repeat('x', 100) FROM generate_series(1, 1000)"
	if out, err := far.Exec(rows); err != nil || len(strings.Fields(out)) != 1000 {
		t.Fatalf("%d bytes, %v", len(out), err)
	}
	if sent := p.Sent() - before; sent < 100_000 {
		t.Errorf("%d bytes passed", sent)
	}
	called := int64(0)
	p.CallAfter(30_000, func() { called = p.Sent() - before })
	if _, err := far.Exec(rows); err != nil || called < 130_000 || called >= p.Sent()-before {
		t.Errorf("called after %d of %d bytes, %v", called, p.Sent()-before, err)
	}
	p.CutAfter(50_000)
	if out, err := far.Exec(rows); err == nil {
		t.Errorf("%d bytes through a cut connection", len(out))
	}
	if _, err := far.Exec(rows); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"dpsql/bench/report"
)

// scaleHead says what bounds what, and on which machine it was measured.
func (b *bench) scaleHead(w io.Writer, kind kind, sections []*report.Section) {
	fmt.Fprintf(w, `# Scale

Written by %s: do not edit. Each section ends with the command that makes it again, and its time.

What is bounded by what:

| resource | grows with | not with |
| --- | --- | --- |
| time of a build or a direct count | rows: each is read once, by the engine that holds it | |
| memory of a build | occupied cells of the release's columns, buckets of its table | rows |
| what a build receives from PostgreSQL | occupied cells | rows |
| noise draws, the release's size in the file | buckets, and published heavy cells | rows, cells |
| time and memory of an answer from a release | the query's support m | rows, cells |
| memory of an import (CSV, TSV, Parquet) | the longest record, or a page of each column | rows |
| memory with a unit column, rows in a file | distinct rows of one unit, beside the cells | units, rows: SQLite sorts them on disk |
| what a coordinator receives from its shards | occupied cells of each, where the release names the column that rows are spread by; else, and for a direct count or with a unit column, a short row for each row | with postgres_fdw of PostgreSQL 15; `+"`go test ./engine -run 'TestShards$'`"+` |
| ledger | statements that were charged | all else |

`+"`go test ./engine -run TestPeakMemory -v`"+` holds imports and builds from files to that, with `+"`-args -peak=10000000`"+` at ten million rows.

- Machine: %s, %d cores, %s, %s/%s. The whole run took %.0f minutes.

`, "`"+b.command(kind)+"`", cpu(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Since(b.start).Minutes())
}

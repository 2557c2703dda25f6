package main

import (
	"fmt"
	"io"
	"time"

	"dpsql/bench/report"
)

// scaleHead says what bounds what, and on which machine it was measured.
func (b *bench) scaleHead(w io.Writer, kind kind, sections []*report.Section) {
	fmt.Fprintf(w, `# Scale

Written by %s: do not edit. Each section ends with the command that makes it again, the time that it took and the machine. Times are those of a machine
that may do other things too: the load average is of the last quarter of an hour.

What is bounded by what:

| resource | grows with | not with |
| --- | --- | --- |
| time of a build or a direct count | rows: each is read once, by the engine that holds it | |
| memory of a build | occupied cells of the release's columns, buckets of its table | rows |
| what a build receives from PostgreSQL | occupied cells; with a unit column the rows, which the server sorts | rows, where a row is a unit |
| noise draws, the release's size in the file | buckets, and published heavy cells | rows, cells |
| time and memory of an answer from a release | the query's support m | rows, cells |
| memory of an import (CSV, TSV, Parquet) | the longest record, or a page of each column | rows |
| memory with a unit column | distinct rows of one unit, beside the cells | units, rows: the database sorts them, on disk where they are many |
| what a coordinator receives from its shards | occupied cells of each, a number for a count; with a unit column the rows | rows: `+"`go test ./engine -run 'TestShards$'`"+` reads what it asks them |
| ledger | statements that were charged | all else |

`+"`go test ./engine -run TestPeakMemory -v`"+` holds imports, and builds from files and from PostgreSQL, to that, with `+"`-args -peak=10000000`"+` at ten million rows.

- The whole run took %.0f minutes.

`, "`"+b.command(kind)+"`", time.Since(b.start).Minutes())
}

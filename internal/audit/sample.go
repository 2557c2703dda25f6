package audit

import (
	"context"
	"runtime"
	"sync"

	"dpsql/noise"
	"dpsql/sqlerr"
)

// chunk is how many runs a worker makes between checks of the context.
const chunk = 500

// sample runs the case as often on D (on) as on D′ (off). It uses all processors, and
// each worker has a random source of its own. report is called with the number of runs
// done.
func (c Case) sample(ctx context.Context, runs int, report func(done int)) (on, off []Output, err error) {
	s := sampling{of: c, report: report, to: [2][]Output{make([]Output, runs), make([]Output, runs)}}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { s.work(ctx) })
	}
	workers.Wait()
	if s.failed == nil && ctx.Err() != nil {
		s.failed = sqlerr.New(sqlerr.Cancelled, "the audit was interrupted")
	}
	return s.to[0], s.to[1], s.failed
}

// sampling is the work left and the outputs so far. The lock guards everything but the
// outputs; each worker fills its own part of them.
type sampling struct {
	of     Case
	report func(done int)
	to     [2][]Output

	lock        sync.Mutex
	taken, done int
	failed      error
}

// work fills one chunk after another until nothing is left or something failed.
func (s *sampling) work(ctx context.Context) {
	src := noise.NewSource()
	for made := 0; ; {
		changed, part := s.next(ctx, made)
		if len(part) == 0 {
			return
		}
		for i := range part {
			var err error
			if part[i], err = s.of.Run(changed, src); err != nil {
				s.fail(err)
				return
			}
		}
		made = len(part)
	}
}

// next records the runs that a worker has made and hands it another chunk. The two
// databases take turns, so that changes of the machine's load favour neither.
func (s *sampling) next(ctx context.Context, made int) (changed bool, part []Output) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if made > 0 {
		s.done += made
		s.report(s.done)
	}
	runs := len(s.to[0])
	first := s.taken / 2 * chunk
	if first >= runs || s.failed != nil || ctx.Err() != nil {
		return false, nil
	}
	changed = s.taken%2 == 1
	s.taken++
	to := s.to[0]
	if changed {
		to = s.to[1]
	}
	return changed, to[first:min(first+chunk, runs)]
}

func (s *sampling) fail(err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

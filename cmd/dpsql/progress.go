package main

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress sets a function to call with how much is done of how much, which
// shows a bar on a terminal where the work takes a while. The function it
// returns takes the bar away.
func (c *console) progress(what string, report *func(done, all int64)) (end func()) {
	if !c.errTTY {
		return func() {}
	}
	m := &meter{stop: make(chan struct{})}
	c.meter = m
	*report = func(done, all int64) {
		m.set(done, all, func() *progressbar.ProgressBar {
			return progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(visibleText(what)),
				progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish())
		})
	}
	return func() {
		m.end()
		c.meter = nil
	}
}

// pauseProgress takes a bar off the screen until resume is called, so that it
// does not draw over a question.
func (c *console) pauseProgress() (resume func()) {
	if c.meter == nil {
		return func() {}
	}
	c.meter.pause(true)
	return func() { c.meter.pause(false) }
}

// meter draws a bar again and again, so that it shows how long it has been there
// also while nothing is reported.
type meter struct {
	mu    sync.Mutex
	done  int64
	all   int64
	bar   func() *progressbar.ProgressBar // nil before the first report
	shown *progressbar.ProgressBar
	quiet bool // nothing is drawn for now
	stop  chan struct{}
	ended sync.WaitGroup
}

func (m *meter) set(done, all int64, bar func() *progressbar.ProgressBar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.all = min(done, all), all
	if m.bar == nil {
		m.bar = bar
		m.ended.Go(m.run)
	}
}

func (m *meter) run() {
	const patience = 500 * time.Millisecond
	for wait := patience; ; wait = patience / 2 {
		select {
		case <-m.stop:
			return
		case <-time.After(wait):
			m.draw()
		}
	}
}

func (m *meter) draw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet {
		return
	}
	if m.shown == nil {
		m.shown = m.bar()
	}
	m.shown.ChangeMax64(m.all)
	m.shown.Set64(m.done)
	m.shown.RenderBlank()
}

func (m *meter) pause(quiet bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quiet = quiet
	if quiet && m.shown != nil {
		m.shown.Clear()
	}
}

// end waits until nothing is drawn any more, and clears the line.
func (m *meter) end() {
	close(m.stop)
	m.ended.Wait()
	if m.shown != nil {
		m.shown.Clear()
	}
}

package main

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"dpsql/cmd/dpsql/internal/render"
)

// progress sets report to a function that takes how much is done of how much. On a
// terminal a bar shows it once the work has taken a while. The function that
// progress returns removes the bar.
func (c *console) progress(what string, report *func(done, all int64)) (end func()) {
	if !c.errTTY {
		return func() {}
	}
	m := &meter{stop: make(chan struct{})}
	c.meter = m
	*report = func(done, all int64) {
		m.set(done, all, func() *progressbar.ProgressBar {
			return progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(render.Visible(what)),
				progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish())
		})
	}
	return func() {
		m.end()
		c.meter = nil
	}
}

// pauseProgress removes the bar until resume is called, so that it does not draw
// over a question.
func (c *console) pauseProgress() (resume func()) {
	if c.meter == nil {
		return func() {}
	}
	c.meter.pause(true)
	return func() { c.meter.pause(false) }
}

// meter draws a bar again and again, so that the bar shows the time that has passed
// even while nothing is reported.
type meter struct {
	mu     sync.Mutex
	done   int64
	all    int64
	newBar func() *progressbar.ProgressBar // nil before the first report
	bar    *progressbar.ProgressBar        // nil before it is drawn
	paused bool
	stop   chan struct{}
	ended  sync.WaitGroup
}

func (m *meter) set(done, all int64, newBar func() *progressbar.ProgressBar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.all = min(done, all), all
	if m.newBar == nil {
		m.newBar = newBar
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
	if m.paused {
		return
	}
	if m.bar == nil {
		m.bar = m.newBar()
	}
	m.bar.ChangeMax64(m.all)
	m.bar.Set64(m.done)
	m.bar.RenderBlank()
}

func (m *meter) pause(paused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
	if paused && m.bar != nil {
		m.bar.Clear()
	}
}

// end stops the drawing and clears the line.
func (m *meter) end() {
	close(m.stop)
	m.ended.Wait()
	if m.bar != nil {
		m.bar.Clear()
	}
}

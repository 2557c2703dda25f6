package main

import (
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
	const patience = 500 * time.Millisecond
	start := time.Now()
	var bar *progressbar.ProgressBar
	*report = func(done, all int64) {
		if bar == nil {
			if time.Since(start) < patience {
				return
			}
			bar = progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(visibleText(what)),
				progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		bar.Set64(min(done, all))
	}
	return func() {
		if bar != nil {
			bar.Clear()
		}
	}
}

// Package journeys opens the pages in Chromium, as people do. Its tests need /usr/bin/chromium, or
// one in PATH, and axe-core from npm ci --prefix web; without them they are skipped.
package journeys

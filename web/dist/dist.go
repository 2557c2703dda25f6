// Package dist has the bundles that the pages are made of. go run ./web/build writes them.
package dist

import "embed"

// Files holds page.js and page.css of a release, console.js and console.css, worker.js, which stands behind Go's wasm_exec.js in a Worker, SQLite for that, and
// the licences of all.
//
//go:embed page.js page.css console.js console.css worker.js sqlite.wasm LICENCES.txt
var Files embed.FS

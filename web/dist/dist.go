// Package dist has the bundles that the pages are made of. go run ./web/build writes them.
package dist

import "embed"

// Files holds page.js, page.css, worker.js, which stands behind Go's wasm_exec.js in a Worker, SQLite for that, and
// the licences of all.
//
//go:embed page.js page.css worker.js sqlite.wasm LICENCES.txt
var Files embed.FS

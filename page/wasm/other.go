//go:build !js

package main

import "os"

func main() {
	os.Stderr.WriteString("wasm is the engine of a page: .ci/engine builds it for js/wasm\n")
	os.Exit(2)
}

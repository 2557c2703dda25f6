// Command typecheck says what of dpsql does not compile on other systems than this one:
//
//	go run ./internal/typecheck darwin/arm64 windows/amd64
//
// It checks the types of all packages and of what they import, and generates no code, which takes a
// sixth of the time.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	for _, system := range os.Args[1:] {
		goos, goarch, _ := strings.Cut(system, "/")
		env := append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		all, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Env: env}, "./...")
		if err != nil || len(all) == 0 {
			fmt.Fprintln(os.Stderr, "typecheck: no packages:", err)
			os.Exit(1)
		}
		if packages.PrintErrors(all) > 0 {
			os.Exit(1)
		}
		fmt.Println(system, "compiles")
	}
}

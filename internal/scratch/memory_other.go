//go:build !linux

package scratch

func memory() string { return "" }

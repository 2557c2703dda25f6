//go:build !linux

package catalog

func mountedChild(string) {}

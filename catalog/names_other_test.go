//go:build !linux

package catalog_test

func mountedChild(string) {}

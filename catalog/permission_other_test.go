//go:build !unix

package catalog

func readOnlyChild(string) {}

func spendChild(string) {}

//go:build !unix

package catalog_test

func readOnlyChild(string) {}

func spendChild(string) {}

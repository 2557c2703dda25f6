package sqlfront

import (
	"io"

	"dpsql/sqlfront/syntax"
)

// The statements, as package syntax parses them.
type (
	Statement       = syntax.Statement
	CreatePublic    = syntax.CreatePublic
	CreatePrivate   = syntax.CreatePrivate
	CreateSource    = syntax.CreateSource
	CreateRelease   = syntax.CreateRelease
	CreateMechanism = syntax.CreateMechanism
	AlterPrivate    = syntax.AlterPrivate
	Drop            = syntax.Drop
	Show            = syntax.Show
	Describe        = syntax.Describe
	Explain         = syntax.Explain
	Set             = syntax.Set
	Export          = syntax.Export
	Select          = syntax.Select
)

// Parts of statements.
type (
	Name      = syntax.Name
	Option    = syntax.Option
	ColumnDef = syntax.ColumnDef
	Object    = syntax.Object
	Scanner   = syntax.Scanner
	Input     = syntax.Input
)

// The words of statements.
const (
	Number = syntax.Number
	String = syntax.String
	Word   = syntax.Word

	SMW = syntax.SMW

	Release      = syntax.Release
	Mechanism    = syntax.Mechanism
	PrivateTable = syntax.PrivateTable
	PublicTable  = syntax.PublicTable
	SourceObject = syntax.SourceObject

	Tables     = syntax.Tables
	Sources    = syntax.Sources
	Releases   = syntax.Releases
	Mechanisms = syntax.Mechanisms
	Budget     = syntax.Budget
	Ledger     = syntax.Ledger
	Settings   = syntax.Settings
)

// Parse parses one statement.
func Parse(text string) (Statement, error) { return syntax.Parse(text) }

// ParseWithParameters parses one statement and names its parameters.
func ParseWithParameters(text string) (Statement, []string, error) {
	return syntax.ParseWithParameters(text)
}

// Parameters names the parameters of a statement.
func Parameters(text string) ([]string, error) { return syntax.Parameters(text) }

// NewScanner returns a scanner of a script.
func NewScanner(r io.Reader) *Scanner { return syntax.NewScanner(r) }

// Incomplete reports whether a shell needs more text before it can run what it has.
func Incomplete(text string) bool { return syntax.Incomplete(text) }

// IsVariable reports whether a text can name an environment variable.
func IsVariable(name string) bool { return syntax.IsVariable(name) }

package engine

import "dpsql/engine/internal/answer"

// What statements give and take is declared where SELECTs are answered.
type (
	// Result is what one statement gives: Columns and Rows (of int64, float64, string
	// or nil) for statements that have some, an Answer where the rows are a private
	// answer, Warnings, and the time Elapsed, which the analyst role is not told.
	Result = answer.Result
	// Column is a column of a result: its Name, and its Type INTEGER, REAL or TEXT.
	Column = answer.Column
	// Answer says how a differentially private answer came about: its Margins, shaped
	// as the rows, at a Confidence, what gave it, its Support and its Cost.
	Answer = answer.Answer
	// Kept says which rows of a unit an answer counts.
	Kept = answer.Kept
	// Cost is what a statement was charged.
	Cost = answer.Cost
	// Settings are the values of SET: Mechanism, Accuracy, Confidence, Clamp and
	// Unverified.
	Settings = answer.Settings
)

// DefaultSettings returns the settings of a new session.
func DefaultSettings() Settings { return answer.DefaultSettings() }

// SettingNames are the names SET knows, in the order SHOW SETTINGS lists them.
var SettingNames = answer.SettingNames

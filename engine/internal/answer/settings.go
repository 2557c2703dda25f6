package answer

import (
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// Settings are the values of SET: how a session's queries are answered.
type Settings struct {
	Mechanism  string  // auto, smw, projection, direct, or the name of one release or mechanism
	Accuracy   float64 // counts; 0 when unset: nothing is bought
	Confidence float64 // of the margins, in (0, 1)
	Clamp      bool    // negative estimates become 0
	Unverified bool    // answers past a mechanism's last run are given, marked
}

// DefaultSettings returns the settings of a new session.
func DefaultSettings() Settings {
	return Settings{Mechanism: "auto", Confidence: 0.95, Unverified: true}
}

// SettingNames are the names SET knows, in the order SHOW SETTINGS lists them.
var SettingNames = []string{"mechanism", "accuracy", "confidence", "clamp", "unverified"}

// Set changes one setting, as SET name = value does. The value is the text that
// stood in the statement. A value that is refused changes nothing.
func (s *Settings) Set(name, value string) error {
	next := *s
	if err := next.assign(name, value); err != nil {
		return err
	}
	*s = next
	return nil
}

// assign changes a setting. Where it fails the settings are of no use.
func (s *Settings) assign(name, value string) (err error) {
	switch strings.ToLower(name) {
	case "mechanism":
		s.Mechanism = mechanismName(value)
	case "accuracy":
		s.Accuracy, err = parseAccuracy(value)
	case "confidence":
		s.Confidence, err = parseConfidence(value)
	case "clamp":
		s.Clamp, err = parseSwitch(value)
	case "unverified":
		s.Unverified, err = parseSwitch(value)
	default:
		return sqlerr.New(sqlerr.Unknown, "there is no setting %s", name).
			WithHint("the settings are %s", strings.Join(SettingNames, ", "))
	}
	if err != nil {
		return err
	}
	return s.Check()
}

// Check refuses values that no query could be answered under.
func (s *Settings) Check() error {
	switch {
	case s.Mechanism == "":
		return sqlerr.New(sqlerr.Invalid, "mechanism must be a word or a name").
			WithHint("SET mechanism = auto tries every way")
	case !(s.Accuracy >= 0) || math.IsInf(s.Accuracy, 0):
		return errAccuracy()
	case !(s.Confidence > 0 && s.Confidence < 1):
		return errConfidence()
	}
	return nil
}

// mechanismName keeps names as written and the four words in lower case.
func mechanismName(value string) string {
	switch w := strings.ToLower(value); w {
	case "auto", "smw", "projection", "direct":
		return w
	}
	return value
}

// parseAccuracy returns 0 for the words that unset it.
func parseAccuracy(value string) (float64, error) {
	if w := strings.ToLower(value); w == "default" || w == "off" || w == "none" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || x == 0 {
		return 0, errAccuracy()
	}
	return x, nil
}

func parseConfidence(value string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, errConfidence()
	}
	return x, nil
}

func errAccuracy() error {
	return sqlerr.New(sqlerr.Invalid, "accuracy must be a positive number of counts").
		WithHint("SET accuracy = 50 asks for answers within ±50; SET accuracy = default buys nothing")
}

func errConfidence() error {
	return sqlerr.New(sqlerr.Invalid, "confidence must lie between 0 and 1").WithHint("SET confidence = 0.95")
}

func parseSwitch(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "on", "true", "1", "yes":
		return true, nil
	case "off", "false", "0", "no":
		return false, nil
	}
	return false, sqlerr.New(sqlerr.Invalid, "the value must be on or off")
}

// Get returns a setting as SHOW SETTINGS prints it.
func (s Settings) Get(name string) string {
	switch name {
	case "mechanism":
		return s.Mechanism
	case "accuracy":
		if s.Accuracy == 0 {
			return "default"
		}
		return strconv.FormatFloat(s.Accuracy, 'g', -1, 64)
	case "confidence":
		return strconv.FormatFloat(s.Confidence, 'g', -1, 64)
	case "clamp":
		return onOff(s.Clamp)
	}
	return onOff(s.Unverified)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

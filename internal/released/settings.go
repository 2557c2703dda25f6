package released

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// Settings are the values of SET. They control how a session's queries are answered.
type Settings struct {
	Mechanism  string  // auto, smw, projection, marginals, direct, or the name of one release or mechanism
	Accuracy   float64 // in counts; 0 if unset, and then nothing is bought
	Confidence float64 // of the margins, in (0, 1)
	Clamp      bool    // negative estimates become 0
	Unverified bool    // give answers after a mechanism's last run, marked as unverified
	Margins    string  // Proven, or Simulated: narrower, for releases that have simulations
}

// The kinds of margins.
const (
	Proven    = "proven"
	Simulated = "simulated"
)

// DefaultSettings returns the settings of a new session.
func DefaultSettings() Settings {
	return Settings{Mechanism: "auto", Confidence: 0.95, Unverified: true, Margins: Proven}
}

// SettingNames lists the names that SET accepts, in the order of SHOW SETTINGS.
var SettingNames = []string{"mechanism", "accuracy", "confidence", "clamp", "unverified", "margins"}

// Set changes one setting, as SET name = value does. value is the text in the statement.
// If Set returns an error, nothing has changed.
func (s *Settings) Set(name, value string) error {
	next := *s
	if err := next.assign(name, value); err != nil {
		return err
	}
	*s = next
	return nil
}

// assign changes a setting. After an error the settings must not be used.
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
	case "margins":
		s.Margins = strings.ToLower(value)
	default:
		return sqlerr.New(sqlerr.Unknown, "there is no setting %s", name).Of(sqlerr.Parameter).
			WithHint("the settings are %s", strings.Join(SettingNames, ", "))
	}
	if err != nil {
		return err
	}
	return s.Check()
}

// Check returns an error if no query could be answered under the settings.
func (s *Settings) Check() error {
	switch {
	case s.Mechanism == "":
		return sqlerr.New(sqlerr.Invalid, "mechanism must be a word or a name").
			WithHint("SET mechanism = auto tries every way")
	case !(s.Accuracy >= 0) || math.IsInf(s.Accuracy, 0):
		return errAccuracy()
	case !(s.Confidence > 0 && s.Confidence < 1):
		return errConfidence()
	case s.Margins != Proven && s.Margins != Simulated:
		return sqlerr.New(sqlerr.Invalid, "margins must be proven or simulated")
	}
	return nil
}

// mechanismName returns the keywords in lower case, and names unchanged.
func mechanismName(value string) string {
	if w := strings.ToLower(value); !NamesOne(w) {
		return w
	}
	return value
}

// parseAccuracy returns 0 for the words that unset the accuracy.
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
	case "margins":
		return s.Margins
	}
	return onOff(s.Unverified)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// MechanismKinds are the kinds of mechanisms that SET mechanism can ask for, beside auto
// and the name of one.
var MechanismKinds = []string{"smw", "projection", "marginals", "direct"}

// NamesOne reports whether a value of SET mechanism is a name.
func NamesOne(mechanism string) bool {
	return mechanism != "auto" && !slices.Contains(MechanismKinds, mechanism)
}

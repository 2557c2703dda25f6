package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
)

// begin takes the settings of the startup packet. Errors: a value that is not accepted.
func (s *settings) begin(c *conn, startup map[string]string) error {
	s.login = map[string]string{"session_authorization": c.user}
	if c.curator {
		s.login["is_superuser"] = "on"
	}
	if c.tls != nil {
		s.login["ssl"] = "on"
	}
	given := maps.Clone(startup)
	for name, value := range options(startup["options"]) {
		given[name] = value
	}
	for _, other := range []string{"user", "database", "replication", "options"} {
		delete(given, other)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if ofEngine(name) {
			if err := c.session.Set(name, given[name]); err != nil {
				return err
			}
			continue
		}
		name, value, err := accepted(name, given[name])
		if err != nil {
			return err
		}
		s.login[name] = value
	}
	s.engine = c.session.Settings()
	return nil
}

// set changes a setting and tells the client if it is a reported one.
func (s *settings) set(c *conn, name, value string, local bool) error {
	name, value, err := accepted(name, value)
	if err != nil {
		return err
	}
	if len(s.changed)+len(s.local) >= 1000 {
		return failure("54000", "there are too many settings")
	}
	if err := c.keep(name, len(value)); err != nil {
		return err
	}
	to := &s.local
	if !local {
		delete(s.local, name)
		to = &s.changed
	}
	if *to == nil {
		*to = make(map[string]string)
	}
	(*to)[name] = value
	s.tell(c, name)
	return nil
}

// reset restores the settings of the login: one, or all for "".
func (s *settings) reset(c *conn, name string) error {
	if name == "" {
		changed := slices.Concat(slices.Sorted(maps.Keys(s.changed)), slices.Sorted(maps.Keys(s.local)))
		s.changed, s.local, s.displaced = nil, nil, nil
		for _, name := range changed {
			s.tell(c, name)
		}
		return nil
	}
	if _, ok := s.get(name); !ok {
		return failure("42704", "unrecognized configuration parameter %q", name)
	}
	name = strings.ToLower(name)
	delete(s.changed, name)
	delete(s.local, name)
	s.tell(c, name)
	return nil
}

// restore restores what SET has changed to what it was, and tells the client of values that are others now.
func (s *settings) restore(c *conn, changed, local, displaced map[string]string) {
	were := make(map[string]string)
	for _, set := range []map[string]string{s.changed, s.local, changed, local} {
		for name := range set {
			were[name], _ = s.get(name)
		}
	}
	s.changed, s.local, s.displaced = changed, local, displaced
	for _, name := range slices.Sorted(maps.Keys(were)) {
		if is, _ := s.get(name); is != were[name] {
			s.tell(c, name)
		}
	}
}

// endBlock ends the settings of a transaction.
func (s *settings) endBlock(c *conn) {
	if len(s.local)+len(s.displaced) == 0 {
		return
	}
	for name, value := range s.displaced {
		c.session.Set(name, value) // taken before, so accepted again
	}
	ended := slices.Sorted(maps.Keys(s.local))
	s.local, s.displaced = nil, nil
	for _, name := range ended {
		s.tell(c, name)
	}
}

// tell tells the client of a setting, if it is a reported one.
func (s *settings) tell(c *conn, name string) {
	if p := parameters()[name]; p != nil && p.reported {
		value, _ := s.get(name)
		c.send(&pgproto3.ParameterStatus{Name: written(name), Value: value})
	}
}

// report tells the client of all reported settings.
func (s *settings) report(c *conn) {
	for _, name := range slices.Sorted(maps.Keys(parameters())) {
		s.tell(c, name)
	}
}

// resetEngine restores one setting of the engine to that of the login.
func (c *conn) resetEngine(name string) {
	c.session.Set(name, c.settings.engine.Get(strings.ToLower(name)))
}

// restoreEngine restores the engine's settings.
func (c *conn) restoreEngine(to engine.Settings) {
	for _, name := range engine.SettingNames {
		c.session.Set(name, to.Get(name)) // taken before, so accepted again
	}
}

//go:build !linux

package intent

import "github.com/intentgov/orchestra-mcp/internal/durable"

// look describes what is at a path of the workspace. Nothing is held open: elsewhere that can keep a directory from being
// moved.
func (s *Store) look(name string) (durable.Stat, error) {
	info, err := s.root.Lstat(name)
	if err != nil {
		return durable.Stat{}, err
	}
	return durable.StatInfo(info), nil
}

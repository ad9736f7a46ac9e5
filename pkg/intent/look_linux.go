package intent

import (
	"runtime"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// look describes what is at a path of the workspace. Each call asks several times, so it is one system call: the workspace
// stays open for it until the Store is gone.
func (s *Store) look(name string) (durable.Stat, error) {
	if s.top == nil {
		top, err := durable.OpenRoot(s.root)
		if err != nil {
			return durable.Stat{}, err
		}
		s.top = top
		runtime.AddCleanup(s, func(top *durable.Dir) { _ = top.Close() }, top)
	}
	return s.top.LstatAt(name)
}

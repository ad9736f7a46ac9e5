package workspace

import "github.com/intentgov/orchestra-mcp/pkg/change"

// Contents reads what the files of a planned change hold now, at its paths and under its temporary names, as far as it
// can be read and is no larger than limit bytes. Whoever wants the content before or after the change looks for its
// hash. It is for the time between Recover and Tidy, which removes the temporary files.
func (w *Workspace) Contents(p change.Planned, limit int64) []*Content {
	var found []*Content
	add := func(c *Content, err error) {
		if err == nil {
			found = append(found, c)
		}
	}
	for _, name := range temps(p) {
		if t, err := w.openTemp(name); err == nil {
			add(readFile(t.dir, t.name, limit))
			t.close()
		}
	}
	for _, path := range []string{p.Path, p.From} {
		if path == "" {
			continue
		}
		if t, err := w.recorded(path); err == nil {
			add(t.Read(limit))
			t.Close()
		}
	}
	return found
}

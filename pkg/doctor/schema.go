package doctor

import (
	"bytes"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// maxSchema bounds a schema that is compared, in bytes.
const maxSchema = 1 << 20

// checkSchemas finds schemas for editors that an earlier version wrote: an editor would mark keys that are right.
func (e *examination) checkSchemas() (fine bool) {
	fine = true
	for _, s := range []struct {
		file, name string
		make       func() ([]byte, error)
	}{{scaffold.SettingsSchema, "settings", settings.Schema}, {scaffold.IntentsSchema, "intents", intent.Schema}} {
		have, err := durable.ReadRegularIn(e.root, s.file, maxSchema)
		if err != nil {
			continue // none, or not ours
		}
		want, err := s.make()
		if err != nil || bytes.Equal(bytes.TrimSpace(have), bytes.TrimSpace(want)) {
			continue
		}
		fine = false
		e.warn(s.file+" is not the schema of this version, so editors complete and mark by another one.",
			"Write it anew.", e.self("schema "+s.name)+" > "+s.file)
	}
	return fine
}

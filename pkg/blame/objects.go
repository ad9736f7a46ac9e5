package blame

import (
	"context"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// Objects gives the contents of git's blobs, from one git process that the first question starts. Not for use by
// several goroutines.
type Objects struct{ blobs *blobs }

// OpenObjects asks the repository around dir. Where there is none, no content is known.
func OpenObjects(ctx context.Context, dir string) *Objects {
	if g := openGit(ctx, dir); g != nil {
		return &Objects{&blobs{git: g, ctx: ctx}}
	}
	return &Objects{}
}

var _ Contents = (*Objects)(nil).Content

// Content gives a blob by its id. A content over 64 MiB is not known.
func (o *Objects) Content(oid string) ([]byte, bool) {
	if o == nil || o.blobs == nil || !gitread.IsID(oid) {
		return nil, false
	}
	return o.blobs.content(oid)
}

// Close ends the process.
func (o *Objects) Close() {
	if o.blobs != nil {
		o.blobs.close()
	}
}

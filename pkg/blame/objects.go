package blame

import "context"

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
	if o == nil || o.blobs == nil || !isObjectID(oid) {
		return nil, false
	}
	return o.blobs.content(oid)
}

// isObjectID keeps what is in a ledger from naming anything but an object to git.
func isObjectID(oid string) bool {
	for _, c := range []byte(oid) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(oid) == 40 || len(oid) == 64
}

// Close ends the process.
func (o *Objects) Close() {
	if o.blobs != nil {
		o.blobs.close()
	}
}

package snapshot

// BlobsOf reads the ids of a git index.
func BlobsOf(index []byte, idLength int) map[string]bool { return blobsOf(index, idLength) }

// ExplainedUnread is explained for a file whose content was not read before the command; an empty after is no file.
func ExplainedUnread(after string, writes ...*Write) (last *Write, ok bool) {
	d := delta{path: "file", before: &version{}}
	if after != "" {
		d.after = &version{digest: &digest{hash: after}}
	}
	return explained(&d, writes, true)
}

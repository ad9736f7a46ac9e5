package snapshot

// BlobsOf reads the ids of a git index.
func BlobsOf(index []byte, idLength int) map[string]bool { return blobsOf(index, idLength) }

package kept

import "github.com/klauspost/compress/zstd"

// Pack compresses as the store does.
func Pack(content []byte) []byte {
	e, _ := zstd.NewWriter(nil)
	return e.EncodeAll(content, nil)
}

const FirstRecount = firstRecount

const MaxHeader = maxHeader

// Header is that of a content with paths, and ReadPaths reads one.
func Header(p ...string) []byte { return paths(p).header() }

var ReadPaths = readPaths

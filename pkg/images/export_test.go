package images

import "github.com/klauspost/compress/zstd"

// Pack compresses as the store does.
func Pack(content []byte) []byte {
	e, _ := zstd.NewWriter(nil)
	return e.EncodeAll(content, nil)
}

const FirstRecount = firstRecount

// Package framed keeps a long text of lines compressed, so that it can be read at any place without reading all before.
//
// # Format
//
// A file is a sequence of zstd frames (RFC 8878) and nothing else, so `zstd -dc` gives the text. Each frame stands by
// itself: it has its content size and its checksum, and holds at most 1 MiB of text in at most 32
// blocks. A writer ends a frame with the last line end in 128 KiB, which is one block, and cuts a line only where it is
// longer than a frame may be. The text has at most 1 GiB, in at most 16384 frames.
//
// There is no seek table. The places of the frames are found by going from header to header, which decompresses nothing
// and takes a small read a block: a table is one more thing that a hostile file could have wrong.
//
// # Promise
//
// A [Reader] holds a few frames in memory, whatever the file is. What it gives passed the frame's checksum. A frame that
// does not is a [Damage] that says where; the frames around it are read all the same.
//
// # Non-promise
//
// The checksum (32 bits of XXH64) is against accidents. Nothing here tells that somebody wrote another file.
package framed

const (
	targetText = 128 << 10
	maxText    = 1 << 20 // of a frame
	maxBlocks  = 32      // of a frame
	maxFrames  = 1 << 14
	// MaxSize is how long a text can be that a Reader reads.
	MaxSize = 1 << 30
)

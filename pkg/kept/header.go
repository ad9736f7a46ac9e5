package kept

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// A content's file begins with the paths that had its content, in a frame that decompressors skip; see RFC 8878, 3.1.2.
const (
	headerMagic = 0x184D2A50
	headerSize  = 8 // bytes before the paths: the magic number and their length
	// maxPaths and maxHeader bound the paths of one content, the latter in bytes. Of one that has more they are not known.
	maxPaths  = 16
	maxHeader = 16 << 10
)

// paths are those that had a content, sorted. The path "" stands for all that are not known.
type paths []string

var unknown = paths{""}

func (p paths) known() bool { return !slices.Contains(p, "") }

// has reports whether nothing is to be added for some paths.
func (p paths) has(more []string) bool {
	return !p.known() || !slices.ContainsFunc(more, func(path string) bool { return !slices.Contains(p, path) })
}

// with adds some paths.
func (p paths) with(more []string) paths {
	all := slices.Concat(p, more)
	slices.Sort(all)
	all = slices.Compact(all)
	if !p.known() || len(all) == 0 || len(all) > maxPaths || len(strings.Join(all, "\x00")) > maxHeader {
		return unknown
	}
	return all
}

// header is the frame with them.
func (p paths) header() []byte {
	text := strings.Join(p, "\x00")
	frame := binary.LittleEndian.AppendUint32(nil, headerMagic)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)))
	return append(frame, text...)
}

// readPaths reads what header wrote; a file that does not begin so has unknown ones.
func readPaths(r io.Reader) paths {
	begin := make([]byte, headerSize)
	if _, err := io.ReadFull(r, begin); err != nil || binary.LittleEndian.Uint32(begin) != headerMagic {
		return unknown
	}
	text := make([]byte, min(binary.LittleEndian.Uint32(begin[4:]), maxHeader+1))
	if _, err := io.ReadFull(r, text); err != nil || len(text) > maxHeader {
		return unknown
	}
	return strings.Split(string(text), "\x00")
}

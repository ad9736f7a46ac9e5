package kept

import (
	"errors"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Pack compresses as the store does.
func Pack(content []byte) []byte {
	e, _ := zstd.NewWriter(nil)
	return e.EncodeAll(content, nil)
}

// Spoil has all slots of a pack name another place, to which it writes bytes; they are said to be more than they are.
func Spoil(pack string, bytes []byte, more int64) error {
	file, err := os.OpenFile(pack, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	table, err := readTable(file, 0)
	end := endOf(table)
	_, writeErr := file.WriteAt(bytes, end)
	err = errors.Join(err, writeErr)
	for i, one := range table {
		one.at, one.size = end, int64(len(bytes))+more
		_, writeErr = file.WriteAt(one.encode(), int64(i)*slotSize)
		err = errors.Join(err, writeErr)
	}
	return errors.Join(err, file.Close())
}

const (
	FirstRecount = firstRecount
	MaxHeader    = maxHeader
	TableSize    = tableSize
)

// Header is that of a content with paths, and ReadPaths reads one.
func Header(p ...string) []byte { return paths(p).header() }

var ReadPaths = readPaths

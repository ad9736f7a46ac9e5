package segment

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Reached is how far a segment is known: up to the end of a whole line.
type Reached struct {
	End    int64 // of the last line that is known
	LastAt int64 // where that begins
	Last   record.Hash
}

// Continues reports whether the content has the last line that is known where it was.
func (c Reached) Continues(file io.ReaderAt, size int64) bool {
	if c.End == 0 || c.End > size || c.End-c.LastAt > MaxLine {
		return false
	}
	line := make([]byte, c.End-c.LastAt)
	_, err := file.ReadAt(line, c.LastAt)
	return (err == nil || errors.Is(err, io.EOF)) && record.Identity(TrimEnd(line)) == c.Last
}

func Unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// IgnoreGone: what git or a rotation takes away between two looks is read when it is back, and damage is for Verify to
// report.
func IgnoreGone(err error) error {
	_, damaged := errors.AsType[*framed.Damage](err)
	if damaged || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRotated) {
		return nil
	}
	return err
}

// InPlace reports whether the last line stands where it stood.
func (at Reached) InPlace(root *os.Root, name string) bool {
	file, info, err := OpenRegular(root, path.Join(Home, name), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return at.Continues(file, info.Size())
}

// TakeOut removes from wanted the lines that a file has.
func TakeOut(file io.ReaderAt, size int64, wanted map[record.Hash]bool) error {
	err := ReadLines(file, size, true, func(line Line) error {
		if !line.TooLong && !line.Torn {
			delete(wanted, record.Identity(line.Data))
		}
		if len(wanted) == 0 {
			return ErrEnough
		}
		return nil
	}, func(*framed.Damage) {})
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}

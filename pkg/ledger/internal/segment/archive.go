package segment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	ArchiveSuffix   = ".jsonl.zst"
	archiveTime     = "20060102T150405.000Z"
	archiveHashText = 16 // hex digits of the hash in an archive's name
)

// archive is the lines of a compressed segment.
type archive struct {
	*framed.Reader
	file *os.File
}

func (a archive) Close() error { return errors.Join(a.Reader.Close(), a.file.Close()) }

// ArchiveName is where an archive with these bytes stands, relative to .orchestration. Two that are not the same never
// have one name, whichever branch they come from.
func ArchiveName(firstLine []byte, hash []byte) string {
	at := "00000000T000000.000Z"
	if e, err := record.Parse(firstLine); err == nil && !e.Time.IsZero() {
		at = e.Time.UTC().Format(archiveTime)
	}
	return path.Join(ArchiveDir, at+"-"+hex.EncodeToString(hash)[:archiveHashText]+ArchiveSuffix)
}

// CheckName compares an archive with the hash in its name. That finds what decompresses to the same lines, and what
// was put there by another program.
func (x Extent) CheckName(root *os.Root) error {
	file, _, err := durable.OpenRegularIn(root, path.Join(Home, x.Name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	have := hex.EncodeToString(hash.Sum(nil))[:archiveHashText]
	if !strings.HasSuffix(x.Name, "-"+have+ArchiveSuffix) {
		return fmt.Errorf("its SHA-256 begins with %s, which its name does not say: it is not the file that was archived", have)
	}
	return nil
}

// ReadLines is forward or backward over a segment, and goes around what is damaged. Lines behind damage have no number.
func ReadLines(file io.ReaderAt, size int64, newest bool, yield func(Line) error, damaged func(*framed.Damage)) error {
	if newest {
		return readBackward(file, size, yield, damaged)
	}
	for from := int64(0); from < size; {
		counted := from == 0
		err := Forward(io.NewSectionReader(file, from, size-from), from, func(line Line) error {
			if !counted {
				line.Number = 0
			}
			return yield(line)
		})
		damage, is := errors.AsType[*framed.Damage](err)
		if !is {
			return err
		}
		damaged(damage)
		from = damage.To
	}
	return nil
}

func readBackward(file io.ReaderAt, size int64, yield func(Line) error, damaged func(*framed.Damage)) error {
	type part struct{ from, to int64 }
	for todo := []part{{0, size}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		rest := p.to
		err := Backward(io.NewSectionReader(file, p.from, p.to-p.from), p.to-p.from, func(line Line) error {
			line.Offset += p.from
			rest = line.Offset
			return yield(line)
		})
		damage, is := errors.AsType[*framed.Damage](err)
		if !is {
			if err != nil {
				return err
			}
			continue
		}
		// What one read found first may not be what stands last: the parts around it are read again.
		if damage.From > p.from {
			todo = append(todo, part{p.from, damage.From})
		}
		if damage.To < rest {
			todo = append(todo, part{damage.To, rest})
		}
		damaged(damage)
	}
	return nil
}

// LineEnd is what stood behind a line's data.
func (l Line) LineEnd() []byte {
	return []byte("\r\n")[2-min(max(int(l.Size)-len(l.Data), 0), 2):]
}

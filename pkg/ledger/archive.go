package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

const (
	archiveSuffix   = ".jsonl.zst"
	archiveTime     = "20060102T150405.000Z"
	archiveHashText = 16 // hex digits of the hash in an archive's name
)

// ErrDamagedArchive: an archive does not have the form that it was written in.
var ErrDamagedArchive = framed.ErrDamaged

// ArchiveLines gives the lines of an archive that can be read from its start only, such as an object of git. What cannot
// be decompressed ends it with ErrDamagedArchive. There is nothing to close.
func ArchiveLines(content io.Reader) (io.Reader, error) { return framed.NewStream(content) }

// archive is the lines of a compressed segment.
type archive struct {
	*framed.Reader
	file *os.File
}

func newArchive(file *os.File, size int64) (archive, error) {
	reader, err := framed.NewReader(file, size)
	return archive{reader, file}, err
}

func (a archive) Close() error { return errors.Join(a.Reader.Close(), a.file.Close()) }

// archiveName is where an archive with these bytes stands, relative to .orchestration. Two that are not the same never
// have one name, whichever branch they come from.
func archiveName(firstLine []byte, hash []byte) string {
	at := "00000000T000000.000Z"
	if e, err := Parse(firstLine); err == nil && !e.Time.IsZero() {
		at = e.Time.UTC().Format(archiveTime)
	}
	return path.Join(archiveDir, at+"-"+hex.EncodeToString(hash)[:archiveHashText]+archiveSuffix)
}

// checkName compares an archive with the hash in its name. That finds what decompresses to the same lines, and what
// was put there by another program.
func (a archive) checkName(name string) error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(a.file, 0, info.Size())); err != nil {
		return err
	}
	have := hex.EncodeToString(hash.Sum(nil))[:archiveHashText]
	if !strings.HasSuffix(name, "-"+have+archiveSuffix) {
		return fmt.Errorf("its SHA-256 begins with %s, which its name does not say: it is not the file that was archived", have)
	}
	return nil
}

func damageProblem(segment string, d *framed.Damage) Problem {
	return Problem{Kind: ProblemArchive, Segment: segment, Detail: d.Error()}
}

// readLines is forward or backward over a segment, and goes around what is damaged. Lines behind damage have no number.
func readLines(file io.ReaderAt, size int64, newest bool, yield func(rawLine) error, damaged func(*framed.Damage)) error {
	if newest {
		return readBackward(file, size, yield, damaged)
	}
	for from := int64(0); from < size; {
		counted := from == 0
		err := forward(io.NewSectionReader(file, from, size-from), from, func(line rawLine) error {
			if !counted {
				line.number = 0
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

func readBackward(file io.ReaderAt, size int64, yield func(rawLine) error, damaged func(*framed.Damage)) error {
	type part struct{ from, to int64 }
	for todo := []part{{0, size}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		rest := p.to
		err := backward(io.NewSectionReader(file, p.from, p.to-p.from), p.to-p.from, func(line rawLine) error {
			line.offset += p.from
			rest = line.offset
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

// lineEnd is what stood behind a line's data.
func (l rawLine) lineEnd() []byte {
	return []byte("\r\n")[2-min(max(int(l.size)-len(l.data), 0), 2):]
}

package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"reflect"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/query"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Disk lets a test stand between a Ledger and its files. Nil functions are the real ones.
type Disk = segment.Disk

// UseDisk must come before the first append.
func (l *Ledger) UseDisk(d Disk) {
	used, given := reflect.ValueOf(&l.disk).Elem(), reflect.ValueOf(d)
	for i := range given.NumField() {
		if f := given.Field(i); !f.IsNil() {
			used.Field(i).Set(f)
		}
	}
}

// LimitLine sets the length beyond which records are spread.
func (l *Ledger) LimitLine(n int) { l.maxLine = n }

// FlushData is how the ledger flushes a file.
func FlushData(f *os.File) error { return durable.FlushData(f) }

// FollowEvery sets how often Follow looks.
func (l *Ledger) FollowEvery(d time.Duration) { l.followEvery = d }

// ArchiveName is the name that an archive with these bytes must have, relative to .orchestration.
func ArchiveName(firstLine, content []byte) string {
	hash := sha256.Sum256(content)
	return segment.ArchiveName(firstLine, hash[:])
}

// IndexBlocks sets how many bytes of a segment a block of the index has, and of how many more its file is written.
func (l *Ledger) IndexBlocks(size, write int64) {
	index := l.at.Load().index
	index.BlockSize, index.MinWrite = size, write
}

// Proposes reports whether a query would look at the line if its index were made of it alone.
func Proposes(line []byte, f record.Filter) bool {
	w, _ := index.WantedBy(f, nil)
	return w.Takes(segment.Line{Data: line, Size: int64(len(line)) + 1})
}

// FindHeads gives the heads of a segment's content as a writer finds them.
func FindHeads(content []byte) (heads []string, err error) {
	found, err := segment.FindHeads(bytes.NewReader(content), int64(len(content)), func(segment.Line, record.Hash, record.LineKind) {})
	for _, head := range found {
		heads = append(heads, head.String())
	}
	return heads, err
}

// HeldForHeads is the largest number of lines that are held at once while heads are found.
func HeldForHeads(content []byte) (most int, err error) {
	found := segment.HeadFinder{}
	err = segment.Forward(bytes.NewReader(content), 0, func(line segment.Line) error {
		id, prev, _ := segment.ReadChain(line)
		found.Take(id, prev)
		most = max(most, len(found))
		return nil
	})
	return most, err
}

// RecentWithin is Recent while there is no index, for so many bytes.
func (l *Ledger) RecentWithin(ctx context.Context, f record.Filter, bytes int64) (query.Result, bool, error) {
	return query.Recent(ctx, l.where, f, bytes)
}

// Prepared is closed when the index stands.
func (l *Ledger) Prepared() <-chan struct{} { return l.at.Load().prepared }

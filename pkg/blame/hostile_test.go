package blame_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// forged makes records of whatever the bytes say.
func forged(data []byte) (entries []record.Entry) {
	next := func() int64 {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		if data = data[1:]; b < 240 || len(data) < 8 {
			return int64(b) - 4
		}
		n := int64(binary.LittleEndian.Uint64(data))
		data = data[8:]
		return n
	}
	hash := func(n int64) string {
		if n%7 == 0 {
			return ""
		}
		return sum256(fmt.Sprint(n % 7))
	}
	for len(data) > 0 && len(entries) < 200 {
		c := record.Change{
			Change: change.Change{
				Op: []change.Op{change.Created, change.Modified, change.Deleted, change.Moved}[uint64(next())%4], Path: fmt.Sprint("p", next()%3), Before: change.Version{Hash: hash(next())}, After: change.Version{Hash: hash(next())},
			},
			Coarse: next()%5 == 0,
		}
		c.Before.OID, c.After.OID = c.Before.Hash, c.After.Hash
		if c.Op == change.Moved {
			c.From = fmt.Sprint("p", next()%3)
		}
		for range uint64(next()) % 5 {
			c.Hunks = append(c.Hunks, [4]int{int(next()), int(next()), int(next()), int(next())})
		}
		added := 0
		for _, h := range c.Hunks {
			added += h[3] % 100
		}
		for range max(0, added) {
			c.Marks = append(c.Marks, record.MarkOf(fmt.Sprint(next()%9)))
		}
		for range uint64(next()) % 3 {
			c.Anchors = append(c.Anchors, record.Anchor{Line: int(next()), Mark: record.MarkOf(fmt.Sprint(next() % 9))})
		}
		for range uint64(next()) % 3 {
			c.Ranges = append(c.Ranges, record.Range{StartLine: int(next()), EndLine: int(next()), ContentHash: sum256("x")})
		}
		id := fmt.Sprint(next() % 9)
		e := record.Entry{ID: id, Hash: fmt.Sprint(next() % 9), Time: time.Unix(next(), 0), Prev: []string{fmt.Sprint(next() % 9)}, Offset: next(), Segment: fmt.Sprint(next() % 3)}
		e.Changes = []record.Change{c}
		e.Detail = map[string]any{[]string{"undoes", "retracts", "other"}[uint64(next())%3]: fmt.Sprint(next() % 9)}
		entries = append(entries, e)
	}
	return entries
}

// FuzzFile: what a ledger says can be anything. The answer may be wrong then; it is an answer, the same each time.
func FuzzFile(f *testing.F) {
	f.Add("one\ntwo\n}\n\n", []byte("\x04\x05\x06\x07\x08\x09\x05\x05\x05\x05\x06\x06\x07\x04\x04\x04\x04\x04\x04\x04\x04"))
	f.Add("3", []byte{4, 5, 9, 9, 4, 8, 255, 255, 255, 255, 255, 255, 255, 255, 127, 5, 5, 5, 250, 0, 0, 0, 0, 0, 0, 0, 128, 6, 6, 6, 6, 7, 8, 9, 9, 9, 9})
	f.Add("5\n5\n5\n", []byte("0123456789012345678901234567890123456789012345678901234567890123456789"))
	f.Add("", []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		entries := forged(data)
		contents := func(oid string) ([]byte, bool) {
			for n := range 7 {
				if s := fmt.Sprint(n); oid == sum256(s) {
					return []byte(s), n%2 == 0
				}
			}
			return nil, false
		}
		now := []byte(text)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		lines, err := blame.File(ctx, "p0", now, entries, contents)
		if err != nil {
			check.Must(t, ctx.Err() == nil, "blame hangs")
			return
		}
		again := check.Value(blame.File(ctx, "p0", now, entries, contents))(t)
		for i := range lines {
			if lines[i].Record != again[i].Record || lines[i].Confidence != again[i].Confidence {
				t.Fatalf("line %d is answered in two ways", i+1)
			}
			if (lines[i].Record == nil) != (lines[i].Confidence == blame.Untracked) {
				t.Fatalf("line %d: record %v, %s", i+1, lines[i].Record, lines[i].Confidence)
			}
			if _, err := blame.Story(ctx, "p0", i+1, now, entries, contents); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a ledger line claims can be anything, and it may be 8 MiB long, of which each number may ask for memory. The answer may
// be wrong then, it may not be a crash.
func TestForgedHunks(t *testing.T) {
	var many [][4]int
	var ranges []record.Range
	for i := range 100_000 {
		many = append(many, [4]int{1 + i, 1, 1 + i, 1})
		ranges = append(ranges, record.Range{StartLine: 1 + i, EndLine: 1 << 20, ContentHash: sum256(fmt.Sprint(i))})
	}
	ranges[0].EndLine = 1 << 60
	for _, hunks := range [][][4]int{
		many, {{-5, -1, -3, -9}}, {{1 << 60, 1, 1, 1}}, {{1, 1 << 60, 1, 1 << 60}}, {{2, 1, 2, 1}, {1, 1, 1, 1}}, {{0, 0, 0, 0}}, {{1, 0, 5, 0}},
	} {
		w := emptyPaper()
		w.record("A", w.fileOf("A", sixLines...), w.path)
		w.record("B", w.fileOf("B", "alpha := first()", "golf := seventh()"), w.path)
		w.last().Hunks, w.last().Ranges = hunks, ranges[:len(hunks)]
		answers(t, w, "none")
		w.become(append(w.fileOf("", "zulu := zero()"), w.lines...))
		answers(t, w, "none")
		answers(t, w, "all")
	}
}

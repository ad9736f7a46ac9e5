package postings_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
)

// random makes a run of n rows in which few keys are frequent, and what Find has to give.
func random(r *rand.Rand, n int) (*postings.Builder, postings.Span, map[postings.Key][]uint32) {
	b, want := &postings.Builder{}, map[postings.Key][]uint32{}
	frequent := make([]postings.Key, 5)
	for i := range frequent {
		frequent[i] = postings.KeyOf(r.Uint64())
	}
	offset := uint32(0)
	for i := range n {
		keys := []postings.Key{postings.KeyOf(r.Uint64()), frequent[r.IntN(len(frequent))], frequent[r.IntN(len(frequent))]}
		b.Add(postings.Row{Offset: offset, Marks: r.Uint32(), Time: r.Int64()}, keys)
		offset += 1 + r.Uint32N(1000)
		for _, k := range slices.Compact(keys) {
			want[k] = append(want[k], uint32(i))
		}
	}
	last := int64(100)
	if n > 0 {
		last += int64(b.Rows[n-1].Offset)
	}
	return b, postings.Span{From: 100, Last: last, To: last + 10, Segment: [32]byte{1}, Line: [32]byte{2}, Whole: n%2 == 1}, want
}

func open(t testing.TB, data []byte) *postings.Run {
	t.Helper()
	return check.Value(postings.Open(bytes.NewReader(data), int64(len(data))))(t)
}

func TestRunGivesWhatWasAdded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 255, 256, 257, 5000} {
		b, span, want := random(r, n)
		run := open(t, b.Encode(span))
		least, greatest := b.Times()
		a, z := run.Times()
		check.Must(t, run.Span() == span && run.Len() == n && a == least && z == greatest, "%d rows: the header does not come back", n)
		for k, rows := range want {
			found, err := run.Find(k)
			held, _ := b.Find(k)
			if err != nil || !slices.Equal(found, rows) || !slices.Equal(held, rows) {
				t.Fatalf("%d rows: key %x has %v, %v, want %v", n, k, found, err, rows)
			}
		}
		if found, err := run.Find(postings.KeyOf(r.Uint64())); err != nil || len(found) != 0 {
			t.Errorf("%d rows: an unknown key has %v, %v", n, found, err)
		}
		for i := range n {
			page, first, err := run.Page(i)
			check.Must(t, err == nil && page[i-first] == b.Rows[i], "row %d: %v", i, err)
		}
		loaded, err := run.Load()
		check.That(t, err == nil && bytes.Equal(loaded.Encode(span), b.Encode(span)), "%d rows: loading changes the run: %v", n, err)
	}
}

func TestAppendedRunsAreOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	whole, span, _ := random(r, 1000)
	for _, cut := range []int{0, 1, 500, 1000} {
		parts := [2]postings.Builder{}
		shift := uint32(0)
		if cut < 1000 {
			shift = whole.Rows[cut].Offset
		}
		for i, row := range whole.Rows {
			part := &parts[0]
			if i >= cut {
				part = &parts[1]
				row.Offset -= shift
			}
			part.Add(row, keysOf(whole, i))
		}
		parts[0].Append(&parts[1], shift)
		check.That(t, bytes.Equal(parts[0].Encode(span), whole.Encode(span)), "cut at %d, the run is another", cut)
	}
}

func keysOf(b *postings.Builder, row int) (keys []postings.Key) {
	for _, e := range b.Entries {
		if int(e&(postings.MaxRows-1)) == row {
			keys = append(keys, postings.KeyOf(e))
		}
	}
	return keys
}

// readAll reads every part, and reports the first that is damaged.
func readAll(data []byte) (*postings.Builder, error) {
	run, err := postings.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return run.Load()
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	b, span, _ := random(rand.New(rand.NewPCG(5, 6)), 300)
	data := b.Encode(span)
	for i := range data {
		data[i] ^= 1 << (i % 8)
		check.Fails(readAll(data))(t, postings.ErrDamaged, "a bit of byte %d is another", i)
		data[i] ^= 1 << (i % 8)
	}
	for n := range len(data) {
		check.Fails(readAll(data[:n]))(t, postings.ErrDamaged, "cut to %d bytes", n)
	}
}

func FuzzOpen(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 300} {
		b, span, _ := random(r, n)
		f.Add(b.Encode(span), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, key uint64) {
		// A hostile writer gets the checksums right.
		postings.Sign(data)
		run, err := postings.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		rows, err := run.Find(postings.KeyOf(key))
		if err == nil && len(rows) > 0 && int(slices.Max(rows)) >= run.Len() {
			t.Errorf("rows %v of %d", rows, run.Len())
		}
		b, err := run.Load()
		if err != nil {
			return
		}
		if again, err := readAll(b.Encode(run.Span())); err != nil || len(again.Rows) != run.Len() {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

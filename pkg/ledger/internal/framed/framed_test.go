package framed_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// lines is a text of at least n bytes that does not compress to nothing.
func lines(n int) []byte {
	var text bytes.Buffer
	noise := make([]byte, 40)
	for i := 0; text.Len() < n; i++ {
		rand.Read(noise)
		fmt.Fprintf(&text, "{\"n\":%d,\"x\":%q}\n", i, hex.EncodeToString(noise))
	}
	return text.Bytes()
}

func compress(t testing.TB, text []byte, piece int) []byte {
	t.Helper()
	var file bytes.Buffer
	w := check.Value(framed.NewWriter(&file))(t)
	for len(text) > 0 {
		n := min(piece, len(text))
		check.Value(w.Write(text[:n]))(t)
		text = text[n:]
	}
	check.OK(t, w.Close())
	return file.Bytes()
}

func open(t testing.TB, file []byte) *framed.Reader {
	t.Helper()
	r := check.Value(framed.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func whole(r *framed.Reader) ([]byte, error) { return io.ReadAll(io.NewSectionReader(r, 0, r.Size())) }

func TestTextComesBack(t *testing.T) {
	long := append(bytes.Repeat([]byte("x"), 3<<19), '\n')
	for name, text := range map[string][]byte{
		"empty": nil, "one byte": []byte("x"), "short": []byte("a\nb\n"), "many frames": lines(1 << 20), "no line end": long[:400<<10],
		"a line longer than a frame": append(append([]byte("a\n"), long...), "b\n"...), "zeros": make([]byte, 3<<19),
	} {
		for _, piece := range []int{1 << 30, 30_000, 300 << 10} {
			t.Run(fmt.Sprint(name, " by ", piece), func(t *testing.T) {
				file := compress(t, text, piece)
				got, err := whole(open(t, file))
				check.Must(t, err == nil && bytes.Equal(got, text), "%d bytes came back of %d: %v", len(got), len(text), err)
				s := check.Value(framed.NewStream(bytes.NewReader(file)))(t)
				got, err = io.ReadAll(s)
				check.Must(t, err == nil && bytes.Equal(got, text), "%d bytes came through the stream of %d: %v", len(got), len(text), err)
				decoder := check.Value(zstd.NewReader(bytes.NewReader(file)))(t)
				defer decoder.Close()
				got, err = io.ReadAll(decoder)
				check.Must(t, err == nil && bytes.Equal(got, text), "another program gets %d bytes of %d: %v", len(got), len(text), err)
			})
		}
	}
}

func TestReadAtAnyPlace(t *testing.T) {
	text := lines(1 << 20)
	r := open(t, compress(t, text, 1<<30))
	for range 50 {
		off := mathrand.IntN(len(text))
		p := make([]byte, mathrand.IntN(600<<10))
		n, err := r.ReadAt(p, int64(off))
		want := text[off:min(len(text), off+len(p))]
		check.Must(t, bytes.Equal(p[:n], want) && (n < len(p)) == errors.Is(err, io.EOF), "%d bytes at %d: %d, %v", len(p), off, n, err)
	}
}

// TestDamageIsFoundAndGoneAround changes one byte anywhere. What is read without an error is what was written, and all
// frames but those around the byte are read.
func TestDamageIsFoundAndGoneAround(t *testing.T) {
	text := lines(1 << 20)
	file := compress(t, text, 1<<30)
	step := check.Rounds(19_937, 499)
	for at := 0; at < len(file); at += step {
		broken := bytes.Clone(file)
		broken[at] ^= byte(1 + mathrand.IntN(255))
		readAround(t, open(t, broken), text, 600<<10, fmt.Sprint("byte ", at))
	}
	for _, cut := range []int{1, 4, 5, 1000, len(file) / 3, len(file) - 3} { // a third: half of the file can be half of its frames, and then nothing of a frame is missing
		readAround(t, open(t, file[:len(file)-cut]), text, cut*4+600<<10, fmt.Sprint("cut by ", cut))
	}
}

// readAround reads frame by frame. Each piece must stand in the text, and at most lost bytes may be missing.
func readAround(t *testing.T, r *framed.Reader, text []byte, lost int, what string) {
	t.Helper()
	got, damages := 0, 0
	for from := int64(0); from < r.Size(); {
		piece, err := io.ReadAll(io.NewSectionReader(r, from, r.Size()-from))
		check.Must(t, bytes.Contains(text, piece), "%s: another text was read", what)
		got += len(piece)
		if err == nil {
			break
		}
		var d *framed.Damage
		check.Must(t, errors.As(err, &d) && d.To > from, "%s: %v", what, err)
		damages++
		from = d.To
	}
	if len(text)-got > lost || got != len(text) && damages == 0 {
		t.Fatalf("%s: %d of %d bytes were read, with %d damages", what, got, len(text), damages)
	}
}

func TestStreamTellsDamageFromFailure(t *testing.T) {
	file := compress(t, lines(1<<20), 1<<30)
	file[len(file)/2] ^= 1
	s, err := framed.NewStream(bytes.NewReader(file))
	check.OK(t, err)
	check.Fails(io.Copy(io.Discard, s))(t, framed.ErrDamaged, "damage")
	failure := errors.New("the disk failed")
	s, err = framed.NewStream(io.MultiReader(bytes.NewReader(file[:100]), failing{failure}))
	check.OK(t, err)
	_, err = io.Copy(io.Discard, s)
	check.That(t, errors.Is(err, failure) && !errors.Is(err, framed.ErrDamaged), "a failure to read gives %v", err)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestHostileFilesAreRefused(t *testing.T) {
	bomb := func(n int, opts ...zstd.EOption) []byte {
		e := check.Value(zstd.NewWriter(nil, opts...))(t)
		return e.EncodeAll(make([]byte, n), nil)
	}
	one := compress(t, []byte("x\n"), 10)
	for name, file := range map[string][]byte{
		"a frame of 64 MiB": bomb(64<<20, zstd.WithSingleSegment(true)), "no content size": streamed(t, []byte("x\n")),
		"no checksum": bomb(100, zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true)), "no zstd at all": []byte(strings.Repeat("hello\n", 1000)),
		"a skippable frame": {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2},
	} {
		r := open(t, file)
		text, err := whole(r)
		var d *framed.Damage
		check.That(t, len(text) == 0 && errors.As(err, &d), "%s: %d bytes, %v", name, len(text), err)
	}
	full := bytes.Repeat(compress(t, make([]byte, 1<<20), 1<<20), 1025)
	for name, file := range map[string][]byte{"too many frames": bytes.Repeat(one, 1<<14+1), "more than a GiB": full} {
		if r, err := framed.NewReader(bytes.NewReader(file), int64(len(file))); err == nil {
			r.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if !check.Long() {
		return // what follows decompresses a GiB
	}
	s := check.Value(framed.NewStream(bytes.NewReader(full)))(t)
	n, err := io.Copy(io.Discard, s)
	check.That(t, n <= framed.MaxSize && errors.Is(err, framed.ErrDamaged), "the stream gave %d bytes, %v", n, err)
}

func streamed(t *testing.T, text []byte) []byte {
	var file bytes.Buffer
	e := check.Value(zstd.NewWriter(&file))(t)
	check.Value(e.Write(text))(t)
	check.OK(t, e.Flush())
	check.OK(t, e.Close())
	return file.Bytes()
}

func FuzzReader(f *testing.F) {
	file := compress(f, []byte("{\"a\":1}\n{\"b\":2}\n"), 100)
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add(append(bytes.Clone(file), file...))
	f.Add(append([]byte("garbage"), file...))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := framed.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		defer r.Close()
		size, read := r.Size(), int64(0)
		for from := int64(0); from < size; {
			n, err := io.Copy(io.Discard, io.NewSectionReader(r, from, size-from))
			read += n
			var d *framed.Damage
			switch {
			case err == nil:
				from = size
			case !errors.As(err, &d) || d.To <= from || d.To > size:
				t.Fatalf("read from %d of %d: %v", from, size, err)
			default:
				from = d.To
			}
		}
		check.Must(t, read <= size, "%d bytes read of %d", read, size)
	})
}

package gitref_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// TestDictionaryStays: segments that are written can be read with this very text alone.
func TestDictionaryStays(t *testing.T) {
	const want = "afa6e1cc76494a726e896cc7513e0623bd7144f89e1416a184db7e827dbc5716"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(gitref.Dictionary))); got != want {
		t.Errorf("the dictionary has SHA-256 %s, want %s: what others wrote cannot be read with it; another text needs another id", got, want)
	}
}

func FuzzSegment(f *testing.F) {
	one := []byte(`{"prev":[],"version":"0.1.0"}`)
	two := fmt.Appendf(nil, `{"prev":["%x"],"version":"0.1.0"}`, sha256.Sum256(one))
	for _, text := range [][]byte{nil, []byte("\n"), []byte("x\n\ny\r\n"), []byte("+\n-\n+,x\n--\n"), append(append(append(one, '\n'), two...), '\n'), append(two, '\n')} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var lines [][]byte
		for line := range bytes.Lines(text) {
			lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		}
		file := check.Value(gitref.WriteSegment(lines))(t)
		want := append(bytes.Join(lines, []byte("\n")), '\n')
		if len(lines) == 0 {
			want = nil
		}
		got, err := gitref.ReadSegment(file)
		if check.OK(t, err); !bytes.Equal(got, want) {
			t.Fatalf("%q came back as %q", want, got)
		}
		_, _ = gitref.ReadSegment(text) // of a stranger
	})
}

// TestChainIsNotWritten: what a line has of the one above it is not in the segment.
func TestChainIsNotWritten(t *testing.T) {
	var lines [][]byte
	above := []byte("first")
	for range 100 {
		above = fmt.Appendf(nil, `{"prev":["%x"],"version":"0.1.0"}`, sha256.Sum256(above))
		lines = append(lines, above)
	}
	file, err := gitref.WriteSegment(lines)
	if check.OK(t, err); len(file) > 10*len(lines) {
		t.Errorf("%d lines take %d bytes", len(lines), len(file))
	}
}

func TestHostileSegmentText(t *testing.T) {
	compressed := func(text string, id uint32) []byte {
		options := []zstd.EOption{zstd.WithSingleSegment(true)}
		if id > 0 {
			options = append(options, zstd.WithEncoderDictRaw(id, []byte("another dictionary")))
		}
		w, err := zstd.NewWriter(nil, options...)
		check.OK(t, err)
		return w.EncodeAll([]byte(text), nil)
	}
	for name, file := range map[string][]byte{
		"the first line follows another one": compressed("+,x\n", 0), "no end of the last line": compressed("x\ny", 0),
		"an unknown dictionary": compressed("another dictionary\n", 40_000), "no compressed text": []byte("x\n"),
	} {
		if text, err := gitref.ReadSegment(file); !errors.Is(err, segment.ErrDamagedArchive) {
			t.Errorf("%s: read as %q, %v", name, text, err)
		}
	}
}

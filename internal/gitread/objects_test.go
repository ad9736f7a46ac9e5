package gitread_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

func FuzzAnswer(f *testing.F) {
	const id = "3f2504e04f8911d39a0c0305e82c3301aabbccdd"
	f.Add([]byte(id+" blob 3\nabc\nnext"), uint8(0))
	f.Add([]byte(id+" tree 3\nabc\nnext"), uint8(0))
	f.Add([]byte("HEAD:a b missing\n"), uint8(0))
	f.Add([]byte(id+" blob -5\nabc\n"), uint8(0))
	f.Add([]byte(id+" blob 9223372036854775807\nabc\n"), uint8(0))
	f.Add([]byte(id+" blob 66000000\nabc\n"), uint8(0))
	f.Add([]byte(id+" blob 99\nabc\n"), uint8(0))
	f.Fuzz(func(t *testing.T, out []byte, n uint8) {
		_, content, _, err := gitread.ReadAnswer("HEAD:a b", out)
		check.That(t, err != nil || bytes.Contains(out, content), "%q is made up", content)
		// What git writes is read back, with what stands behind it left.
		whole := fmt.Appendf(nil, "%s blob %d\n%s\n", id, len(out), out)
		found, again, rest, err := gitread.ReadAnswer(id, append(whole, make([]byte, n)...))
		if err != nil || found != (gitread.Object{ID: id, Kind: "blob", Size: int64(len(out))}) || !bytes.Equal(again, out) || len(rest) != int(n) {
			t.Errorf("%q became %q, %+v, %v, %d bytes left", out, again, found, err, len(rest))
		}
	})
}

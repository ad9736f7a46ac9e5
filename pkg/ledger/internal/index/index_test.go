package index

import (
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

const name = "agent_trace.jsonl"

func someBlocks(n int) *View {
	v := &View{final: n%2 == 1}
	for i := range n {
		b := newBlock(v.end())
		b.add(segment.Line{Data: fmt.Appendf(nil, `{"id":"%d","files":[{"path":"a/b"}]}`, i), Size: 40})
		b.Odd = i%3 == 0
		v.blocks = append(v.blocks, b)
	}
	v.written = v.end()
	return v
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for n := range 4 {
		v := someBlocks(n)
		check.Equal(t, fmt.Sprint(decode(name, v.encode(name))), fmt.Sprint(v), "%d blocks", n)
	}
}

// Each flipped bit, each missing end, and the file of another segment are found.
func TestDamageIsFound(t *testing.T) {
	data := someBlocks(3).encode(name)
	for i := range data {
		data[i] ^= 1 << (i % 8)
		check.Equal(t, len(decode(name, data).blocks), 0, "a bit of byte %d is another", i)
		data[i] ^= 1 << (i % 8)
		check.Equal(t, len(decode(name, data[:i]).blocks), 0, "cut to %d bytes", i)
	}
	check.Equal(t, len(decode("another", data).blocks), 0, "the file of another segment")
}

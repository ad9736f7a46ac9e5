package index

import (
	"fmt"
	"os"
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
		data := v.encode(name)
		for i := range v.blocks {
			if v.final { // the filters stay in the file
				v.blocks[i].filter = nil
			}
		}
		check.Equal(t, fmt.Sprint(decode(name, data)), fmt.Sprint(v), "%d blocks", n)
	}
}

// The columns of a file say of each block what its filter says.
func TestColumnsAreTheFilters(t *testing.T) {
	root := check.Value(os.OpenRoot(t.TempDir()))(t)
	check.OK(t, root.Mkdir(segment.Home, 0o755))
	x, v := New(root), someBlocks(21)
	x.write(name, v)
	columns := check.Value(x.open(name, 21))(t)
	defer columns.file.Close()
	for i := range 21 {
		k := keyOf(ofID, fmt.Sprint(i))
		set := columns.having(k)
		for j, b := range v.blocks {
			check.Equal(t, set[j/8]&(1<<(j%8)) != 0, b.has(k), "key %d, block %d", i, j)
		}
	}
	check.Fails(x.open(name, 20))(t, ErrStale)
	check.Fails(x.open("another", 21))(t, ErrStale)
	check.OK(t, columns.err)
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

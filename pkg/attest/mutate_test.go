package attest_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// sweep says how many bytes to change of each kind: the ledger's cost a review each, the others a look.
func sweep() (statement, ledger, objects int) {
	if check.Long() {
		return 5000, 1500, 4000
	}
	return 100, 2, 8
}

// tampering is a file of which single bytes are changed, in a form that may be packed.
type tampering struct {
	*place
	t    *testing.T
	text []byte
	key  attest.PublicKey
	rand *rand.Rand
}

// other changes one byte of a text to another value.
func (p *tampering) other(text []byte) (changed []byte, at int) {
	changed, at = bytes.Clone(text), p.rand.IntN(len(text))
	changed[at] ^= byte(1 + p.rand.IntN(255))
	return changed, at
}

// caught holds that the statement does not pass.
func (p *tampering) caught(text []byte, what string) {
	p.t.Helper()
	r, err := p.verify(text, p.key)
	switch {
	case err != nil:
	case r.Holds:
		p.t.Errorf("%s: not caught", what)
	case len(r.Contradictions) == 0:
		p.t.Errorf("%s: it does not hold, and nothing is said to contradict it: %q", what, r.Unknown)
	}
}

// TestEveryChangedByteIsCaught changes single bytes of the statement, of the range's lines of the ledger, and of the commits,
// trees and files that the statement covers.
func TestEveryChangedByteIsCaught(t *testing.T) {
	t.Parallel()
	a, text, stranger := finished(t, "sha1", true)
	p := &tampering{stranger, t, text, attest.SealKey(a.key.Public()), rand.New(rand.NewPCG(15, 7))}
	statements, lines, objects := sweep()
	for range statements {
		changed, at := p.other(text)
		p.caught(changed, fmt.Sprintf("byte %d of the envelope", at))
	}
	p.changeLedger(lines)
	p.changeObjects(objects)
	r, err := p.verify(text, p.key)
	if check.OK(t, err); !r.Holds {
		t.Errorf("nothing is changed any more, and it does not hold: %q", r.Contradictions)
	}
	t.Logf("%d bytes of the statement, %d of the ledger, %d of objects", statements, lines, objects)
}

func (p *tampering) changeLedger(times int) {
	name, whole := p.onlyCopy()
	for range times {
		changed, at := p.other(whole)
		check.OK(p.t, os.WriteFile(name, changed, 0o644))
		p.caught(p.text, fmt.Sprintf("byte %d of the ledger: %q for %q", at, changed[at], whole[at]))
	}
	check.OK(p.t, os.WriteFile(name, whole, 0o644))
}

// onlyCopy puts each line of the ledger into one file, once: of those that an archive has too, a changed copy would be a
// line more, and no line less.
func (p *tampering) onlyCopy() (name string, whole []byte) {
	seen := map[record.Hash]bool{}
	_, err := locate.EachLine(context.Background(), p.root, func(line ledger.RawLine) error {
		if !seen[line.Hash] {
			whole = append(append(whole, line.Data...), '\n')
		}
		seen[line.Hash] = true
		return nil
	})
	check.OK(p.t, err)
	home := filepath.Join(locate.Beside(p.dir), ".orchestration")
	check.OK(p.t, os.RemoveAll(filepath.Join(home, "archive")))
	name = filepath.Join(home, "agent_trace.jsonl")
	check.OK(p.t, os.WriteFile(name, whole, 0o644))
	check.Must(p.t, len(seen) == 8, "the ledger has %d lines, and the range adds 8", len(seen))
	return name, whole
}

// changeObjects changes objects within their compression, as somebody would who wants git to read them.
func (p *tampering) changeObjects(times int) {
	covered := p.loose()
	for range times {
		id := covered[p.rand.IntN(len(covered))]
		name := filepath.Join(p.dir, ".git", "objects", id[:2], id[2:])
		packed := check.Value(os.ReadFile(name))(p.t)
		reader := check.Value(zlib.NewReader(bytes.NewReader(packed)))(p.t)
		object := check.Value(io.ReadAll(reader))(p.t)
		header, content, _ := bytes.Cut(object, []byte{0})
		changed, at := p.other(content)
		var again bytes.Buffer
		writer := zlib.NewWriter(&again)
		fmt.Fprintf(writer, "%s\x00%s", header, changed)
		check.OK(p.t, writer.Close())
		check.OK(p.t, os.Chmod(name, 0o644))
		check.OK(p.t, os.WriteFile(name, again.Bytes(), 0o644))
		p.caught(p.text, fmt.Sprintf("byte %d of the %s %s", at, header, id))
		check.OK(p.t, os.WriteFile(name, packed, 0o644))
	}
}

// loose unpacks the repository and gives the objects that the statement covers: the range's commits, and HEAD's tree with all
// that is in it.
func (p *tampering) loose() (covered []string) {
	packs := check.Value(filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*.pack")))(p.t)
	check.Must(p.t, len(packs) != 0, "the clone has no pack")
	for _, pack := range packs {
		moved := filepath.Join(p.t.TempDir(), "pack")
		check.OK(p.t, os.Rename(pack, moved))
		check.OK(p.t, os.Remove(strings.TrimSuffix(pack, ".pack")+".idx"))
		p.unpack(moved)
	}
	covered = strings.Fields(p.git("rev-list", "origin/main..origin/work"))
	covered = append(covered, p.git("rev-parse", "origin/work^{tree}"))
	for _, line := range strings.Split(p.git("ls-tree", "-r", "-t", "origin/work"), "\n") {
		covered = append(covered, strings.Fields(line)[2])
	}
	return covered
}

func (p *tampering) unpack(pack string) {
	file := check.Value(os.Open(pack))(p.t)
	defer file.Close()
	cmd := exec.Command("git", "unpack-objects", "-q")
	cmd.Dir, cmd.Stdin = p.dir, file
	out, err := cmd.CombinedOutput()
	check.Must(p.t, err == nil, "git unpack-objects: %v\n%s", err, out)
}

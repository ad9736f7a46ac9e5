package ledger_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Git may still be writing an archive when somebody asks. What stands there already looks whole where a frame ends.
func TestTheIndexGetsTheRestOfAnArchiveThatWasBeingWritten(t *testing.T) {
	w, _, archives := archived(t, 4000)
	ask := func(l *ledger.Ledger) (n int) {
		for _, f := range []record.Filter{{IntentID: "INT-001"}, {IntentID: "none"}} {
			n += len(query(t, l, f).Entries)
		}
		return n
	}
	all := ask(w.open(ledger.Options{}))
	check.OK(t, w.root.RemoveAll(indexPath))
	whole := w.read(archives[0])
	const frame = "\x28\xb5\x2f\xfd"
	second := strings.Index(whole[len(frame):], frame) + len(frame)
	if second < len(frame) {
		t.Fatal("the archive has one frame only")
	}
	w.write(archives[0], whole[:second])
	kept := w.open(ledger.Options{})
	if n := ask(kept); n >= all || n == 0 {
		t.Fatalf("%d records of %d while the archive is written", n, all)
	}
	w.write(archives[0], whole)
	for name, l := range map[string]*ledger.Ledger{"the same process": kept, "another one": w.open(ledger.Options{})} {
		if n := ask(l); n != all {
			t.Errorf("%s finds %d records of %d", name, n, all)
		}
	}
}

package workspace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// BenchmarkReplace measures a compare-and-swap of 4 KiB beside the disk work that it cannot do without. Both
// take turns in one loop, so that the machine's other load weighs on both.
func BenchmarkReplace(b *testing.B) {
	w := open(b, map[string]string{"src/a/f": "", "bare/a/f": "", ".orchestration/active_intents.yaml": ""})
	bare := filepath.Join(w.Dir(), "bare/a/f")
	before := ""
	var ours, theirs time.Duration
	for i := 0; b.Loop(); i++ {
		after := fmt.Sprintf("%-4096d", i)
		start := time.Now()
		replace(b, w, before, after)
		ours += time.Since(start)
		start = time.Now()
		must(b, naiveWrite(bare, []byte(after)))
		theirs += time.Since(start)
		before = after
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/swap")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "µs/bare")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

// BenchmarkReplaceUnflushed is the cost of everything but the disk.
func BenchmarkReplaceUnflushed(b *testing.B) {
	w := open(b, map[string]string{"src/a/f": "", ".orchestration/active_intents.yaml": ""}, workspace.WithDurability(workspace.OS))
	before := ""
	for i := 0; b.Loop(); i++ {
		after := fmt.Sprintf("%-4096d", i)
		replace(b, w, before, after)
		before = after
	}
}

func replace(b *testing.B, w *workspace.Workspace, before, after string) {
	b.Helper()
	target, err := w.Resolve("src/a/f")
	must(b, err)
	done(b, w, workspace.Change{Op: change.Modified, Target: target, Before: hashOf(before), After: []byte(after)})
	must(b, target.Close())
}

// BenchmarkRead is resolving and reading 4 KiB, beside os.ReadFile.
func BenchmarkRead(b *testing.B) {
	w := open(b, map[string]string{"src/a/f": string(bytes.Repeat([]byte("x"), 4096))})
	b.Run("confined", func(b *testing.B) {
		for b.Loop() {
			target, err := w.Resolve("src/a/f")
			must(b, err)
			_, err = target.Read(1 << 20)
			must(b, err)
			must(b, target.Close())
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			c, err := os.ReadFile(filepath.Join(w.Dir(), "src/a/f"))
			must(b, err)
			workspace.HashOf(c)
		}
	})
}

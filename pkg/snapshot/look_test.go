package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// BenchmarkLook measures the looks before and after a command that changes little, by the size of the workspace, and what
// stays in memory.
//
//	go test ./pkg/snapshot -run '^$' -bench Look
func BenchmarkLook(b *testing.B) {
	for _, files := range []int{1_000, 10_000, 100_000, 420_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			t := newBench(b)
			for i := range files {
				if name := filepath.Join(t.dir, fmt.Sprintf("src/%d/%d", i/2500, i/25%100)); i%25 == 0 {
					t.must(os.MkdirAll(name, 0o755))
				}
				t.must(os.WriteFile(filepath.Join(t.dir, fmt.Sprintf("src/%d/%d/file%d.go", i/2500, i/25%100, i)), fmt.Append(nil, "content", i), 0o644))
			}
			time.Sleep(2 * time.Second) // until no file counts as just changed
			before := live()
			t.keeper = snapshot.Open(t.options)
			start := time.Now()
			t.end(t.begin())
			first := time.Since(start)
			t.end(t.begin())
			made := 0
			bytes := float64(live()-before) / float64(files)
			for _, enclosed := range []bool{false, true} {
				for _, line := range []string{"nothing", "a write", "a new file"} {
					b.Run(fmt.Sprintf("%s, enclosed %t", line, enclosed), func(b *testing.B) {
						for b.Loop() {
							w := t.begin()
							if enclosed {
								w.Enclosed()
							}
							switch line {
							case "a write":
								t.must(os.WriteFile(filepath.Join(t.dir, "src/0/0/file0.go"), fmt.Append(nil, time.Now()), 0o644))
							case "a new file":
								t.must(os.WriteFile(filepath.Join(t.dir, fmt.Sprint("src/0/0/new", made)), nil, 0o644))
								made++
							}
							t.end(w)
						}
						b.ReportMetric(bytes, "B/file")
						b.ReportMetric(first.Seconds()*1000, "ms/first")
					})
				}
			}
		})
	}
}

func live() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

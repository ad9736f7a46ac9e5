package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkWalk looks at a tree in which nothing changed, before and after a command that does nothing.
func BenchmarkWalk(b *testing.B) {
	for _, files := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			s := newBench(b)
			for i := range files {
				path := filepath.Join(s.dir, "src", fmt.Sprint(i/100), fmt.Sprintf("file%d.txt", i))
				if i%100 == 0 {
					s.must(os.MkdirAll(filepath.Dir(path), 0o755))
				}
				s.must(os.WriteFile(path, []byte("content\n"), 0o644))
			}
			s.end(s.begin())
			for _, look := range []struct {
				name string
				at   func(b *testing.B)
			}{
				{"before", func(*testing.B) { s.begin().Discard() }},
				{"both", func(*testing.B) { s.end(s.begin()) }},
			} {
				b.Run(look.name, func(b *testing.B) {
					used := cpu()
					for b.Loop() {
						look.at(b)
					}
					// On a machine that does other things too, this over the number of cores says more than the time.
					b.ReportMetric(float64((cpu()-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

// BenchmarkWalkBesideACommand looks at files that were all made while a command ran that still does.
func BenchmarkWalkBesideACommand(b *testing.B) {
	s := newBench(b)
	s.begin()
	for i := range 10_000 {
		s.write(fmt.Sprintf("out/%d/file%d.txt", i/100, i), "content\n")
	}
	first := cpu()
	s.begin().Discard()
	b.ReportMetric(float64((cpu()-first).Microseconds())/1000, "first-cpu-ms")
	s.keeper.Age()
	used := cpu()
	for b.Loop() {
		s.begin().Discard()
		s.keeper.Age()
	}
	b.ReportMetric(float64((cpu()-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

//go:build unix

package command_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// kept reads the bytes of an artifact past the API.
func (b *bench) kept(id string) string {
	b.Helper()
	text := check.Value(os.ReadFile(filepath.Join(b.dir, ".orchestration/cache/output", id)))(b)
	return string(text)
}

func TestOutputIsWholeUpToTheLimit(t *testing.T) {
	b := newBench(t)
	for _, size := range []int{0, 1, command.OutputLimit - 1, command.OutputLimit, command.OutputLimit + 1} {
		result, want := b.run(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size)), strings.Repeat("x", size)
		split := size > command.OutputLimit
		check.That(t, result.Truncated == split && (result.Output == want) != split && result.OutputHash == hashOf(want), "%d characters: %+v", size, result)
		check.That(t, utf8.RuneCountInString(result.Output) <= command.OutputLimit, "%d characters: too many came", size)
		check.That(t, !split || strings.HasSuffix(result.Output, want[:command.TailLimit]), "the tail is short")
	}
	result := b.run("printf 'é%.0s' $(seq 30000)")
	check.That(t, !result.Truncated && result.Output == strings.Repeat("é", 30000), "30000 characters of two bytes: truncated %v", result.Truncated)
}

func TestHeadAndTail(t *testing.T) {
	b := newBench(t)
	result := b.run("seq 1 100000")
	if !result.Truncated || utf8.RuneCountInString(result.Output) > command.OutputLimit {
		t.Fatalf("truncated %v, %d characters", result.Truncated, utf8.RuneCountInString(result.Output))
	}
	head, rest, ok := strings.Cut(result.Output, "\n[... ")
	note, tail, ok2 := strings.Cut(rest, " ...]\n")
	if !ok || !ok2 || !strings.HasPrefix(head, "1\n2\n3\n") || !strings.HasSuffix(tail, "\n99999\n100000\n") {
		t.Fatalf("head %.20q note %q tail %.20q", head, note, tail)
	}
	check.That(t, strings.Contains(note, result.ArtifactID), "the note does not name the artifact: %q", note)
	var omitted int
	fmt.Sscanf(note, "%d characters", &omitted)
	whole := b.kept(result.ArtifactID)
	if len(head)+omitted+len(tail) != len(whole) || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
		t.Errorf("head %d, omitted %d, tail %d do not make %d", len(head), omitted, len(tail), len(whole))
	}
	if result.OutputHash != hashOf(whole) || result.OutputBytes != int64(len(whole)) {
		t.Error("hash or size is not that of the whole output")
	}
}

func TestOutputCap(t *testing.T) {
	b := newBench(t)
	spec := b.spec("seq 1 100000")
	spec.OutputCap = 1000
	result := b.runSpec(context.Background(), spec)
	if result.ArtifactBytes != 1000 || len(b.kept(result.ArtifactID)) != 1000 || result.OutputBytes != 588895 {
		t.Errorf("kept %d of %d", result.ArtifactBytes, result.OutputBytes)
	}
	if !strings.HasSuffix(result.Output, "100000\n") || !strings.Contains(result.Output, "its first 1000 bytes") {
		t.Errorf("output ends in %.40q", result.Output[len(result.Output)-40:])
	}
}

func TestHarmlessOutputAndRawArtifact(t *testing.T) {
	b := newBench(t)
	result := b.run(`printf '\033[31mred\033[0m \377\376 \033]0;title\a bell\a\r\nnext\rover \342\200\256 \302\233'`)
	if want := "red \ufffd\ufffd  bell\u2407\nnext\nover <U+202E> <U+009B>"; result.Output != want {
		t.Errorf("output %q, want %q", result.Output, want)
	}
	if want := "\x1b[31mred\x1b[0m \xff\xfe \x1b]0;title\a bell\a\r\nnext\rover \u202e \u009b"; b.kept(result.ArtifactID) != want {
		t.Errorf("artifact %q, want %q", b.kept(result.ArtifactID), want)
	}
}

// TestConstantMemory counts what is allocated in all, which bounds what is held at any moment.
func TestConstantMemory(t *testing.T) {
	size := check.Rounds(80<<20, 2<<30)
	for name, test := range map[string]struct {
		line string
		size int
	}{
		"lines":      {"yes | head -c %d", size / 10},
		"no newline": {"head -c %d /dev/zero | tr '\\0' x", size},
		"binary":     {"head -c %d /dev/zero", size / 8}, // every byte of it is replaced
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			size := test.size
			spec := b.spec(fmt.Sprintf(test.line, size))
			spec.OutputCap = 8 << 20
			spec.Timeout = 10 * time.Minute
			spec.Progress = func(string) {}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			result := b.runSpec(context.Background(), spec)
			runtime.ReadMemStats(&after)
			if result.OutputBytes != int64(size) || result.ArtifactBytes != 8<<20 || !result.Truncated {
				t.Errorf("%d of %d bytes, %d kept", result.OutputBytes, size, result.ArtifactBytes)
			}
			const itself = 8 << 20 // of the command, and of those who watch it while it runs
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(size)/2+itself {
				t.Errorf("allocated %d MiB for %d MiB of output", allocated>>20, size>>20)
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

func TestWithoutArtifacts(t *testing.T) {
	b := newBench(t)
	runner := check.Value(command.NewRunner(command.Options{}))(t)
	b.runner = runner
	result := b.run("seq 1 100000")
	check.That(t, result.ArtifactID == "" && strings.Contains(result.Output, "the whole is not kept"), "artifact %q", result.ArtifactID)
}

func TestUnusableCacheDoesNotStopACommand(t *testing.T) {
	b := newBench(t)
	elsewhere := filepath.Join(b.dir, "src")
	check.OK(t, os.MkdirAll(elsewhere, 0o755))
	check.OK(t, os.Mkdir(filepath.Join(b.dir, ".orchestration"), 0o755))
	check.OK(t, os.Symlink("../src", filepath.Join(b.dir, ".orchestration/cache")))
	result := b.run("echo text")
	check.That(t, result.Output == "text\n" && result.ArtifactID == "" && len(result.Warnings) == 1, "%+v", result)
	entries, err := os.ReadDir(elsewhere)
	check.That(t, err == nil && len(entries) == 0, "written through a link: %v %v", entries, err)
}

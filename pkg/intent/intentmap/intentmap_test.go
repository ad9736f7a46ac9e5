package intentmap_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent/intentmap"
)

const (
	begin = "<!-- orchestra-mcp intent map: begin (generated, edit outside the markers) -->\n"
	end   = "<!-- orchestra-mcp intent map: end -->\n"
)

var day = time.Date(2026, 2, 18, 23, 0, 0, 0, time.UTC)

type workspace struct {
	t    *testing.T
	root *os.Root
	file string
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { _ = root.Close() })
	return workspace{t, root, filepath.Join(dir, ".orchestration", "intent_map.md")}
}

func (w workspace) write(text string) {
	w.t.Helper()
	check.OK(w.t, os.WriteFile(w.file, []byte(text), 0o640))
}

func (w workspace) expect(want string) {
	w.t.Helper()
	got := check.Value(os.ReadFile(w.file))(w.t)
	check.That(w.t, string(got) == want, "got:\n%s\nwant:\n%s", got, want)
}

func (w workspace) record(id, name string, at time.Time, paths ...string) {
	w.t.Helper()
	check.OK(w.t, intentmap.Record(context.Background(), w.root, []intentmap.Entry{entry(id, name, at, paths...)}, nil))
}

func entry(id, name string, at time.Time, paths ...string) intentmap.Entry {
	e := intentmap.Entry{IntentID: id, Name: name}
	for _, path := range paths {
		e.Files = append(e.Files, intentmap.File{Path: path, Changed: at})
	}
	return e
}

func TestUpdateIsSortedAndRepeatable(t *testing.T) {
	w := newWorkspace(t)
	entries := []intentmap.Entry{
		{IntentID: "INT-002", Name: "Docs", Status: "DONE", Files: []intentmap.File{{Path: "docs/a.md", Changed: day}}},
		{IntentID: "INT-001", Name: "Build Weather API", Files: []intentmap.File{
			{Path: "src/z.ts", Changed: day}, {Path: "src/a.ts", Changed: day.Add(-48 * time.Hour)},
			{Path: "src/a.ts", Changed: day}}},
	}
	want := "# Intent map\n\n" + begin + "## INT-001: Build Weather API\n\nlast change 2026-02-18\n\n- `src/a.ts` (2026-02-18)\n" +
		"- `src/z.ts` (2026-02-18)\n\n## INT-002: Docs\n\nDONE, last change 2026-02-18\n\n- `docs/a.md` (2026-02-18)\n" + end
	for range 2 {
		check.OK(t, intentmap.Update(context.Background(), w.root, entries))
		w.expect(want)
	}
}

func TestRecordMerges(t *testing.T) {
	w := newWorkspace(t)
	w.record("INT-001", "Old name", day, "b.ts", "a.ts")
	w.record("INT-002", "", day, "c.ts")
	w.record("INT-001", "New", day.Add(24*time.Hour), "b.ts", "0.ts")
	w.record("INT-001", "New", day.Add(-72*time.Hour), "a.ts")
	w.expect("# Intent map\n\n" + begin + "## INT-001: New\n\nlast change 2026-02-19\n\n- `0.ts` (2026-02-19)\n- `a.ts` (2026-02-18)\n" +
		"- `b.ts` (2026-02-19)\n\n## INT-002:\n\nlast change 2026-02-18\n\n- `c.ts` (2026-02-18)\n" + end)
}

func TestProseAroundStays(t *testing.T) {
	for name, text := range map[string]struct{ before, after string }{
		"prose":       {"# Mine\n\n## INT-009: not generated\n- `x` (2020-01-01)\n\n", "\nTail without newline"},
		"crlf":        {"# Mine\r\n\r\n", "\r\nTail\r\n"},
		"byte order":  {"\ufeffx\n", "\xff\x00 not text\n"},
		"no prose":    {"", ""},
		"like a mark": {"<!-- orchestra-mcp intent map: begin -->\n", "text " + end},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.write(text.before + begin + "## INT-001: A\n\nlost\n" + end + text.after)
			w.record("INT-001", "A", day, "a")
			block := begin + "## INT-001: A\n\nlast change 2026-02-18\n\n- `a` (2026-02-18)\n" + end
			if name == "crlf" {
				block = strings.ReplaceAll(block, "\n", "\r\n")
			}
			w.expect(text.before + block + text.after)
			info := check.Value(os.Stat(w.file))(t)
			check.That(t, info.Mode().Perm() == 0o640, "mode %v", info.Mode())
		})
	}
}

func TestWithoutMarkersTheBlockIsAppended(t *testing.T) {
	for _, text := range []string{"prose", "prose\n", "prose\n\n"} {
		w := newWorkspace(t)
		w.write(text)
		w.record("I", "N", day, "a")
		w.expect("prose\n\n" + begin + "## I: N\n\nlast change 2026-02-18\n\n- `a` (2026-02-18)\n" + end)
	}
}

// TestSectionsOfAnEarlierToolAreTakenOver: no intent has a second heading, and nothing that stands around them or in them
// is lost, also when the map is made anew.
func TestSectionsOfAnEarlierToolAreTakenOver(t *testing.T) {
	const list = "## INT-001: Weather\n- `src/b.ts`\n- `src/a.ts` (2026-01-01)\n\n## INT-002: Docs\n\nDONE\n\n- `docs/x.md`\n"
	const block = begin + "## INT-001: Weather\n\nlast change 2026-02-18\n\n- `src/a.ts` (2026-02-18)\n- `src/b.ts`\n- `src/c.ts` (2026-02-18)\n\n" +
		"## INT-002: Docs\n\nDONE\n\n- `docs/x.md`\n" + end
	const table = "## Scopes\n\n| a | b |\n"
	for name, tt := range map[string]struct{ before, want string }{
		"alone":              {list, block},
		"a title":            {"# Intent Map\n\n" + list, "# Intent Map\n\n" + block},
		"prose on both ends": {"# Mine\nprose\n" + list + "\n" + table, "# Mine\nprose\n\n" + block + "\n" + table},
		"a section of prose": {"## INT-007: Mine\nprose\n\n" + list + "## INT-008: Also\n- `x`, of which\n", "## INT-007: Mine\nprose\n\n" + block + "\n## INT-008: Also\n- `x`, of which\n"},
		"no section":         {table, table + "\n" + begin + "## INT-001: Weather\n\nlast change 2026-02-18\n\n- `src/a.ts` (2026-02-18)\n- `src/c.ts` (2026-02-18)\n" + end},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.write(tt.before)
			w.record("INT-001", "Weather", day, "src/a.ts", "src/c.ts")
			w.expect(tt.want)
			w.record("INT-001", "Weather", day, "src/a.ts")
			w.expect(tt.want)
			check.OK(t, intentmap.Update(context.Background(), w.root, []intentmap.Entry{entry("INT-001", "Weather", day, "src/a.ts", "src/c.ts")}))
			got := check.Value(os.ReadFile(w.file))(t)
			for _, path := range []string{"src/b.ts", "docs/x.md"} {
				check.That(t, !strings.Contains(tt.want, path) || strings.Contains(string(got), path), "%s is lost:\n%s", path, got)
			}
			for _, id := range []string{"INT-001:", "INT-002:"} {
				check.That(t, strings.Count(string(got), "## "+id) <= 1, "%s has two headings:\n%s", id, got)
			}
		})
	}
}

func TestBrokenMarkersAreLeftAlone(t *testing.T) {
	for _, text := range []string{
		begin + "prose\n", "prose\n" + end, end + begin, begin + begin + end, begin + end + end, begin + end + begin + end,
	} {
		w := newWorkspace(t)
		w.write(text)
		err := intentmap.Record(context.Background(), w.root, []intentmap.Entry{entry("I", "N", day, "a")}, nil)
		check.That(t, errors.Is(err, intentmap.ErrMarkers), "%q: %v", text, err)
		w.expect(text)
	}
}

func TestHostileNames(t *testing.T) {
	w := newWorkspace(t)
	paths := []string{"a`b", "a\nb", "- `x` (2020-01-01)", `"quoted"`, `back\slash`, "\xff", "a\u2028b", "é", "`", "a b",
		strings.TrimSpace(end), "## X: y"}
	name := "line\nbreak <!-- " + strings.TrimSpace(end)
	w.record("I", name, day, paths...)
	first := check.Value(os.ReadFile(w.file))(t)
	n := strings.Count(string(first), "\n")
	check.That(t, n == 2+2+2+1+len(paths)+1, "%d lines:\n%s", n, first)
	for line := range strings.SplitSeq(string(first), "\n") {
		check.That(t, !strings.HasPrefix(line, "- ") || strings.Count(line, "`") == 2, "code span broken: %s", line)
	}
	w.record("J", "", day) // reading back and writing again changes nothing of I
	w.record("I", name, day, paths...)
	w.expect(strings.TrimSuffix(string(first), end) + "\n## J:\n\n" + end)
}

func TestNoDirectory(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Remove(filepath.Dir(w.file)))
	err := intentmap.Update(context.Background(), w.root, nil)
	check.That(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}

func TestConcurrentRecordsAllSurvive(t *testing.T) {
	w := newWorkspace(t)
	errs := make(chan error)
	for i := range 20 {
		go func() {
			errs <- intentmap.Record(context.Background(), w.root, []intentmap.Entry{entry("I", "N", day, string(rune('a'+i)))}, nil)
		}()
	}
	for range 20 {
		check.OK(t, <-errs)
	}
	got := check.Value(os.ReadFile(w.file))(t)
	n := strings.Count(string(got), "- `")
	check.That(t, n == 20, "%d paths:\n%s", n, got)
}

// Names and statuses are those of now, also of intents that nothing is added to; a map is not made for them alone.
func TestStatusesAreThoseOfNow(t *testing.T) {
	w := newWorkspace(t)
	known := func(status string) intentmap.Known {
		return func(id string) (string, string, bool) { return "Now", status, id != "GONE" }
	}
	check.OK(t, intentmap.Record(context.Background(), w.root, nil, known("TODO")))
	_, err := os.Stat(w.file)
	check.Must(t, errors.Is(err, fs.ErrNotExist), "a map of nothing: %v", err)
	check.OK(t, intentmap.Record(context.Background(), w.root, []intentmap.Entry{entry("A", "Old", day, "a"), entry("GONE", "Was", day, "g")}, known("TODO")))
	check.OK(t, intentmap.Record(context.Background(), w.root, nil, known("DONE")))
	want := "# Intent map\n\n" + begin + "## A: Now\n\nDONE, last change 2026-02-18\n\n- `a` (2026-02-18)\n\n" +
		"## GONE: Was\n\nlast change 2026-02-18\n\n- `g` (2026-02-18)\n" + end
	w.expect(want)
	check.OK(t, intentmap.Record(context.Background(), w.root, nil, nil)) // nothing is known: what stands there stays
	w.expect(want)
}

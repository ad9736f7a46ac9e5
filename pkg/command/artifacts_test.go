package command_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// cache is a store without a runner.
type cache struct {
	*testing.T
	dir   string
	store *command.Artifacts
}

func newCache(t *testing.T, limit int64) *cache {
	t.Helper()
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return &cache{t, dir, command.NewArtifacts(root, "cache/output", limit)}
}

func (c *cache) put(text string) string {
	c.Helper()
	writer := check.Value(c.store.For("").Create(1 << 30))(c)
	check.Value(writer.Write([]byte(text)))(c)
	check.OK(c, writer.Close())
	return writer.ID()
}

func (c *cache) read(id string, offset, limit int, search string) command.Page {
	c.Helper()
	return check.Value(c.store.For("").Read(id, offset, limit, search))(c)
}

func numbers(page command.Page) string {
	var out []string
	for _, line := range page.Lines {
		out = append(out, fmt.Sprintf("%d:%s", line.Number, line.Text))
	}
	return strings.Join(out, " ")
}

func TestPages(t *testing.T) {
	c := newCache(t, 0)
	id := c.put("one\ntwo\r\n\nfour\nFIVE (5\nsix")
	for _, test := range []struct {
		offset, limit int
		search        string
		want          string
		next, matches int
	}{
		{0, 0, "", "1:one 2:two 3: 4:four 5:FIVE (5 6:six", 0, 0},
		{2, 2, "", "2:two 3:", 4, 0},
		{6, 2, "", "6:six", 0, 0},
		{7, 2, "", "", 0, 0},
		{-2, 0, "", "5:FIVE (5 6:six", 0, 0},
		{-9, 1, "", "1:one", 2, 0},
		{0, 0, "^f", "4:four 5:FIVE (5", 0, 2},
		{0, 1, "o", "1:one", 2, 3},
		{2, 0, "o", "2:two 4:four", 0, 2},
		{0, 0, "five (", "5:FIVE (5", 0, 1},
		{0, 0, "absent", "", 0, 0},
	} {
		page := c.read(id, test.offset, test.limit, test.search)
		if numbers(page) != test.want || page.Next != test.next || page.Matches != test.matches {
			t.Errorf("%+v: %s, next %d, %d matches", test, numbers(page), page.Next, page.Matches)
		}
		check.That(t, page.TotalLines == 6 && page.TotalBytes == 26, "%+v: %d lines, %d bytes", test, page.TotalLines, page.TotalBytes)
		check.Equal(t, page.Literal, test.search == "five (", "%+v", test)
	}
	if page := c.read(c.put(""), 0, 0, ""); len(page.Lines) != 0 || page.TotalLines != 0 || page.Next != 0 {
		t.Errorf("of nothing: %+v", page)
	}
}

func TestPagesAreBoundedAndComplete(t *testing.T) {
	c := newCache(t, 0)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d %s\n", i+1, strings.Repeat("x", 40))
	}
	id := c.put(text.String())
	var all strings.Builder
	for next := 1; next != 0; {
		page := c.read(id, next, 3000, "")
		size := 0
		for _, line := range page.Lines {
			size += len(line.Text) + 1
			all.WriteString(line.Text + "\n")
		}
		check.That(t, size <= command.OutputLimit, "a page of %d characters", size)
		next = page.Next
	}
	check.Equal(t, all.String(), text.String(), "the pages do not make the whole")
}

func TestLongLine(t *testing.T) {
	c := newCache(t, 0)
	// The needles lie within the first piece, across the border of two pieces, and at the end.
	long := []byte(strings.Repeat("x", 3*command.PieceSize))
	for _, at := range []int{5000, command.PieceSize - 3, 3*command.PieceSize - 7} {
		copy(long[at:], "needle")
	}
	id := c.put("before\n" + string(long) + "\nafter needle\n")
	page := c.read(id, 0, 0, "")
	if len(page.Lines) != 3 || page.Lines[1].Text != strings.Repeat("x", command.MaxLineText) || !page.Lines[1].Cut || page.Lines[2].Text != "after needle" {
		t.Errorf("%d lines, second %d characters", len(page.Lines), len(page.Lines[1].Text))
	}
	page = c.read(id, 0, 0, "needle")
	if len(page.Lines) != 2 || !strings.Contains(page.Lines[0].Text, "needle") || !page.Lines[0].Cut || page.Lines[1].Cut {
		t.Fatalf("%d lines", len(page.Lines))
	}
	chunk, err := c.store.For("").ReadBytes(id, page.Lines[0].Offset, len(page.Lines[0].Text))
	check.That(t, err == nil && chunk.Text == page.Lines[0].Text, "the offset does not lead to the excerpt: %v", err)
	copy(long[5000:], "xxxxxx")
	id = c.put(string(long))
	if page = c.read(id, 0, 0, "needle"); page.Matches != 1 || !strings.Contains(page.Lines[0].Text, "needle") {
		t.Errorf("a match across two pieces was not found: %d", page.Matches)
	}
}

func TestBytes(t *testing.T) {
	c := newCache(t, 0)
	text := strings.Repeat("aé世🎉", 20_000)
	id := c.put(text)
	for _, limit := range []int{0, 4, 1001} {
		var all strings.Builder
		offset, rounds := int64(0), 0
		for more := true; more && rounds < 200; rounds++ {
			chunk, err := c.store.For("").ReadBytes(id, offset, limit)
			check.Must(t, err == nil && chunk.TotalBytes == int64(len(text)), "%+v %v", chunk, err)
			all.WriteString(chunk.Text)
			offset, more = chunk.Next, chunk.Next != 0
		}
		if !strings.HasPrefix(text, all.String()) || (limit == 0 && all.Len() != len(text)) {
			t.Errorf("chunks of %d do not make the whole", limit)
		}
	}
	if chunk, err := c.store.For("").ReadBytes(id, 1<<40, 10); err != nil || chunk.Text != "" || chunk.Next != 0 {
		t.Errorf("past the end: %+v %v", chunk, err)
	}
}

func TestForeignIDs(t *testing.T) {
	c := newCache(t, 0)
	id := c.put("text")
	secret := filepath.Join(c.dir, "secret")
	check.OK(t, os.WriteFile(secret, []byte("secret"), 0o600))
	planted := "out_" + strings.Repeat("a", 26)
	check.OK(t, os.Symlink("../../secret", filepath.Join(c.dir, "cache/output", planted)))
	for _, id := range []string{
		"", ".", "..", "../../secret", "/etc/passwd", secret, "out_", "out_../../../../secret", id + "/", "./" + id, id + "\x00",
		strings.ToUpper(id), "out_" + strings.Repeat("b", 26), "out_" + strings.Repeat("a", 1000), planted, "out_" + strings.Repeat("a", 25) + "/",
	} {
		if page, err := c.store.For("").Read(id, 0, 0, ""); !errors.Is(err, command.ErrNoArtifact) {
			t.Errorf("Read(%q) = %+v, %v", id, page, err)
		}
		if chunk, err := c.store.For("").ReadBytes(id, 0, 0); !errors.Is(err, command.ErrNoArtifact) {
			t.Errorf("ReadBytes(%q) = %+v, %v", id, chunk, err)
		}
	}
}

func TestDeletedCache(t *testing.T) {
	c := newCache(t, 0)
	id := c.put("text")
	check.OK(t, os.RemoveAll(filepath.Join(c.dir, "cache")))
	_, err := c.store.For("").Read(id, 0, 0, "")
	check.That(t, errors.Is(err, command.ErrNoArtifact), "%v", err)
	check.Equal(t, numbers(c.read(c.put("again"), 0, 0, "")), "1:again")
}

func TestPrune(t *testing.T) {
	c := newCache(t, 1000)
	foreign := filepath.Join(c.dir, "cache/output/notes.txt")
	var ids []string
	for i := range 5 {
		id := c.put(strings.Repeat("x", 300))
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		check.OK(t, os.Chtimes(filepath.Join(c.dir, "cache/output", id), old, old))
		check.OK(t, os.WriteFile(foreign, make([]byte, 5000), 0o600))
		ids = append(ids, id)
	}
	ids = append(ids, c.put("newest"))
	for i, id := range ids {
		_, err := c.store.For("").Read(id, 0, 0, "")
		gone := i < 2
		check.That(t, errors.Is(err, command.ErrNoArtifact) == gone, "output %d: %v", i, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is no output was pruned: %v", err)
	}
}

func TestPruneByNumber(t *testing.T) {
	c := newCache(t, 0)
	for range 1100 {
		c.put("")
	}
	entries, err := os.ReadDir(filepath.Join(c.dir, "cache/output"))
	check.That(t, err == nil && len(entries) <= 1000 && len(entries) >= 900, "%d outputs, %v", len(entries), err)
}

func TestOutputsInProgressAreBounded(t *testing.T) {
	c := newCache(t, 1000)
	first := check.Value(c.store.For("").Create(1 << 20))(t)
	first.Write(make([]byte, 800))
	second := check.Value(c.store.For("").Create(1 << 20))(t)
	second.Write(make([]byte, 800))
	if err := second.Close(); err == nil || second.Kept() != 0 {
		t.Errorf("kept %d, %v", second.Kept(), err)
	}
	if err := first.Close(); err != nil || first.Kept() != 800 {
		t.Errorf("kept %d, %v", first.Kept(), err)
	}
}

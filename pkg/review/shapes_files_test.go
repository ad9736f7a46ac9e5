package review_test

import (
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// fileShapes are what happens to whole files.
func fileShapes() []shape {
	written := lines(1, 20) + by("agent", 1, 10)
	then := func(do func(r *repo)) func(r *repo) {
		return func(r *repo) {
			r.agent("src/a.txt", written)
			r.commit("work")
			do(r)
			r.commit("and then")
		}
	}
	return []shape{
		{name: "renamed by a person", changed: 10, traced: 10, found: "nothing", do: then(func(r *repo) { r.git("mv", "src/a.txt", "src/b.txt") })},
		{name: "renamed and edited by a person", changed: 12, traced: 10, found: "1 note untraced", do: then(func(r *repo) {
			r.git("mv", "src/a.txt", "src/b.txt")
			r.write("src/b.txt", by("person", 1, 2)+written)
		})},
		{name: "renamed by a person, then edited by an agent", changed: 12, traced: 12, found: "nothing", do: then(func(r *repo) {
			r.git("mv", "src/a.txt", "src/b.txt")
			r.commit("renamed")
			r.agent("src/b.txt", by("agent", 11, 12)+written)
		})},
		{name: "renamed by a person, then moved by an agent", changed: 10, traced: 10, found: "nothing", do: then(func(r *repo) {
			r.git("mv", "src/a.txt", "src/b.txt")
			r.commit("renamed")
			r.traced("INT-001", "src/b.txt", written, func(rec *record.Record) {
				c := &rec.Changes[0]
				c.Op, c.From, c.Path, c.Hunks, c.Ranges = change.Moved, "src/b.txt", "src/c.txt", nil, nil
			})
			r.git("mv", "src/b.txt", "src/c.txt")
		})},
		{name: "directory moved by a person", changed: 20, traced: 20, found: "nothing", do: func(r *repo) {
			r.agent("src/old/a.txt", by("agent", 1, 10))
			r.agent("src/old/b.txt", by("other", 1, 10))
			r.commit("work")
			r.git("mv", "src/old", "src/new")
			r.commit("moved")
		}},
		{name: "a new file split in two by a person", changed: 20, traced: 12, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/b.txt", by("agent", 1, 20))
			r.commit("work")
			check.OK(r.t, os.Remove(filepath.Join(r.dir, "src/b.txt")))
			r.write("src/c.txt", by("agent", 1, 12))
			r.write("src/d.txt", by("agent", 13, 20))
			r.commit("split")
		}},
		{name: "two new files joined by a person", changed: 20, traced: 12, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/b.txt", by("agent", 1, 12))
			r.agent("src/c.txt", by("other", 1, 8))
			r.commit("work")
			check.OK(r.t, os.Remove(filepath.Join(r.dir, "src/c.txt")))
			r.write("src/b.txt", by("agent", 1, 12)+by("other", 1, 8))
			r.commit("joined")
		}},
		{name: "deleted by an agent", changed: 20, traced: 20, found: "nothing", do: func(r *repo) {
			r.agent("src/a.txt", "")
			r.commit("work")
		}},
		{name: "deleted by a person", changed: 20, found: "1 note untraced", do: func(r *repo) {
			r.git("rm", "-q", "src/a.txt")
			r.commit("by hand")
		}},
		{name: "a binary file that a person changed before the commit", changed: 1, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/a.bin", "\x00\x01\x02")
			r.write("src/a.bin", "\x00\x01\x03")
			r.commit("work")
		}},
		{name: "made executable by a person", changed: 1, found: "1 note untraced", do: func(r *repo) {
			check.OK(r.t, os.Chmod(filepath.Join(r.dir, "src/a.txt"), 0o755))
			r.commit("by hand")
		}},
		{name: "made executable by a command of an agent", changed: 1, traced: 1, found: "nothing", do: func(r *repo) {
			content, _ := r.read("src/a.txt")
			r.traced("INT-001", "src/a.txt", content, func(rec *record.Record) {
				rec.Kind, rec.Command = record.KindCommand, &record.Command{Command: "chmod +x src/a.txt"}
				rec.Changes[0].Before.Mode, rec.Changes[0].After.Mode = "0644", "0755"
			})
			check.OK(r.t, os.Chmod(filepath.Join(r.dir, "src/a.txt"), 0o755))
			r.commit("work")
		}},
	}
}

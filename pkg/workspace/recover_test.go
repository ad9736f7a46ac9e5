package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	tmpDir = ".orchestration/state/tmp/"
	temp   = tmpDir + ".orchestra-a.tmp"
	temp2  = tmpDir + ".orchestra-b.tmp"
	gone   = tmpDir + ".orchestra-c.tmp"
)

func plannedChange(op change.Op, path, from, before, after, temp, gone string) change.Planned {
	p := change.Planned{Temp: temp, Gone: gone}
	p.Op, p.Path, p.From = op, path, from
	if before != "" {
		p.Before.Hash = hashOf(before)
	}
	if after != "" {
		p.After.Hash = hashOf(after)
	}
	return p
}

func plannedCreate(path, temp string) change.Planned {
	return plannedChange(change.Created, path, "", "", "new", temp, "")
}
func plannedModify(path, temp string) change.Planned {
	return plannedChange(change.Modified, path, "", "old", "new", temp, "")
}
func plannedDelete(path, temp string) change.Planned {
	return plannedChange(change.Deleted, path, "", "old", "", temp, "")
}

// TestRecover goes through the states in which a crash can leave a change, and
// holds what is made of them: the fates, and the files afterwards.
func TestRecover(t *testing.T) {
	move := plannedChange(change.Moved, "to", "from", "old", "old", "", "")
	rewrite := plannedChange(change.Moved, "to", "from", "old", "new", temp, gone)
	fates := func(f ...workspace.Fate) []workspace.Fate { return f }
	const undone, done = workspace.Undone, workspace.Done
	const beside = ".orchestra-a.tmp" // where a file cannot be renamed from one directory to another
	type files = map[string]string
	cases := map[string]struct {
		plan     []change.Planned
		found    files
		fates    []workspace.Fate
		probable bool
		left     files
	}{
		"create not yet":               {plan: []change.Planned{plannedCreate("f", temp)}, found: files{temp: "new"}, fates: fates(undone), left: files{}},
		"create done":                  {plan: []change.Planned{plannedCreate("f", temp)}, found: files{"f": "new"}, fates: fates(done), left: files{"f": "new"}},
		"create, another was first":    {plan: []change.Planned{plannedCreate("f", temp)}, found: files{"f": "theirs", temp: "new"}, fates: fates(undone), left: files{"f": "theirs"}},
		"create, the same by another":  {plan: []change.Planned{plannedCreate("f", temp)}, found: files{"f": "new", temp: "new"}, fates: fates(undone), left: files{"f": "new"}},
		"create done, edited since":    {plan: []change.Planned{plannedCreate("f", temp)}, found: files{"f": "theirs"}, fates: fates(done), probable: true, left: files{"f": "theirs"}},
		"modify not yet":               {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "old", temp: "new"}, fates: fates(undone), left: files{"f": "old"}},
		"modify done":                  {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "new", temp: "old"}, fates: fates(done), left: files{"f": "new"}},
		"modify done, edited since":    {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "theirs", temp: "old"}, fates: fates(done), left: files{"f": "theirs"}},
		"modify not yet, edited since": {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "theirs", temp: "new"}, fates: fates(undone), left: files{"f": "theirs"}},
		"displaced file written into": {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "new", temp: "theirs"}, fates: fates(done),
			left: files{"f": "new", strings.TrimSuffix(temp, ".tmp") + ".kept": "theirs"}},
		"modify without exchange, halfway": {plan: []change.Planned{plannedModify("f", temp)}, found: files{"f": "new", tmpDir + ".orchestra-a-old.tmp": "old"}, fates: fates(done), left: files{"f": "new"}},
		"delete not yet":                   {plan: []change.Planned{plannedDelete("f", temp)}, found: files{"f": "old"}, fates: fates(undone), left: files{"f": "old"}},
		"delete done":                      {plan: []change.Planned{plannedDelete("f", temp)}, found: files{temp: "old"}, fates: fates(done), left: files{}},
		"delete done, another made anew":   {plan: []change.Planned{plannedDelete("f", temp)}, found: files{"f": "theirs", temp: "old"}, fates: fates(done), left: files{"f": "theirs"}},
		"move not yet":                     {plan: []change.Planned{move}, found: files{"from": "old"}, fates: fates(undone), left: files{"from": "old"}},
		"move done":                        {plan: []change.Planned{move}, found: files{"to": "old"}, fates: fates(done), left: files{"to": "old"}},
		"rewrite not yet":                  {plan: []change.Planned{rewrite}, found: files{"from": "old", temp: "new"}, fates: fates(undone), left: files{"from": "old"}},
		"rewrite halfway":                  {plan: []change.Planned{rewrite}, found: files{"from": "old", "to": "new"}, fates: fates(undone), left: files{"from": "old"}},
		"rewrite done":                     {plan: []change.Planned{rewrite}, found: files{"to": "new", gone: "old"}, fates: fates(done), left: files{"to": "new"}},
		"several, all done":                {plan: []change.Planned{plannedModify("f", temp), plannedCreate("g", temp2)}, found: files{"f": "new", "g": "new", temp: "old"}, fates: fates(done, done), left: files{"f": "new", "g": "new"}},
		"several, stopped midway":          {plan: []change.Planned{plannedModify("f", beside), plannedCreate("g", temp2)}, found: files{"f": "new", beside: "old", temp2: "new"}, fates: fates(undone, undone), left: files{"f": "old"}},
		"deletion taken back":              {plan: []change.Planned{plannedDelete("f", temp), plannedCreate("g", temp2)}, found: files{temp: "old", temp2: "new"}, fates: fates(undone, undone), left: files{"f": "old"}},
		"move taken back":                  {plan: []change.Planned{move, plannedCreate("g", temp2)}, found: files{"to": "old", temp2: "new"}, fates: fates(undone, undone), left: files{"from": "old"}},
		"creation taken back":              {plan: []change.Planned{plannedCreate("g", temp2), plannedModify("f", temp)}, found: files{"g": "new", "f": "old", temp: "new"}, fates: fates(undone, undone), left: files{"f": "old"}},
		"midway, one edited since":         {plan: []change.Planned{plannedModify("f", temp), plannedCreate("g", temp2)}, found: files{"f": "theirs", temp: "old", temp2: "new"}, fates: fates(done, undone), left: files{"f": "theirs"}},
		"protected path":                   {plan: []change.Planned{plannedCreate(".git/hooks/pre-commit", temp), plannedCreate("g", temp2)}, found: files{temp: "new", "g": "new"}, fates: fates(undone, undone), left: files{}},
		"name that is no temporary one":    {plan: []change.Planned{plannedModify("f", "notes.txt")}, found: files{"f": "old", "notes.txt": "old"}, fates: fates(undone), left: files{"f": "old", "notes.txt": "old"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := open(t, c.found)
			must(t, os.MkdirAll(filepath.Join(w.Dir(), tmpDir), 0o700))
			for range 2 { // an examination that was interrupted is made again
				r, err := w.Recover(context.Background(), c.plan)
				must(t, err)
				var got []workspace.Fate
				probable := false
				for _, f := range r.Files {
					got, probable = append(got, f.Fate), probable || f.Probable
				}
				if !reflect.DeepEqual(got, c.fates) || probable != c.probable {
					t.Errorf("fates %v, probable %v; want %v, %v", got, probable, c.fates, c.probable)
				}
			}
			_, err := w.Tidy(c.plan)
			must(t, err)
			if left := tree(t, w.Dir()); !reflect.DeepEqual(left, c.left) {
				t.Errorf("left %v, want %v", left, c.left)
			}
		})
	}
}

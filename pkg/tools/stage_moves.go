package tools

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// isCopy reports whether the kernel has made a file of a layer by copying one of the workspace.
func isCopy(n layer.Node) bool {
	return n.There && n.Mode.IsRegular() && durable.HasAttribute(n.At, "user.overlay.origin")
}

// moves makes moves of files that were renamed: on a layer each is a removal, and a file that was copied from the workspace. A
// copy which the command can have taken from nowhere else stood at its own path, and somebody else has removed it since.
func (l *layerLook) moves(touched []layer.Touched) error {
	if len(l.copied) == 0 {
		return nil
	}
	removed := map[string]string{} // by content, their paths
	for _, f := range l.found.files {
		if f.op != change.Deleted {
			continue
		}
		key, err := contentKey(filepath.Join(l.root, f.path))
		if err != nil {
			return err
		}
		if removed[key] == "" {
			removed[key] = f.path
		}
	}
	moved := map[string]bool{}
	var unpaired []string
	for i := range l.found.files {
		f := &l.found.files[i]
		if !l.copied[f.path] {
			continue
		}
		key, err := contentKey(filepath.Join(l.upper, f.path))
		if err != nil {
			return err
		}
		if from := removed[key]; from != "" && !moved[from] {
			f.op, f.from, moved[from] = change.Moved, from, true
		} else {
			unpaired = append(unpaired, f.path)
		}
	}
	l.found.files = slices.DeleteFunc(l.found.files, func(f layerFile) bool { return f.op == change.Deleted && moved[f.path] })
	return l.unexplained(touched, unpaired, len(moved))
}

// unexplained finds the conflicts among copies that are no plain moves. One is another name of a file that the command copied in
// its place (a hard link), or has come from a path where something else, or nothing, stands now: so many such paths there must be.
func (l *layerLook) unexplained(touched []layer.Touched, copies []string, moved int) error {
	if len(copies) == 0 {
		return nil
	}
	inPlace, left := map[any]bool{}, 0
	for i := range touched {
		t := &touched[i]
		switch {
		case !t.Before.There || !t.Before.Mode.IsRegular():
		case !isCopy(t.After):
			left++
		default:
			file, err := os.Lstat(t.After.At)
			if err != nil {
				return err
			}
			inPlace[durable.StatInfo(file).Identity()] = true
		}
	}
	from := map[any]bool{}
	var unexplained []string
	for _, path := range copies {
		file, err := os.Lstat(filepath.Join(l.upper, path))
		if err != nil {
			return err
		}
		if id := durable.StatInfo(file).Identity(); !inPlace[id] {
			from[id], unexplained = true, append(unexplained, path)
		}
	}
	if len(from) > left-moved {
		for _, path := range unexplained {
			l.conflict(path, "it was removed since the command began")
		}
	}
	return nil
}

// contentKey tells the contents of regular files apart.
func contentKey(at string) (string, error) {
	f, _, err := durable.OpenRegular(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return workspace.HashFile(f)
}

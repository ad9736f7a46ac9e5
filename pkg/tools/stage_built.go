package tools

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// placeOf is the one of some places that a path is, or is in; "" if none.
func placeOf(places []string, name string) string {
	for _, place := range places {
		if name == place || strings.HasPrefix(name, place+"/") {
			return place
		}
	}
	return ""
}

// built notes a change of what is built, and reports whether it is one. Nobody asks whether somebody else has changed it
// since: it can be built again.
func (l *layerLook) built(t *layer.Touched) bool {
	if placeOf(l.note.Built, t.Path) == "" {
		return false
	}
	l.found.built = append(l.found.built, *t)
	place := placeOf(l.note.Packages, t.Path)
	if place == "" || t.Before.Mode.IsDir() || t.After.Mode.IsDir() {
		return true
	}
	one := l.found.packages[place]
	if one == nil {
		one = &observe.Packaged{}
		l.found.packages[place] = one
	}
	switch change.Between(t.Before.There, t.After.There) {
	case change.Created:
		one.Created++
	case change.Deleted:
		one.Deleted++
		return true
	default:
		one.Modified++
	}
	if workspace.Protect(t.Path) == workspace.ProtectProgramConfig {
		one.ProgramConfig++
	}
	return true
}

// builds lists what changed in places for builds, but for those of package managers. Nobody reads it: it has no hashes.
func (f *layerFound) builds() (all []hooks.FileOutcome) {
	packages := slices.Collect(maps.Keys(f.packages))
	for _, t := range f.built {
		if placeOf(packages, t.Path) != "" || isDir(t) {
			continue
		}
		op := change.Between(t.Before.There, t.After.There)
		all = append(all, hooks.FileOutcome{Change: change.Change{Op: op, Path: observe.Shown(t.Path)}, InScope: true, Unread: true})
	}
	return all
}

// packagesIn adds the counts of package directories to a record's detail.
func (f *layerFound) packagesIn(detail map[string]any) map[string]any {
	if len(f.packages) == 0 {
		return detail
	}
	if detail == nil {
		detail = map[string]any{}
	}
	detail[observe.DetailPackages] = f.packages
	return detail
}

// closed is a path in a place for builds that a rule closes all the same; "" if none.
func (f *layerFound) closed(ignore *intent.Ignore) string {
	if kinds := ignore.Kinds(); !kinds.Paths && !kinds.Secrets {
		return ""
	}
	for i := range f.built {
		name := f.built[i].Path
		_, blocked := ignore.PathBlocked(name)
		if _, secret := ignore.Secret(name); secret || blocked {
			return name
		}
	}
	return ""
}

// putBuilt puts what was built where it belongs, and says what could not be, and what there is to know of packages.
func (d *Commands) putBuilt(ctx context.Context, layers *staging.Layers, found *layerFound) (warnings []string) {
	failed, first, done := 0, error(nil), ""
	for i := range found.built {
		t := &found.built[i]
		if done != "" && strings.HasPrefix(t.Path, done) || ctx.Err() != nil {
			continue // it came or went with its directory
		}
		whole, err := d.putOne(layers, t)
		if err != nil {
			failed, first = failed+1, cmp.Or(first, err)
		}
		if whole {
			done = t.Path + "/"
		}
	}
	if failed > 0 {
		warnings = append(warnings, fmt.Sprintf("%d paths of what was built could not be put in their places (%s). Build it again.", failed, printable.Text(first.Error())))
	}
	return append(warnings, d.Observer.PackageWarnings(ctx, found.packages)...)
}

// putOne puts one path in its place, and reports whether all below it came or went along.
func (f *Files) putOne(layers *staging.Layers, t *layer.Touched) (whole bool, err error) {
	wasDir, isDir := t.Before.Mode.IsDir(), t.After.Mode.IsDir()
	switch {
	case wasDir && isDir:
		return false, f.Workspace.SetMode(t.Path, t.After.Mode&^fs.ModeType)
	case !t.After.There:
		return wasDir, f.Workspace.RemoveAny(t.Path)
	}
	dir, err := layers.OpenUpper(0, path.Dir(t.Path))
	if err != nil {
		return isDir, err
	}
	defer dir.Close()
	return isDir, f.Workspace.PutAny(t.Path, dir, path.Base(t.Path))
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Fate is what became of one planned change whose process died before it could say.
type Fate int

// Fates.
const (
	Undone   Fate = iota + 1 // the file is as if the change had never been
	Done                     // the change took effect
	Half                     // a move made the new file and did not take the old one away
	Stripped                 // a move took the old file away and did not make the new one: a power cut can do that
)

// Found is one planned change as the files tell its story.
type Found struct {
	change.Planned
	Fate Fate
	// Probable: somebody else changed the file since, so the fate is the likeliest and not the only possible one.
	Probable bool
	// Err is why a change that should have been taken back stands.
	Err error
}

// Recovery is a planned set of changes of a process that is no more, examined. The temporary files are still there
// until Tidy: they are the evidence, so that an examination that is itself interrupted can be made again.
type Recovery struct {
	Files []Found
}

// Recover finds out from the files how far a dead process came with the changes that it had planned. A set that
// stopped midway is taken back, as far as each file still has the content that the change gave it; what cannot be
// taken back has an Err. All changes that stand are flushed. An error means that nothing is known; the same call can
// be made again.
//
// The plan is believed no further than a tool's arguments are: nothing is done to protected paths, to paths that lead
// elsewhere by now, nor to names that are not those of temporary files.
func (w *Workspace) Recover(ctx context.Context, plan []change.Planned) (*Recovery, error) {
	return w.recover(ctx, plan, false)
}

// RecoverStanding is Recover for changes that took effect and that their process could not take back everywhere. Only
// files that are as before count as undone then: where somebody else's content stands, ours has been.
func (w *Workspace) RecoverStanding(ctx context.Context, plan []change.Planned) (*Recovery, error) {
	return w.recover(ctx, plan, true)
}

func (w *Workspace) recover(ctx context.Context, plan []change.Planned, stood bool) (*Recovery, error) {
	r := &Recovery{Files: make([]Found, len(plan))}
	for i, p := range plan {
		var err error
		if r.Files[i], err = w.examine(p); err == nil && stood && r.Files[i].Fate == Undone {
			err = w.examineStanding(&r.Files[i])
		}
		if err != nil {
			return nil, fmt.Errorf("find out what became of %s: %w", visible(p.Path), err)
		}
	}
	if r.midway() {
		w.takeBackFound(ctx, r.Files)
	}
	for _, f := range r.Files {
		if err := w.flushFound(f); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// midway reports whether some of the changes took effect and others did not.
func (r *Recovery) midway() bool {
	is := func(fate Fate) bool {
		return slices.ContainsFunc(r.Files, func(f Found) bool { return f.Fate == fate })
	}
	return is(Half) || is(Stripped) || is(Done) && is(Undone)
}

// Tidy removes the temporary files of the plan. Content that is neither what the change displaced nor what it
// wanted to put in place is somebody else's: it is kept aside, and the KeptErrors say where.
func (w *Workspace) Tidy(plan []change.Planned) ([]*KeptError, error) {
	var kept []*KeptError
	for _, p := range plan {
		if p.Link {
			if err := w.tidyLink(p); err != nil {
				return kept, err
			}
			continue
		}
		for _, name := range temps(p) {
			k, err := w.tidyTemp(p, name)
			if err != nil {
				return kept, err
			}
			if k != nil {
				kept = append(kept, k)
			}
		}
	}
	return kept, nil
}

// temps are all names that the change can have used, that of the way without an exchange included.
func temps(p change.Planned) []string {
	var names []string
	for _, name := range []string{p.Temp, p.Gone} {
		if name != "" {
			names = append(names, name, besideExchange(name))
		}
	}
	return names
}

func (w *Workspace) tidyTemp(p change.Planned, name string) (kept *KeptError, err error) {
	err = w.atTemp(name, func(t *temp) error {
		hash, err := contentAt(t.dir, t.name)
		switch {
		case err != nil || hash == "":
			return pathError("tidy up", name, err)
		case hash == p.Before.Hash || hash == p.After.Hash:
			return pathError("tidy up", name, t.dir.Remove(t.name))
		}
		kept = t.keepAside(w, p.Path)
		return nil
	})
	return kept, err
}

// flushFound makes sure that what is going to be recorded survives a power cut as well as its record does, the
// directories above it included: the dead process can have made them.
func (w *Workspace) flushFound(f Found) error {
	if f.Fate == Undone || w.durability != Full {
		return nil
	}
	if f.Link {
		return pathError("flush", f.Path, w.flushAbove(f.Path))
	}
	for _, path := range []string{f.Path, f.From} {
		if path == "" {
			continue
		}
		t, err := w.recorded(path)
		if unusable(err) {
			continue // somebody else has taken the place since
		}
		if err != nil {
			return err
		}
		if err := errors.Join(t.Close(), w.flushAbove(path)); err != nil {
			return pathError("flush", path, err)
		}
	}
	return nil
}

// flushAbove flushes each directory on the way to a path, as far as there are any.
func (w *Workspace) flushAbove(path string) error {
	names := components(path)
	dir, err := w.descend(names[:len(names)-1], (*durable.Dir).Sync)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// descend opens the directory that names lead to from the top, following no link. above is told each one that is above it.
func (w *Workspace) descend(names []string, above func(*durable.Dir) error) (*durable.Dir, error) {
	dir, err := w.top.OpenDir(".")
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		at := dir
		if err = above(at); err == nil {
			dir, err = at.OpenDir(name)
		}
		err = errors.Join(err, at.Close())
	}
	return dir, err
}

// recorded resolves a path of a plan. A path that leads elsewhere by now, or never was one for tools, is refused.
func (w *Workspace) recorded(path string) (*Target, error) {
	t, err := w.Resolve(path)
	if err != nil {
		return nil, err
	}
	if t.path != path || t.protection >= ProtectNever {
		t.Close()
		return nil, pathError("recover", path, ErrChangedDir)
	}
	return t, nil
}

// unusable reports whether a path is none that this package would change anything at.
func unusable(err error) bool {
	return isAny(err, ErrNotRegular, ErrChangedDir, ErrOutside, ErrInvalidPath)
}

// Contents reads what the files of a planned change hold now, at its paths and under its temporary names, as far as it
// can be read and is no larger than limit bytes. Whoever wants the content before or after the change looks for its
// hash. It is for the time between Recover and Tidy, which removes the temporary files.
func (w *Workspace) Contents(p change.Planned, limit int64) (found []*Content) {
	if p.Link {
		return nil // which are not kept
	}
	add := func(c *Content, err error) {
		if err == nil {
			found = append(found, c)
		}
	}
	for _, name := range temps(p) {
		if t, err := w.openTemp(name); err == nil {
			add(readFile(t.dir, t.name, limit))
			t.close()
		}
	}
	for _, path := range []string{p.Path, p.From} {
		if t, err := w.recorded(path); err == nil {
			add(t.Read(limit))
			t.Close()
		}
	}
	return found
}

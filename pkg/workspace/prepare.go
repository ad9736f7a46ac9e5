package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Prepared is a set of changes that is checked, locked and written down, and not yet visible. Exactly one of
// Commit and Discard must be called.
type Prepared struct {
	w       *Workspace
	planned []*planned      // in the order given
	steps   []step          // in the order of execution
	unlinks []*relink       // of the steps, for the plan: before those of the files
	links   []*relink       // and behind them
	freed   map[string]bool // paths that the set itself makes free
	temps   *durable.Dir    // .orchestration/state/tmp, when it was needed
	locks   lockFiles
	unlock  func()
	done    bool
	// flushing answers once when the flush of the new contents has ended; nil before and after.
	flushing chan error
}

// planned is one change on its way.
type planned struct {
	Change
	before *inode // what must be there, nil for Create
	temp   *temp  // the new content, or the place for what is taken away
	gone   *temp  // Move with new content: the place for the old file
	result Result
}

// Prepare locks all paths in a fixed order, checks that every file has its expected content, and writes the new
// contents, whose flush is then under way: a caller can flush its journal meanwhile. On any error nothing has changed
// and nothing is held. Errors: StaleError, ErrExists, ErrBusy, ErrNotRegular, ErrChangedDir, ErrConflict, fs.ErrPermission, ctx's.
func (w *Workspace) Prepare(ctx context.Context, changes []Change) (*Prepared, error) {
	return w.prepare(ctx, changes, nil, nil)
}

// prepare with adopted is for one change whose new content lies ready. freed are paths that nothing will stand at in time.
func (w *Workspace) prepare(ctx context.Context, changes []Change, freed map[string]bool, adopted *temp) (_ *Prepared, err error) {
	paths, err := w.validate(changes)
	if err != nil {
		return nil, err
	}
	unlock, err := w.locks.acquire(ctx, paths, w.patience.lock)
	if err != nil {
		return nil, err
	}
	p := &Prepared{w: w, unlock: unlock, freed: freed, locks: lockFiles{w: w}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Discard())
		}
	}()
	for _, c := range changes {
		p.planned = append(p.planned, &planned{Change: c})
	}
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	if adopted != nil {
		one := p.planned[0]
		one.describe()
		one.temp, one.result.After.Hash = adopted, adopted.ours.hash
	} else if err := p.write(ctx); err != nil {
		return nil, err
	}
	for _, c := range p.planned {
		p.steps = append(p.steps, c.steps(w)...)
	}
	return p, nil
}

// check locks and examines what is there, in the order of paths: two processes that want the same files ask
// for them in the same order.
func (p *Prepared) check(ctx context.Context) error {
	sorted := slices.Clone(p.planned)
	slices.SortFunc(sorted, func(a, b *planned) int { return strings.Compare(a.Target.path, b.Target.path) })
	var held []*inode
	at := ways{}
	for _, c := range sorted {
		for _, t := range c.targets() {
			if err := at.bound(t); err != nil {
				return pathError(c.Op.Verb(), t.path, err)
			}
		}
		if !p.freed[c.Target.path] {
			if err := c.checkFree(); err != nil {
				return err
			}
		}
		if c.Op == change.Created {
			continue
		}
		if err := p.checkContent(ctx, c, held); err != nil {
			return err
		}
		held = append(held, c.before)
	}
	return nil
}

// checkFree refuses early what the create-only rename would refuse late.
func (c *planned) checkFree() error {
	t := c.Target
	if c.Op == change.Moved {
		t = c.To
	} else if c.Op != change.Created {
		return nil
	}
	if len(t.rest) > 0 {
		return nil
	}
	if _, err := t.parent.Lstat(t.name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = ErrExists
		}
		return pathError(c.Op.Verb(), t.path, err)
	}
	return nil
}

// checkContent holds the file of c and compares its content with what is expected.
func (p *Prepared) checkContent(ctx context.Context, c *planned, held []*inode) (err error) {
	w, t := p.w, c.Target
	if len(t.rest) > 0 {
		return w.stale(t, c.Before)
	}
	c.before, err = w.hold(ctx, t.parent, t.name, &p.locks, held)
	if errors.Is(err, fs.ErrNotExist) {
		return w.stale(t, c.Before)
	}
	if err == nil && c.Op == change.Modified {
		err = t.parent.Writable(t.name)
	}
	if err == nil {
		err = c.before.examine(ctx)
	}
	if err != nil {
		return pathError(c.Op.Verb(), t.path, err)
	}
	if c.before.hash != c.Before {
		return w.stale(t, c.Before)
	}
	return nil
}

// stale describes what is at the target now.
func (w *Workspace) stale(t *Target, want Hash) error {
	e := &StaleError{Path: t.path, Want: want}
	if len(t.rest) > 0 {
		return e
	}
	f, err := openRegular(t.parent, t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return e
	}
	if err != nil {
		return pathError("read", t.path, err)
	}
	defer f.Close()
	if e.Have, err = HashFile(f); err != nil {
		return pathError("read", t.path, err)
	}
	if st, err := durable.StatFile(f); err == nil {
		e.Size = st.Size
	}
	content, err := readUpTo(f, min(e.Size, MaxStaleContent), MaxStaleContent)
	if err == nil && HashOf(content) == e.Have {
		e.Content = content
	}
	if e.Have == want {
		return pathError("modify", t.path, fmt.Errorf("%w: another program wrote it and restored the same content; try again", ErrBusy))
	}
	return e
}

// write makes the temporary files and sets out to flush them.
func (p *Prepared) write(ctx context.Context) error {
	for _, c := range p.planned {
		if err := c.write(p); err != nil {
			return pathError(c.Op.Verb(), c.Target.path, err)
		}
		if c.temp == nil {
			continue
		}
		c.result.Warnings = append(c.result.Warnings, c.temp.missed...)
		if c.temp.writer != nil {
			c.result.After.Mode = change.ModeOf(c.temp.mode)
		}
	}
	if p.w.durability != Full {
		return p.flush(ctx)
	}
	p.flushing = make(chan error, 1)
	go func() { p.flushing <- p.flush(ctx) }()
	// The flush begins now, on this thread, and its caller goes on on the next that is free: what the caller does is
	// short beside a flush, and would else keep it waiting until another thread has been woken.
	runtime.Gosched()
	return nil
}

// awaitFlush returns when the new contents are on disk.
func (p *Prepared) awaitFlush() error {
	if p.flushing == nil {
		return nil
	}
	err := <-p.flushing
	p.flushing = nil
	return err
}

// flush brings the temporary files to disk side by side: the disk orders parallel flushes better than we could.
func (p *Prepared) flush(ctx context.Context) error {
	if len(p.planned) == 1 {
		return p.planned[0].flush(ctx, p.w)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, c := range p.planned {
		group.Go(func() error { return c.flush(ctx, p.w) })
	}
	return group.Wait()
}

func (c *planned) write(p *Prepared) error {
	c.describe()
	switch c.Op {
	case change.Created:
		c.temp = p.newTemp(c.Target, true)
	case change.Modified:
		c.temp = p.newTemp(c.Target, false)
	case change.Deleted:
		c.temp = p.newTemp(c.Target, false)
		return nil
	case change.Moved:
		return c.writeMove(p)
	}
	if c.Ready != nil {
		return c.temp.link(c.Ready)
	}
	return c.temp.write(c.After, c.before, c.Mode)
}

// writeMove renames if the content stays and the file system can, else it writes a new file and takes the old one away.
func (c *planned) writeMove(p *Prepared) error {
	if c.After == nil && c.Ready == nil && c.Mode == nil && c.Target.parent.SameMount(c.To.parent) {
		return nil
	}
	c.gone, c.temp = p.newTemp(c.Target, false), p.newTemp(c.To, c.Ready != nil)
	if c.Ready != nil {
		return c.temp.link(c.Ready)
	}
	content := c.After
	if content == nil {
		var err error
		if content, err = readUpTo(c.before.file, c.before.stat.Size, c.before.stat.Size); err != nil {
			return err
		}
		c.result.After.Hash = HashOf(content)
	}
	return c.temp.write(content, c.before, c.Mode)
}

func (c *planned) flush(ctx context.Context, w *Workspace) error {
	if c.temp == nil || c.temp.writer == nil {
		return nil
	}
	err := c.temp.flush(ctx, w, c.result.After.Hash)
	return pathError(c.Op.Verb(), c.Target.path, err)
}

// describe fills in the result as it will be if all goes well.
func (c *planned) describe() {
	c.result = Result{Change: change.Change{Op: c.Op, Path: c.Target.path, Before: change.Version{Hash: c.Before}}}
	if c.Op == change.Moved {
		c.result.Path, c.result.From = c.To.path, c.Target.path
	}
	switch {
	case c.Ready != nil:
		c.result.After.Hash = c.Ready.Hash
	case c.Op == change.Moved && c.After == nil:
		c.result.After.Hash = c.Before
	case c.Op != change.Deleted:
		c.result.After.Hash = HashOf(c.After)
	}
	if c.before == nil {
		return
	}
	c.result.Before.Mode, c.result.Links = change.ModeOf(c.before.stat.Mode), c.before.stat.Links
	if c.Op != change.Deleted {
		c.result.After.Mode = c.result.Before.Mode
	}
	if !c.before.leased {
		c.result.Warnings = append(c.result.Warnings, "no lease on the file was to be had: a program that had it open for writing could still lose what it writes")
	}
	if c.before.stat.Links > 1 && (c.Op == change.Modified || c.After != nil || c.Ready != nil) {
		c.result.Warnings = append(c.result.Warnings, fmt.Sprintf("the file had %d names (hard links); the others keep the old content", c.before.stat.Links))
	}
}

func (c *planned) steps(w *Workspace) []step {
	from := displacing{w: w, at: c.Target, want: c.Before, before: c.before, temp: c.temp}
	switch {
	case c.Op == change.Created:
		return []step{&creation{displacing: from}}
	case c.Op == change.Modified:
		return []step{&replacement{from}}
	case c.Op == change.Deleted:
		return []step{&removal{from}}
	case c.temp == nil:
		return []step{&renaming{displacing: from, to: c.To}}
	}
	from.temp = c.gone
	return []step{&creation{displacing: displacing{w: w, at: c.To, temp: c.temp}}, &removal{from}}
}

// Plan describes the changes in their order, for a journal that is flushed before Commit.
func (p *Prepared) Plan() []change.Planned {
	var plan []change.Planned
	for _, l := range p.unlinks {
		plan = append(plan, l.planned())
	}
	for _, c := range p.planned {
		one := change.Planned{Change: c.result.Change, Links: c.result.Links}
		if c.temp != nil {
			one.Temp = c.temp.path
		}
		if c.gone != nil {
			one.Gone = c.gone.path
		}
		plan = append(plan, one)
	}
	for _, l := range p.links {
		plan = append(plan, l.planned())
	}
	return plan
}

// Discard removes the temporary files and gives the locks back. After Commit it does nothing.
func (p *Prepared) Discard() error {
	if p.done {
		return nil
	}
	p.done = true
	defer p.unlock()
	_ = p.awaitFlush() // what is thrown away need not have reached the disk
	return p.release()
}

// release gives back what the changes hold.
func (p *Prepared) release() error {
	var errs []error
	for _, c := range p.planned {
		errs = append(errs, c.release())
	}
	p.locks.close()
	return errors.Join(append(errs, closeDir(&p.temps))...)
}

// release discards both temporaries, then what they stood for.
func (c *planned) release() error {
	var err error
	for _, t := range []*temp{c.temp, c.gone} {
		if t != nil {
			err = errors.Join(err, t.discard())
		}
	}
	c.before.release()
	return err
}

package workspace

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// Scan is a visit of all regular files below a directory by several goroutines.
type Scan struct {
	// Leave says what is left out, with what is below it; nil for nothing. It is called by several goroutines.
	Leave func(path string) bool
	// Past tells whether what stands at a path is of no interest any more, nor anything that Walk would visit behind it;
	// nil for never. It is called by several goroutines, and once it is true of a path it stays true.
	Past func(path string) bool
	// Visitor gives each goroutine what it visits files with.
	Visitor func() (visit func(Entry))
}

const (
	// scanWorkers bounds the goroutines of one scan: they may hold maxWalkDepth descriptors each.
	scanWorkers = 12
	// scanBatch is how many files of one directory are visited by one goroutine on end.
	scanBatch = 32
)

// Scan visits the regular files that Walk would visit, about in its order. It ends early where the context does, where
// nothing is of interest any more, and where a directory cannot be listed, or opened for want of descriptors.
func (t *Target) Scan(ctx context.Context, scan Scan) error {
	dir, err := t.openSelf()
	if err != nil {
		return pathError("list", t.path, err)
	}
	s := &scanner{Scan: scan, sight: t.w.sight(scan.Leave), ctx: ctx}
	s.turn.L = &s.mu
	top := newScanDir(dir)
	top.uses.Add(1) // it is not the scan's to close
	if err := s.list(top, t.path, t.w.rulesAbove(t.path), maxWalkDepth); err != nil {
		return err
	}
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), scanWorkers) - 1 {
		all.Go(s.work)
	}
	s.work()
	all.Wait()
	if s.panicked != nil {
		panic(s.panicked) // where it can be recovered from
	}
	return s.err
}

// scanner is one scan. What is to be done is taken in the order of Walk, so that what comes first is known early, and
// directories are open about as in a walk.
type scanner struct {
	Scan
	sight *sight
	ctx   context.Context

	mu    sync.Mutex
	turn  sync.Cond
	tasks scanTasks
	busy  int
	err   error

	panicked any // what a visitor did, with where
}

// scanDir is an open directory, until all that is to be done in it is.
type scanDir struct {
	*durable.Dir
	uses atomic.Int32
}

// newScanDir is a directory that is used by who lists it.
func newScanDir(dir *durable.Dir) *scanDir {
	d := &scanDir{Dir: dir}
	d.uses.Store(1)
	return d
}

func (d *scanDir) release() {
	if d.uses.Add(-1) == 0 {
		d.Close()
	}
}

// scanTask is a directory to be listed, or some files of one to be visited.
type scanTask struct {
	in    *scanDir // where its entries are
	files []Entry
	child Entry // without files
	rules gitignore.At
	depth int
}

func (t *scanTask) path() string {
	if len(t.files) > 0 {
		return t.files[0].Path
	}
	return t.child.Path
}

func (s *scanner) work() {
	visit := s.Visitor()
	for {
		task := s.next()
		if task == nil {
			return
		}
		s.finish(s.try(task, visit))
	}
}

// try does a task. Where that panics, the scan ends, and then does so itself.
func (s *scanner) try(task *scanTask, visit func(Entry)) (err error) {
	defer task.in.release()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
			s.mu.Lock()
			s.panicked = err
			s.mu.Unlock()
		}
	}()
	return s.do(task, visit)
}

// next waits for something to do; nil if there will be nothing.
func (s *scanner) next() *scanTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.tasks) == 0 && s.busy > 0 {
		s.turn.Wait()
	}
	if len(s.tasks) == 0 {
		return nil
	}
	s.busy++
	return heap.Pop(&s.tasks).(*scanTask)
}

func (s *scanner) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.err != nil {
		s.drop()
	}
	if len(s.tasks) == 0 && s.busy == 0 {
		s.turn.Broadcast()
	}
}

func (s *scanner) add(tasks []*scanTask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, task := range tasks {
		heap.Push(&s.tasks, task)
		s.turn.Signal()
	}
	if s.err != nil {
		s.drop()
	}
}

// drop closes what is open for what will not be done.
func (s *scanner) drop() {
	for _, task := range s.tasks {
		task.in.release()
	}
	s.tasks = nil
}

func (s *scanner) do(task *scanTask, visit func(Entry)) error {
	for _, e := range task.files {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if s.past(e.Path) {
			return nil
		}
		visit(e)
	}
	if len(task.files) > 0 || s.past(task.child.Path) {
		return s.ctx.Err()
	}
	dir, err := task.in.OpenDir(task.child.name)
	if err != nil {
		return notEntered(err)
	}
	if s.sight.conceal != nil {
		if stat, err := dir.Stat(); err != nil || s.sight.conceal(stat) {
			return dir.Close()
		}
	}
	return s.list(newScanDir(dir), task.child.Path, task.rules.Enter(task.child.name), task.depth)
}

func (s *scanner) past(path string) bool { return s.Past != nil && s.Past(path) }

// list makes what is in a directory something to do.
func (s *scanner) list(dir *scanDir, at string, rules gitignore.At, depth int) error {
	defer dir.release()
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, rules, err := s.sight.list(dir.Dir, at, rules)
	if err != nil {
		return pathError("list", at, err)
	}
	var tasks []*scanTask
	var files []Entry
	for _, e := range entries {
		switch {
		case e.Kind == Regular:
			files = append(files, e)
		case e.Kind == Directory && depth > 0:
			tasks = append(tasks, &scanTask{in: dir, child: e, rules: rules, depth: depth - 1})
		}
	}
	for len(files) > 0 {
		n := min(len(files), scanBatch)
		tasks = append(tasks, &scanTask{in: dir, files: files[:n:n]})
		files = files[n:]
	}
	dir.uses.Add(int32(len(tasks)))
	s.add(tasks)
	return nil
}

// notEntered is the error of a directory that cannot be opened: none, but where opening anything would fail, so that what
// is said to be everything would not be.
func notEntered(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("too many files are open: %w", err)
	}
	return nil // removed meanwhile, or closed to us
}

// scanTasks is a heap by the order of Walk.
type scanTasks []*scanTask

func (t scanTasks) Len() int           { return len(t) }
func (t scanTasks) Less(i, j int) bool { return CompareWalk(t[i].path(), t[j].path()) < 0 }
func (t scanTasks) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *scanTasks) Push(x any)        { *t = append(*t, x.(*scanTask)) }
func (t *scanTasks) Pop() any {
	last := len(*t) - 1
	task := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return task
}

// CompareWalk compares paths by the order in which Walk visits them: as strings, but that a slash is before everything else.
func CompareWalk(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		case x < y:
			return -1
		default:
			return 1
		}
	}
	return len(a) - len(b)
}

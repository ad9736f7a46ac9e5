package snapshot

import (
	"context"
	"os"
	"time"
)

// Recover finds what has changed since a state was saved for a command whose server died. inScope says whether it might
// change a path; nil: everything. others tells what others did of some paths since a time, or may have; nil where nobody
// is. It cannot tell the command's changes from those of programs that ran since.
func Recover(ctx context.Context, o Options, state *os.Root, content []byte, inScope func(path string) bool,
	others func(ctx context.Context, since time.Time, paths []string) (Foreign, error)) (*Difference, error) {
	root, began, err := load(state, content)
	if err != nil {
		return nil, err
	}
	k := Open(o)
	defer k.Close()
	k.root, k.walked, k.last = root, true, began
	w := k.window(began, inScope)
	w.begun = true
	if others != nil {
		w.others = func(ctx context.Context, paths []string) (Foreign, error) { return others(ctx, began, paths) }
	}
	k.open[w] = true
	return w.End(ctx)
}

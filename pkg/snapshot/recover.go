package snapshot

import (
	"context"
	"os"
	"time"
)

// Recover finds what has changed since a state was saved for a command whose server died. writes tells what others are
// known to have written of some paths since a time; nil where nobody is. It cannot tell the command's changes from those of
// programs that ran since.
func Recover(ctx context.Context, o Options, state *os.Root, content []byte, writes func(ctx context.Context, since time.Time, paths []string) ([]Write, error)) (*Difference, error) {
	root, began, err := load(state, content)
	if err != nil {
		return nil, err
	}
	k := Open(o)
	k.root, k.walked, k.last = root, true, began
	w := &Window{
		keeper: k, Began: began, inScope: func(string) bool { return true },
		deltas: map[string]*pending{}, writes: map[string][]*Write{}, begun: true,
	}
	if writes != nil {
		w.others = func(ctx context.Context, paths []string) ([]Write, error) { return writes(ctx, began, paths) }
	}
	k.open[w] = true
	return w.End(ctx)
}

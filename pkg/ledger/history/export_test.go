package history

import (
	"context"
	"os"
)

// VerifyHolding is Verify with another bound on the lines that are held at once.
func VerifyHolding(ctx context.Context, root *os.Root, opts Options, limit int) (Report, error) {
	w, err := newWalk(ctx, root, opts, limit)
	if err != nil {
		return Report{}, err
	}
	defer w.close()
	return w.run(ctx, opts)
}

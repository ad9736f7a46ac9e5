package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
)

// Unmerged lists the segments of the ledger that git's index has in several versions, because a merge, a rebase or a
// cherry-pick stopped at them. Without git or a repository there are none.
func Unmerged(ctx context.Context, root *os.Root) ([]mend.Unmerged, error) {
	r := repositoryAt(root.Name())
	if _, err := r.Ask(ctx, "rev-parse", "--git-dir"); err != nil {
		return nil, nil
	}
	listed, err := r.Ask(ctx, "ls-files", "--unmerged", "-z", "--", home)
	if err != nil {
		return nil, fmt.Errorf("look for unmerged files: %w", err)
	}
	var found []mend.Unmerged
	for item := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		about, file, ok := strings.Cut(item, "\t")
		fields := strings.Fields(about) // mode, id, stage
		segment, inside := strings.CutPrefix(file, home+"/")
		if !ok || !inside || len(fields) != 3 || !strings.HasPrefix(fields[0], "100") || !isSegment(segment) {
			continue
		}
		side := mend.Side{
			Name: stageName(fields[2]) + " of " + file,
			Open: func() (io.ReadCloser, error) { return r.blob(ctx, fields[1]) },
		}
		i := slices.IndexFunc(found, func(u mend.Unmerged) bool { return u.Segment == segment })
		if i < 0 {
			i, found = len(found), append(found, mend.Unmerged{Segment: segment})
		}
		found[i].Sides = append(found[i].Sides, side)
	}
	for _, u := range found { // our lines, theirs, and last what both may have taken out
		slices.SortFunc(u.Sides, func(a, b mend.Side) int { return strings.Compare(rank(a.Name), rank(b.Name)) })
	}
	return found, nil
}

func isSegment(name string) bool {
	return name == singleName || path.Dir(name) == traceDir && strings.HasSuffix(name, lineSuffix)
}

const commonAncestor = "the common ancestor's version"

func stageName(stage string) string {
	switch stage {
	case "1":
		return commonAncestor
	case "2":
		return "our version"
	}
	return "their version"
}

func rank(name string) string {
	if strings.HasPrefix(name, commonAncestor) {
		return "z"
	}
	return name
}

// blob reads one object; closing it ends git.
func (r repository) blob(ctx context.Context, id string) (io.ReadCloser, error) {
	o, err := r.objects(ctx, "--batch")
	if err != nil {
		return nil, err
	}
	found, err := o.Open(id)
	if err == nil && found.Kind != "blob" {
		err = errors.New("the object " + id + " is not at hand")
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

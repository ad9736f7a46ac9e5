package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// ErrNoHistory: there is no git, no repository, or no commit in it, so there is nothing to compare.
var ErrNoHistory = errors.New("there is no git history to compare")

// repository is the one whose commits are compared.
type repository struct{ gitread.Repository }

func repositoryAt(dir string) repository { return repository{gitread.Repository{Dir: dir}} }

// objects are the repository's, read by one running git.
type objects struct{ *gitread.Objects }

func (r repository) objects(ctx context.Context, mode string) (*objects, error) {
	o, err := r.Objects(ctx, mode)
	if err != nil {
		return nil, err
	}
	return &objects{o}, nil
}

// commits calls visit for each commit of the range with its parents, children first. The selection is that of rev-list;
// what a person gave stands behind --end-of-options.
func (r repository) commits(ctx context.Context, visit func(commit string, parents []string) error, selection ...string) error {
	cmd := r.Command(ctx, append([]string{"rev-list", "--parents", "--topo-order"}, selection...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20) // a merge may have many parents
	for err == nil && lines.Scan() {
		ids := strings.Fields(lines.Text())
		err = visit(ids[0], ids[1:])
	}
	if err == nil {
		err = lines.Err()
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git rev-list: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newSyncCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "sync [REMOTE]",
		Short: "Exchange records with a git remote",
		Long: "Fetch the records of a remote, unite them with those that are here, and send what the remote does not have, in the\n" +
			"ref " + gitref.Ref + ". Only what is new is sent, compressed; nothing is ever forced, here or there. REMOTE is a name or an\n" +
			"address; without one it is the remote of your branch, or origin.\n\n" +
			"With the hooks of orchestra-mcp git install-hooks each git push does the same, and each git fetch brings the records\n" +
			"of the others.",
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, args []string) error {
		return a.withWorkspace(func(root *os.Root) error { return a.sync(ctx, root, args) })
	})
}

func (a *app) sync(ctx context.Context, root *os.Root, args []string) error {
	withheld, err := a.travels(root)
	if err != nil {
		return err
	}
	remote := gitref.Remote(ctx, root)
	if len(args) > 0 {
		remote = args[0]
	}
	if remote == "" {
		return usageErrorf("the repository has no remote, or several and none is your branch's: name one, as in orchestra-mcp sync origin")
	}
	done, err := gitref.Sync(ctx, root, remote, withheld)
	if errors.Is(err, gitref.ErrRefused) {
		return fmt.Errorf("%s. What it has is here now. Records can go to it in a file instead: git bundle create records.bundle %s; "+
			"orchestra-mcp gate --ledger records.bundle reads it", printer.Lines(err.Error()), gitref.Ref)
	}
	if err != nil {
		return err
	}
	if err := gitref.Follow(ctx, root, remote); err != nil {
		return err
	}
	a.answer(done, func() {
		a.Printf("%s: sent %d records, received %d.\n", done.Remote, done.Sent, done.Received)
		for _, s := range done.Aside {
			a.Printf("Set aside, not believed: %s of %s: %s\n", s.Path, s.Ref, s.Reason)
		}
	})
	return found(len(done.Aside) > 0)
}

// travels says what of the ledger stays here when the rest goes along, or why nothing does.
func (a *app) travels(root *os.Root) (gitref.Withheld, error) {
	if locate.Beside(root.Name()) == "" {
		return gitref.Withheld{}, gitref.ErrNoRepository
	}
	loaded, err := a.loadSettings(root.Name(), nil)
	of := loaded.Settings.Ledger
	switch {
	case err != nil:
		return gitref.Withheld{}, err
	case of.Git == settings.Off:
		return gitref.Withheld{}, errors.New("ledger.git is off: the records of this workspace stay on this machine")
	case of.Git == settings.Tree && !locate.IsBeside(root):
		return gitref.Withheld{}, gitref.ErrInTree
	}
	withheld := func(kind string) bool { return slices.Contains(of.Withhold, kind) }
	return gitref.Withheld{Reads: withheld("reads"), Decisions: withheld("decisions"), Lessons: withheld("lessons"), Marks: withheld("marks")}, nil
}

// pushTime bounds what a person's git push waits for the records.
const pushTime = 20 * time.Second

// prePush sends the records along with a push. An agent's push does not: its commands do not move the ledger's ref.
func (a *app) prePush(ctx context.Context, remote, address string) error {
	if a.governed() {
		return nil
	}
	return a.withWorkspace(func(root *os.Root) error {
		withheld, err := a.travels(root)
		if err != nil || !locate.IsBeside(root) {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, pushTime)
		defer cancel()
		done, err := gitref.Sync(ctx, root, cmp.Or(remote, address), withheld)
		if ctx.Err() != nil {
			return fmt.Errorf("the records were not sent within %v; orchestra-mcp sync sends them", pushTime)
		}
		if err == nil && len(done.Aside) > 0 {
			err = fmt.Errorf("%d files of %s were set aside; orchestra-mcp sync names them", len(done.Aside), gitref.Ref)
		}
		return err
	})
}

// bringRecords takes in what git fetched of others' records. Where that fails, the answer is from what was here before.
func (a *app) bringRecords(ctx context.Context, root *os.Root) {
	switch done, err := gitref.Import(ctx, root); {
	case errors.Is(err, gitref.ErrNoRepository):
	case err != nil:
		a.warn("records that git fetched are left out: %s", printer.Lines(err.Error()))
	case len(done.Aside) > 0:
		a.warn("%d files of %s are set aside, not believed; orchestra-mcp sync names them", len(done.Aside), gitref.Ref)
	}
}

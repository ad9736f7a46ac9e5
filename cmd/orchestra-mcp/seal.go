package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type sealCommand struct {
	*app
	name         string
	withProblems bool
}

func (a *app) newSealCommand() *cobra.Command {
	c := sealCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "seal",
		Short: "Sign the ledger as it is now",
		Long: `Sign the heads of the ledger with your key, so that verify finds any later change of the records before them, also
by somebody who computes the chain again. The first seal makes the key: the private part stays in your own
configuration directory, the public part goes into the repository. Commit both the seal and the ledger.`,
	}, a.inWorkspace(c.run))
	cmd.Flags().StringVar(&c.name, "name", "", "the `NAME` of a key that is made now (default: your user name)")
	cmd.Flags().BoolVar(&c.withProblems, "with-problems", false, "seal a ledger that verify finds problems in, as it is")
	return cmd
}

// sealResult is what seal prints for programs.
type sealResult struct {
	File  string    `json:"file"`
	Key   string    `json:"key"`
	Time  time.Time `json:"time"`
	Lines int       `json:"lines"`
	Heads []string  `json:"heads"`
	New   bool      `json:"new"`
}

func (c *sealCommand) run(ctx context.Context, root *os.Root) error {
	key, err := c.sealingKey(root, c.name)
	if err != nil {
		return err
	}
	made, err := seal.Create(ctx, root, key, seal.CreateOptions{Now: c.now, WithProblems: c.withProblems, Elsewhere: history.Elsewhere(root)})
	switch {
	case errors.Is(err, seal.ErrProblems):
		return fmt.Errorf("%w; look at orchestra-mcp verify, and use --with-problems if the ledger is to be sealed as it is", err)
	case err != nil:
		return err
	}
	c.answer(sealResult{made.File, key.Public().String(), made.Time, made.Lines, made.Heads, !made.Already}, func() {
		if made.Already {
			c.Printf("Nothing has been appended since %s.\n", made.File)
		} else {
			c.Printf("Sealed %d lines in %s.\nWho has your public key can check it: %s\n", made.Lines, made.File, key.Public())
		}
	})
	return nil
}

// sealingKey is the user's key, made now if there is none.
func (a *app) sealingKey(root *os.Root, name string) (*seal.Key, error) {
	dir := settings.UserDir(a.environ())
	if dir == "" {
		return nil, errors.New("there is no directory for your key; set HOME or XDG_CONFIG_HOME")
	}
	if err := outside(root, dir); err != nil {
		return nil, err
	}
	key, err := seal.LoadKey(dir)
	if !errors.Is(err, seal.ErrNoKey) {
		return key, err
	}
	if key, err = seal.CreateKey(dir, cmp.Or(name, userName())); err == nil {
		a.warn("made your key %s in %s; back it up, and keep it to yourself", key.Public().ID(), dir)
	}
	return key, err
}

// outside refuses a key that agents could read as a file of the workspace.
func outside(root *os.Root, dir string) error {
	workspace, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return err
	}
	for at := dir; ; at = filepath.Dir(at) { // the directory may not be there yet
		if real, err := filepath.EvalSymlinks(at); err == nil {
			dir = filepath.Join(real, strings.TrimPrefix(dir, at))
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if rel, err := filepath.Rel(workspace, dir); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%w: your configuration directory %s is inside the workspace; set XDG_CONFIG_HOME to a directory outside of it",
			seal.ErrUnsafeKey, dir)
	}
	return nil
}

func userName() string {
	name := operator.Name()
	return name[strings.LastIndexByte(name, '\\')+1:] // without a Windows domain
}

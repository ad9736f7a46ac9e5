package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type sealFlags struct {
	name         string
	withProblems bool
	json         *bool
}

func (a *app) newSealCommand() *cobra.Command {
	var f sealFlags
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Sign the ledger as it is now",
		Long: "Sign the heads of the ledger with your key, so that verify finds any later change of the records before them, also\n" +
			"by somebody who computes the chain again. The first seal makes the key: the private part stays in your own\n" +
			"configuration directory, the public part goes into the repository. Commit both the seal and the ledger.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&f.name, "name", "", "the `NAME` of a key that is made now (default: your user name)")
	cmd.Flags().BoolVar(&f.withProblems, "with-problems", false, "seal a ledger that verify finds problems in, as it is")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error { return a.seal(cmd.Context(), f) })
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

func (a *app) seal(ctx context.Context, f sealFlags) error {
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	key, err := a.sealingKey(root, f.name)
	if err != nil {
		return err
	}
	made, err := seal.Create(ctx, root, key, seal.CreateOptions{Now: a.now, WithProblems: f.withProblems, Elsewhere: history.Elsewhere(root)})
	switch {
	case errors.Is(err, seal.ErrProblems):
		return fmt.Errorf("%w; look at orchestra-mcp verify, and use --with-problems if the ledger is to be sealed as it is", err)
	case err != nil:
		return err
	case *f.json:
		return printJSON(a.out, sealResult{made.File, key.Public().String(), made.Time, made.Lines, made.Heads, !made.Already})
	case made.Already:
		fmt.Fprintf(a.out, "Nothing has been appended since %s.\n", made.File)
	default:
		fmt.Fprintf(a.out, "Sealed %d lines in %s.\nWho has your public key can check it: %s\n", made.Lines, made.File, key.Public())
	}
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
	if name == "" {
		name = userName()
	}
	if key, err = seal.CreateKey(dir, name); err == nil {
		fmt.Fprintf(a.err, "orchestra-mcp: made your key %s in %s; back it up, and keep it to yourself\n", key.Public().ID(), dir)
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
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username[strings.LastIndexByte(me.Username, '\\')+1:] // without a Windows domain
}

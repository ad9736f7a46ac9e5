package main

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/trailer"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newLedgerMoveCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "move",
		Short: "Move a ledger that is in the tree to beside it",
		Long: `Move the ledger out of the commits: to git's own directory, where no branch tracks it and nothing that git does to the
tree touches it. From then on records travel in a ref of their own (orchestra-mcp sync). No record is lost or changed.

The files are taken out of git's index, and stay out by .orchestration/.gitignore; commit that. Branches from before
go on to work: what older programs record there is taken in whenever such a branch is checked out. A merge of one
conflicts on .orchestration/agent_trace.jsonl (deleted here, changed there): git rm it, after a look at the branch with
any command of this program. An older program refuses a workspace whose ledger was moved.`,
	}, a.inWorkspace(a.moveLedger))
}

// moveResult is what ledger move prints for programs.
type moveResult struct {
	Directory string   `json:"directory"`
	Records   int      `json:"records"`
	Removed   []string `json:"removed"` // from git's index
}

func (a *app) moveLedger(ctx context.Context, root *os.Root) error {
	repository, err := a.repositoryAround(ctx, root.Name())
	if err != nil {
		return err
	}
	dir, err := locate.MoveBeside(ctx, root)
	if err != nil {
		return err
	}
	report, err := verify.Verify(ctx, root)
	if err != nil {
		return err
	}
	result := moveResult{Directory: path.Join(dir, orchdir.Name), Records: report.Records}
	if result.Removed, err = a.takeOutOfTree(ctx, root, repository); err != nil {
		return err
	}
	a.answer(result, func() {
		a.Printf("The ledger, with %d records, stands in %s.\n", result.Records, result.Directory)
		if len(result.Removed) > 0 {
			a.Println("Git tracks it no longer: commit that, and push.")
		}
	})
	return nil
}

// takeOutOfTree leaves a link where the ledger was. What an older program would do with it is in the ignore file: nothing.
func (a *app) takeOutOfTree(ctx context.Context, root *os.Root, r trailer.Repository) (removed []string, err error) {
	names := withPrefix(r, []string{orchdir.Name + "/agent_trace.jsonl", orchdir.Name + "/trace", orchdir.Name + "/archive", orchdir.Name + "/intent_map.md"})
	text, err := gitOutput(ctx, r.Dir, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	removed = slices.DeleteFunc(strings.Split(text, "\x00"), func(name string) bool { return name == "" })
	if len(removed) > 0 {
		args := append([]string{"--literal-pathspecs", "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--"}, names...)
		if _, err := gitOutput(ctx, r.Dir, args...); err != nil {
			return nil, err
		}
	}
	if err := keepOut(root); err != nil {
		return nil, err
	}
	if err := a.sayRef(root); err != nil {
		return nil, err
	}
	if _, err := gitOutput(ctx, r.Dir, "add", "--", r.Prefix+orchdir.Name+"/.gitignore", r.Prefix+scaffold.ConfigFile); err != nil {
		return nil, err
	}
	return removed, locate.LeaveTree(ctx, root)
}

// keepOut adds the lines that a new workspace has to .orchestration/.gitignore.
func keepOut(root *os.Root) error {
	const name = orchdir.Name + "/.gitignore"
	content, err := root.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text := string(content)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, line := range []string{"/agent_trace.jsonl", "/trace/", "/archive/", "/intent_map.md"} {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			text += line + "\n"
		}
	}
	if text == string(content) {
		return nil
	}
	return root.WriteFile(name, []byte(text), 0o644)
}

// sayRef puts the setting into config.yaml, at whose unknown key an older program stops and names it. A file that was trusted
// stays trusted.
func (a *app) sayRef(root *os.Root) error {
	content, err := root.ReadFile(scaffold.ConfigFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	const key = "  git: ref # the ledger stands beside the tree: a program that does not know this key is too old for it"
	lines := strings.Split(string(content), "\n")
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "git: ref") {
			return nil
		}
	}
	if at := slices.Index(lines, "ledger:"); at >= 0 {
		lines = slices.Insert(lines, at+1, key)
	} else if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "ledger:") }) {
		a.warn("%s has ledger: on one line; add git: ref to it by hand, so that older programs stop there", scaffold.ConfigFile)
		return nil
	} else {
		lines = append(lines, "ledger:", key, "")
	}
	list := settings.TrustList{UserDir: settings.UserDir(a.environ())}
	trusted := len(content) == 0 || list.UserDir != "" && list.Of(root.Name())(settings.ContentHash(content))
	text := []byte(strings.Join(lines, "\n"))
	if err := root.WriteFile(scaffold.ConfigFile, text, 0o644); err != nil || !trusted || list.UserDir == "" {
		return err
	}
	return list.Trust(root.Name(), settings.ContentHash(text))
}

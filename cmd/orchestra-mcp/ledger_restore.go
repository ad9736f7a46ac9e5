package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

type restoreCommand struct {
	*app
	from []string
	yes  bool
}

func (a *app) newLedgerRestoreCommand() *cobra.Command {
	c := restoreCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "restore [--from REVISION]...",
		Short: "Bring back records and seals that commits have and the ledger lost",
		Long: `Find the records that commits have and the ledger in the work tree has not, as a revert or a bad resolution of a
conflict drops them, show them, and append them again, byte for byte, so that each is the record that it was.
Seals that are gone come back as well.

It looks at HEAD and all commits before it. --from looks at another revision and all before it instead: a branch
from which a commit was cherry-picked, or the state before a rebase (ORIG_HEAD, a reflog entry). What a rewritten
history left out on purpose is in none of HEAD's commits, and stays out unless --from names it.`,
		Example: "  orchestra-mcp ledger restore\n  orchestra-mcp ledger restore --from ORIG_HEAD",
	}, a.inWorkspace(c.run))
	cmd.Flags().StringArrayVar(&c.from, "from", nil, "look at this `REVISION` and the commits before it; can be given several times")
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	return cmd
}

// restorable is a lost line for people and programs.
type restorable struct {
	ID      string    `json:"id,omitempty"`
	Hash    string    `json:"hash"`
	Time    time.Time `json:"time,omitzero"`
	Kind    string    `json:"kind,omitempty"`
	Intent  string    `json:"intent_id,omitempty"`
	Segment string    `json:"segment"`
	Commit  string    `json:"commit"`

	line mend.Line
}

// restorableSeal is a lost seal.
type restorableSeal struct {
	File   string `json:"file"`
	Commit string `json:"commit"`

	content []byte
}

type restoreResult struct {
	Found         []restorable     `json:"found"`
	Seals         []restorableSeal `json:"seals"`
	Restored      int              `json:"restored"`
	RestoredSeals int              `json:"restored_seals"`
	FromRef       int              `json:"from_ref"` // records that the ref had and the ledger had not
}

func (r *restoreResult) missing() bool {
	return r.Restored < len(r.Found) || r.RestoredSeals < len(r.Seals)
}

func (c *restoreCommand) run(ctx context.Context, root *os.Root) (err error) {
	result := restoreResult{Found: []restorable{}, Seals: []restorableSeal{}}
	if len(c.from) == 0 && (c.yes || !c.json) {
		if result.FromRef, err = c.restoreFromRef(ctx, root); err != nil {
			return err
		}
	}
	err = history.Lost(ctx, root, c.from, history.Visit{
		Line: func(lost history.LostLine) error {
			result.Found = append(result.Found, newRestorable(lost))
			return nil
		},
		Seal: func(lost history.LostSeal) error {
			result.Seals = append(result.Seals, restorableSeal{lost.File, lost.Commit, lost.Content})
			return nil
		},
	})
	if err != nil {
		return err
	}
	if len(result.Found)+len(result.Seals)+result.FromRef == 0 && !locate.IsBeside(root) && !history.HasLedger(ctx, root, c.from...) {
		return foundf("no commit up to %s has ledger records or seals, so there was nothing to restore from; --from REVISION looks at another one",
			cmp.Or(strings.Join(c.from, ", "), "HEAD"))
	}
	if !c.json {
		c.printRestorable(result)
	}
	if result.missing() && c.mayRestore(result.question()) {
		if err := putBack(ctx, root, &result); err != nil {
			return err
		}
	}
	c.answer(result, func() {
		if !result.missing() && len(result.Found)+len(result.Seals) > 0 {
			c.Printf("Restored %s. Commit the ledger, so that the next commit has them too.\n", result.amount())
		}
	})
	return found(result.missing())
}

// restoreFromRef brings in what git carries of the ledger. These are records that were here, or that others sent: nobody has to
// be asked.
func (a *app) restoreFromRef(ctx context.Context, root *os.Root) (records int, err error) {
	done, err := gitref.Restore(ctx, root)
	if errors.Is(err, gitref.ErrNoRepository) {
		return 0, nil
	}
	if err == nil && done.Records > 0 {
		a.warn("%d records came back from %s", done.Records, gitref.Ref)
	}
	return done.Records, err
}

// amount says how much was lost.
func (r *restoreResult) amount() string {
	var parts []string
	if n := len(r.Found); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records", n))
	}
	if n := len(r.Seals); n > 0 {
		parts = append(parts, fmt.Sprintf("%d seals", n))
	}
	return strings.Join(parts, " and ")
}

func (r *restoreResult) question() string {
	if len(r.Seals) == 0 {
		return fmt.Sprintf("Append these %s to the ledger again?", r.amount())
	}
	return fmt.Sprintf("Put these %s back into the ledger?", r.amount())
}

func newRestorable(lost history.LostLine) restorable {
	r := restorable{Hash: lost.Hash.String(), Segment: lost.Segment, Commit: lost.Commit,
		line: mend.Line{Segment: lost.Segment, Data: bytes.Clone(lost.Data)}}
	if e, err := record.Parse(lost.Data); err == nil {
		r.ID, r.Time, r.Kind, r.Intent = e.ID, e.Time, string(e.Kind), e.IntentID
	}
	return r
}

const shownRestorable = 50

func (a *app) printRestorable(r restoreResult) {
	if len(r.Found)+len(r.Seals) == 0 {
		a.Println(a.Green("The ledger has every record and every seal that those commits have."))
	}
	found, seals := r.Found[:min(len(r.Found), shownRestorable)], r.Seals[:min(len(r.Seals), shownRestorable)]
	printer.Table(a.Printer, "RECORD|TIME|KIND|INTENT|IN COMMIT", found, func(r restorable) []any {
		at := ""
		if !r.Time.IsZero() {
			at = r.Time.UTC().Format(time.RFC3339)
		}
		return []any{brief.ShortID(cmp.Or(r.ID, r.Hash)), at, r.Kind, r.Intent, printable.Clip(r.Commit, 12)}
	})
	a.More(len(r.Found), len(found), ".")
	printer.Table(a.Printer, "SEAL|IN COMMIT", seals, func(s restorableSeal) []any {
		return []any{printable.Clip(s.File, 80), printable.Clip(s.Commit, 12)}
	})
	a.More(len(r.Seals), len(seals), ".")
}

// mayRestore asks a person. Without one to ask, what was found is only shown.
func (c *restoreCommand) mayRestore(question string) bool {
	switch {
	case c.yes || c.json:
		return c.yes
	case !c.inTerminal:
		c.warn("nothing was changed: the input is not a terminal; add --yes to restore these")
		return false
	}
	return c.confirm(question)
}

func putBack(ctx context.Context, root *os.Root, r *restoreResult) error {
	lines := make([]mend.Line, len(r.Found))
	for i, found := range r.Found {
		lines[i] = found.line
	}
	if len(lines) > 0 {
		if err := mend.PutBack(ctx, root, lines); err != nil {
			return err
		}
	}
	r.Restored = len(lines)
	for _, s := range r.Seals {
		if err := seal.PutBack(root, s.File, s.content); err != nil {
			return err
		}
		r.RestoredSeals++
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type attestCommand struct {
	*app
	base, head, key, out string
}

func (a *app) newAttestCommand() *cobra.Command {
	c := attestCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "attest --base REVISION",
		Short: "Sign what a range of commits changed, and which records explain it",
		Long: `Write a statement for people who trust neither this machine nor this repository: what HEAD has and the base has not,
file by file; the range's records by their hash; seals, intents, settings and approvals; and how many of the changed
lines a record explains. It is an in-toto statement in a DSSE envelope, signed with the key that seals the ledger, or
with an Ed25519 key of SSH. Whoever has the repository and the public key can check it with attest verify.`,
		Example: "  orchestra-mcp attest --base origin/main --out attestation.json",
	}, c.run)
	flags := cmd.Flags()
	flags.StringVar(&c.base, "base", "", "what to compare with: `REVISION`, such as origin/main (required)")
	flags.StringVar(&c.head, "head", "HEAD", "what to attest: `REVISION`")
	flags.StringVar(&c.key, "key", "", "sign with the private SSH key in `FILE` (default: the key that seals the ledger)")
	flags.StringVar(&c.out, "out", "", "write the statement to `FILE` (default: standard output)")
	cmd.AddCommand(a.newAttestVerifyCommand())
	return cmd
}

// attested is what attest prints for programs.
type attested struct {
	File      string           `json:"file"`
	KeyID     string           `json:"keyid"`
	PublicKey string           `json:"public_key"` // PEM
	Statement attest.Statement `json:"statement"`
}

func (c *attestCommand) run(ctx context.Context, _ []string) error {
	switch {
	case c.base == "":
		return usageErrorf("--base is needed: the revision to compare with, such as --base origin/main")
	case c.json && c.out == "":
		return usageErrorf("--json describes the file that --out names: give both, or neither")
	}
	return c.withWorkspace(func(root *os.Root) error {
		by, err := c.signer(root, c.key)
		if err != nil {
			return err
		}
		c.bringRecords(ctx, root)
		text, statement, err := attest.Make(ctx, root, c.base, c.head, buildinfo.Read().Version, by)
		if err != nil {
			return c.aboutRange(ctx, root, err)
		}
		if c.out == "" {
			_, _ = c.Write(text)
			return nil
		}
		if err := os.WriteFile(c.fromWorkDir(c.out), text, 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		c.answer(attested{c.out, by.Public.ID(), by.Public.PEM(), statement}, func() {
			p := &statement.Predicate
			c.Printf("Attested %d commits to %.12s, with %d lines of the ledger, in %s.\nWho has your public key can check it:\n",
				p.Range.Commits, p.Range.Head, p.Ledger.Lines, c.out)
			_, _ = c.Write([]byte(by.Public.PEM()))
		})
		return nil
	})
}

// signer is the SSH key in a file, or the key that seals the ledger, made now if there is none.
func (a *app) signer(root *os.Root, file string) (attest.Signer, error) {
	if file == "" {
		key, err := a.sealingKey(root, "")
		if err != nil {
			return attest.Signer{}, err
		}
		return attest.SealSigner(key), nil
	}
	name := a.fromWorkDir(file)
	if err := outside(root, filepath.Dir(name)); err != nil {
		return attest.Signer{}, mistakef("--key: agents could read %s, which is inside the workspace; move it out, and make a new key if one has", file)
	}
	text, err := privatefile.ReadPrivate(name)
	if err != nil {
		return attest.Signer{}, mistakef("--key: %w", err)
	}
	by, err := attest.SSHSigner(text)
	if err != nil {
		return attest.Signer{}, mistakef("--key: %s: %w", file, err)
	}
	return by, nil
}

func (a *app) newAttestVerifyCommand() *cobra.Command {
	var keys []string
	cmd := a.command(&cobra.Command{
		Use:   "verify FILE",
		Short: "Check a statement with nothing but the repository and the public key",
		Long: `Check who signed the statement in FILE, and hold all that it says to this repository: each object is read and hashed,
the range is judged again, and the records' changes are replayed from the merge base's files to HEAD's. It also says
what it cannot prove. The work tree does not count.

The exit code is 0 if the statement holds, 1 if something contradicts it, 3 if it could not be checked: no key is at
hand, the commits or the records are not here, or another version of the program measured it.

You trust your own key and those in the directory seal-keys of your orchestra-mcp configuration, or, if you give any,
those that you give with --key.`,
		Example: "  orchestra-mcp attest verify attestation.json --key alice.pub",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, args []string) error { return a.attestVerify(ctx, args[0], keys) })
	cmd.Flags().StringArrayVar(&keys, "key", nil,
		"the statement must be signed by the public `KEY`, as text or as a file: of seal, of OpenSSH (ssh-ed25519 …), or PEM; several times: one of them")
	return cmd
}

func (a *app) attestVerify(ctx context.Context, file string, keys []string) error {
	opts, err := a.attestKeys(keys)
	if err != nil {
		return err
	}
	text, err := durable.ReadRegular(a.fromWorkDir(file), attest.MaxEnvelope)
	if err != nil {
		return mistakef("%w", err)
	}
	return a.withWorkspace(func(root *os.Root) error {
		a.bringRecords(ctx, root)
		r, err := attest.Verify(ctx, root, text, opts)
		switch {
		case attest.Contradicted(err):
			return foundf("%s: %w", file, err)
		case err != nil:
			return a.aboutRange(ctx, root, err)
		}
		a.answer(r, func() { a.printAttestation(r) })
		if len(r.Contradictions) == 0 && len(r.Unknown) > 0 {
			return errors.New("the statement could not be checked as a whole")
		}
		return found(len(r.Contradictions) > 0)
	})
}

// attestKeys are the keys that a statement may be signed with: those given, else those that the user trusts with seals.
func (a *app) attestKeys(given []string) (opts attest.VerifyOptions, err error) {
	opts.Version = buildinfo.Read().Version
	for _, text := range given {
		key, err := attest.ParsePublicKey(text)
		if err != nil {
			content, missing := privatefile.Read(a.fromWorkDir(text))
			if missing != nil {
				return opts, mistakef("--key: it is neither a public key nor a file: %w", err)
			}
			text = string(content)
			if key, err = attest.ParsePublicKey(text); err != nil {
				return opts, mistakef("--key: %w", err)
			}
		}
		opts.Required = append(opts.Required, key)
		if sealing, err := seal.ParsePublicKey(text); err == nil {
			opts.Seals = append(opts.Seals, sealing)
		}
	}
	known, err := seal.KnownKeys(settings.UserDir(a.environ()))
	for _, key := range known {
		opts.Trusted = append(opts.Trusted, attest.SealKey(key))
	}
	opts.Seals = append(opts.Seals, known...)
	return opts, err
}

func (a *app) printAttestation(r *attest.Result) {
	p := &r.Statement.Predicate
	verdict := a.Green("holds")
	switch {
	case len(r.Contradictions) > 0:
		verdict = a.Red("does not hold")
	case len(r.Unknown) > 0:
		verdict = a.Amber("could not be checked as a whole")
	}
	a.Printf("The statement %s.\n\n", verdict)
	replayed := fmt.Sprintf("%d changed files", len(r.Replay.Files))
	if r.Replay.Exact {
		replayed += ", to HEAD's tree but for governance files"
	}
	a.Rows(
		[]any{"signed by", "key " + r.KeyID},
		[]any{"range", fmt.Sprintf("%d commits, %.12s to %.12s", p.Range.Commits, p.Range.MergeBase, p.Range.Head)},
		[]any{"files", fmt.Sprintf("%d changed, %d deleted", len(r.Statement.Subject)-2, len(p.Range.Deleted))},
		[]any{"ledger", fmt.Sprintf("%d lines, %d records", p.Ledger.Lines, p.Ledger.Records)},
		[]any{"decisions", fmt.Sprintf("%d refused, %d approved, %d denied", p.Decisions.Refused, p.Decisions.Approved, p.Decisions.Denied)},
		[]any{"traced", fmt.Sprintf("%d of %d changed lines", p.Coverage.Traced, p.Coverage.Changed)},
		[]any{"replayed", replayed},
	)
	a.List("\nContradicted:", "- ", r.Contradictions)
	a.List("\nNot told:", "- ", r.Unknown)
	a.List("\nNot proven:", "- ", r.Unproven)
}

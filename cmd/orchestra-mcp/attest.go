package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type attestFlags struct {
	base, head, key, out string
	json                 *bool
}

func (a *app) newAttestCommand() *cobra.Command {
	var f attestFlags
	cmd := &cobra.Command{
		Use:   "attest --base REVISION",
		Short: "Sign what a range of commits changed, and which records explain it",
		Long: "Write a statement for people who trust neither this machine nor this repository: what HEAD has and the base has not,\n" +
			"file by file; the range's records by their hash; seals, intents, settings and approvals; and how many of the changed\n" +
			"lines a record explains. It is an in-toto statement in a DSSE envelope, signed with the key that seals the ledger, or\n" +
			"with an Ed25519 key of SSH. Who has the repository and the public key checks it with attest verify.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "what to compare with: `REVISION`, such as origin/main (required)")
	flags.StringVar(&f.head, "head", "HEAD", "what to attest: `REVISION`")
	flags.StringVar(&f.key, "key", "", "sign with the private SSH key in `FILE` (default: the key that seals the ledger)")
	flags.StringVar(&f.out, "out", "", "write the statement to `FILE` (default: standard output)")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error { return a.attest(cmd.Context(), f) })
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

func (a *app) attest(ctx context.Context, f attestFlags) error {
	switch {
	case f.base == "":
		return usageErrorf("--base is needed: the revision to compare with, such as --base origin/main")
	case *f.json && f.out == "":
		return usageErrorf("--json describes the file that --out names: give both, or neither")
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	by, err := a.signer(root, f.key)
	if err != nil {
		return err
	}
	a.bringRecords(ctx, root)
	text, statement, err := attest.Make(ctx, root, f.base, f.head, buildinfo.Read().Version, by)
	if err != nil {
		return a.aboutRange(ctx, root, err)
	}
	if f.out == "" {
		_, err = a.out.Write(text)
		return err
	}
	if err := os.WriteFile(a.fromWorkDir(f.out), text, 0o644); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if *f.json {
		return printJSON(a.out, attested{f.out, by.Public.ID(), by.Public.PEM(), statement})
	}
	p := &statement.Predicate
	fmt.Fprintf(a.out, "Attested %d commits to %.12s, with %d lines of the ledger, in %s.\nWho has your public key can check it:\n%s",
		p.Range.Commits, p.Range.Head, p.Ledger.Lines, printable(f.out), by.Public.PEM())
	return nil
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
		return attest.Signer{}, mistakef("--key: agents could read %s, which is inside the workspace; move it out, and make a new key if one has", printable(file))
	}
	text, err := privatefile.ReadPrivate(name)
	if err != nil {
		return attest.Signer{}, mistakef("--key: %w", err)
	}
	by, err := attest.SSHSigner(text)
	if err != nil {
		return attest.Signer{}, mistakef("--key: %s: %w", printable(file), err)
	}
	return by, nil
}

// fromWorkDir makes the name of a file absolute.
func (a *app) fromWorkDir(name string) string {
	dir, err := a.workDir()
	if err != nil || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

type attestVerifyFlags struct {
	keys []string
	json *bool
}

func (a *app) newAttestVerifyCommand() *cobra.Command {
	var f attestVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a statement with nothing but the repository and the public key",
		Long: "Check who signed the statement in FILE, and hold all that it says to this repository: each object is read and hashed,\n" +
			"the range is judged again, and the records' changes are replayed from the merge base's files to HEAD's. It also says\n" +
			"what it cannot prove. The work tree does not count.\n\n" +
			"The exit code is 0 if the statement holds, 1 if something contradicts it, 3 if it could not be checked: no key is at\n" +
			"hand, the commits or the records are not here, or another version of the program measured it.\n\n" +
			"You trust your own key and those in the directory seal-keys of your orchestra-mcp configuration, or, if you give any,\n" +
			"those that you give with --key.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil,
		"the statement must be signed by the public `KEY`, as text or as a file: of seal, of OpenSSH (ssh-ed25519 …), or PEM; several times: one of them")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.attestVerify(cmd.Context(), args[0], f) })
	return cmd
}

func (a *app) attestVerify(ctx context.Context, file string, f attestVerifyFlags) error {
	opts, err := a.attestKeys(f.keys)
	if err != nil {
		return err
	}
	text, err := durable.ReadRegular(a.fromWorkDir(file), attest.MaxEnvelope)
	if err != nil {
		return mistakef("%w", err)
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	a.bringRecords(ctx, root)
	r, err := attest.Verify(ctx, root, text, opts)
	switch {
	case attest.Contradicted(err):
		return foundf("%s: %w", printable(file), err)
	case err != nil:
		return a.aboutRange(ctx, root, err)
	}
	if *f.json {
		err = printJSON(a.out, r)
	} else {
		err = a.printAttestation(r)
	}
	switch {
	case err != nil:
		return err
	case len(r.Contradictions) > 0:
		return foundSomething()
	case len(r.Unknown) > 0:
		return errors.New("the statement could not be checked as a whole")
	}
	return nil
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

func (a *app) printAttestation(r *attest.Result) error {
	p := &r.Statement.Predicate
	verdict := a.styled(styleGreen, "holds")
	switch {
	case len(r.Contradictions) > 0:
		verdict = a.styled(styleRed, "does not hold")
	case len(r.Unknown) > 0:
		verdict = a.styled(styleAmber, "could not be checked as a whole")
	}
	fmt.Fprintf(a.out, "The statement %s.\n\n", verdict)
	replayed := fmt.Sprintf("%d changed files", len(r.Replay.Files))
	if r.Replay.Exact {
		replayed += ", to HEAD's tree but for governance files"
	}
	if err := printTable(a.out, [][]string{
		{"signed by", "key " + r.KeyID},
		{"range", fmt.Sprintf("%d commits, %.12s to %.12s", p.Range.Commits, p.Range.MergeBase, p.Range.Head)},
		{"files", fmt.Sprintf("%d changed, %d deleted", len(r.Statement.Subject)-2, len(p.Range.Deleted))},
		{"ledger", fmt.Sprintf("%d lines, %d records", p.Ledger.Lines, p.Ledger.Records)},
		{"decisions", fmt.Sprintf("%d refused, %d approved, %d denied", p.Decisions.Refused, p.Decisions.Approved, p.Decisions.Denied)},
		{"traced", strconv.Itoa(p.Coverage.Traced) + " of " + strconv.Itoa(p.Coverage.Changed) + " changed lines"},
		{"replayed", replayed},
	}); err != nil {
		return err
	}
	for _, list := range []struct {
		title     string
		sentences []string
	}{{"Contradicted:", r.Contradictions}, {"Not told:", r.Unknown}, {"Not proven:", r.Unproven}} {
		if len(list.sentences) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "\n%s\n", list.title)
		for _, sentence := range list.sentences {
			fmt.Fprintf(a.out, "- %s\n", printable(sentence))
		}
	}
	return nil
}

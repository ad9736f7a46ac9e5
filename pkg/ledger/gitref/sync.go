package gitref

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// Synced is what Sync did.
type Synced struct {
	Remote   string  `json:"remote"`
	Received int     `json:"received"` // records
	Sent     int     `json:"sent"`
	Aside    []Aside `json:"set_aside,omitempty"`
}

// ErrRefused: the remote does not take the ref.
var ErrRefused = errors.New("the remote does not take the ref")

// Remote is the one to exchange records with: that of the branch that is checked out, that of pushes, origin, or the only
// one; "" if there is none of these.
func Remote(ctx context.Context, root *os.Root) string {
	c, err := open(root)
	if err != nil {
		return ""
	}
	branch, _ := c.git.Ask(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	text, _ := c.git.Ask(ctx, "remote")
	names := strings.Fields(text)
	for _, key := range []string{"branch." + branch + ".pushRemote", "remote.pushDefault", "branch." + branch + ".remote"} {
		if name, err := c.git.Ask(ctx, "config", "--get", key); err == nil && slices.Contains(names, name) {
			return name
		}
	}
	switch {
	case slices.Contains(names, "origin"):
		return "origin"
	case len(names) == 1:
		return names[0]
	}
	return ""
}

// Sync fetches the ref of a remote, by name or address, unites it with this clone's, and pushes what the remote does not
// have, but for what keep withholds. Neither side's is ever forced. ErrRefused is for a remote that takes no such ref; what was fetched is there.
func Sync(ctx context.Context, root *os.Root, remote string, keep Withheld) (Synced, error) {
	c, err := open(root)
	if err != nil {
		return Synced{}, err
	}
	result := Synced{Remote: remote}
	for range maxRaces {
		if err := c.fetch(ctx, remote); err != nil {
			return result, err
		}
		imported, err := Import(ctx, root)
		if err != nil {
			return result, err
		}
		result.Received += imported.Records
		result.Aside = imported.Aside
		exported, err := Export(ctx, root, keep)
		if err != nil || exported.Commit == "" {
			return result, err
		}
		result.Sent += exported.Records
		switch err := c.push(ctx, remote, exported.Commit); {
		case err == nil:
			return result, nil
		case !errors.Is(err, errBehind):
			return result, err
		}
	}
	return result, fmt.Errorf("others pushed to %s of %s again and again meanwhile; try again", Ref, remote)
}

// Fetch brings the ref of a remote, by name or address, into the ledger.
func Fetch(ctx context.Context, root *os.Root, remote string) (Imported, error) {
	c, err := open(root)
	if err != nil {
		return Imported{}, err
	}
	if err := c.fetch(ctx, remote); err != nil {
		return Imported{}, err
	}
	return Import(ctx, root)
}

// refspec never forces the local ref, and is not missed where the remote has none.
func refspec(remote string) string { return "+refs/orchestra/ledger*:" + tracking(remote) + "*" }

// tracking is where the ref of a remote stands here.
func tracking(remote string) string {
	if strings.ContainsAny(remote, ":/\\~^?*[ ") || strings.HasPrefix(remote, ".") || strings.Contains(remote, "..") { // an address
		sum := sha256.Sum256([]byte(remote))
		remote = "at-" + hex.EncodeToString(sum[:6])
	}
	return remotes + remote + "/ledger"
}

func (c *carrier) fetch(ctx context.Context, remote string) error {
	_, err := c.user(ctx, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-filter", "--refmap=", "--end-of-options", remote, refspec(remote))
	if err != nil {
		return fmt.Errorf("fetch the records of %s: %w", remote, err)
	}
	return nil
}

// errBehind: the remote has what was not fetched yet.
var errBehind = errors.New("the remote has other records meanwhile")

func (c *carrier) push(ctx context.Context, remote, commit string) error {
	if there, _ := c.git.Ask(ctx, "rev-parse", "--verify", "--quiet", tracking(remote)); there == commit {
		return nil
	}
	out, err := c.user(ctx, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--end-of-options", remote, commit+":"+Ref)
	if err != nil {
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "!\t") {
				continue
			}
			if strings.Contains(line, "[rejected]") || strings.Contains(line, "cannot lock ref") || strings.Contains(line, "failed to update ref") {
				return errBehind
			}
			_, why, _ := strings.Cut(line[2:], "\t")
			return fmt.Errorf("%w: %s: %s", ErrRefused, remote, strings.TrimSpace(why))
		}
		return fmt.Errorf("push the records to %s: %w", remote, err)
	}
	_, err = c.write(ctx, nil, "update-ref", "-m", "orchestra-mcp", tracking(remote), commit)
	return err
}

// Follow has every git fetch of a remote bring its ref along.
func Follow(ctx context.Context, root *os.Root, remote string) error {
	c, err := open(root)
	if err != nil {
		return err
	}
	key := "remote." + remote + ".fetch"
	there, _ := c.git.Ask(ctx, "config", "--get-all", key)
	if slices.Contains(strings.Split(there, "\n"), refspec(remote)) {
		return nil
	}
	_, err = c.write(ctx, nil, "config", "--add", key, refspec(remote))
	return err
}

// user runs git with the user's own configuration, which says how a remote is reached. It asks nobody anything.
func (c *carrier) user(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.root.Name()
	cmd.Env = append(gitread.OutsideHook(os.Environ()), "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	repository  = "https://github.com/intentgov/orchestra-mcp"
	serverName  = "io.github.intentgov/orchestra-mcp"
	npmName     = "@intentgov/orchestra-mcp"
	maintainer  = "orchestra-mcp authors <orchestra-mcp@users.noreply.github.com>"
	description = "Governed file and command tools for agents, with a ledger of every change"
)

// binary is the program for one platform, in the words of Go.
type binary struct{ os, arch, path string }

// platform is how Node, and with it npm and MCPB, calls it.
func (b binary) platform() string { return b.os + "-" + b.processor() }

func (b binary) processor() string {
	if b.arch == "amd64" {
		return "x64"
	}
	return b.arch
}

// release is what is packed.
type release struct {
	out, work string
	version   string // semantic, without v
	time      time.Time
	native    string // the program for this machine
	binaries  []binary
}

// newRelease builds the program for this machine, unless it is given, and takes from it which release this is.
func newRelease(ctx context.Context, out, work, given string) (*release, error) {
	r := &release{out: out, work: work, native: given}
	if given == "" {
		r.native = filepath.Join(work, "orchestra-mcp")
		if err := command(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", r.native, "./cmd/orchestra-mcp"); err != nil {
			return nil, err
		}
	} else {
		r.binaries = []binary{{runtime.GOOS, runtime.GOARCH, given}}
	}
	told, err := exec.CommandContext(ctx, r.native, "version", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", r.native, err)
	}
	var info struct {
		Version, Commit string
		Time            time.Time `json:"commit_time"`
	}
	if err := json.Unmarshal(told, &info); err != nil {
		return nil, err
	}
	if given == "" && info.Commit == "" {
		return nil, errors.New("the program does not know its commit: make packages in a plain clone (Go stamps no linked worktree)")
	}
	// npm would drop what follows a plus, and with it the link from a package to those it depends on.
	r.version = strings.ReplaceAll(strings.TrimPrefix(info.Version, "v"), "+", ".")
	if info.Version == "devel" {
		r.version = "0.0.0-devel"
	}
	r.time, err = timeOf(info.Time)
	return r, err
}

// timeOf is what SOURCE_DATE_EPOCH says, or else the commit's time. Zip archives know no time before 1980.
func timeOf(commit time.Time) (time.Time, error) {
	first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return first, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
		}
		commit = time.Unix(seconds, 0)
	}
	if commit.Before(first) {
		return first, nil
	}
	return commit.UTC(), nil
}

func (r *release) epoch() string { return strconv.FormatInt(r.time.Unix(), 10) }

// url is where a file of the release will be.
func (r *release) url(file string) string {
	return repository + "/releases/download/v" + r.version + "/" + file
}

// generated is where .goreleaser.yaml looks: it takes nothing from outside of the checkout.
const generated = ".generated"

// generate writes what Linux packages and archives carry beside the program, with the release's time.
func (r *release) generate(ctx context.Context) error {
	if err := os.RemoveAll(generated); err != nil {
		return err
	}
	if err := command(ctx, nil, r.native, "man", filepath.Join(generated, "man")); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(generated, "man", "*"))
	if err != nil {
		return err
	}
	files := map[string][]byte{"copyright": part("copyright"), "overrides": []byte("orchestra-mcp: statically-linked-binary\n")}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if files["gz/"+filepath.Base(page)+".gz"], err = gzipped(text); err != nil {
			return err
		}
		files["man/"+filepath.Base(page)] = text
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if files["completion."+shell], err = exec.CommandContext(ctx, r.native, "completion", shell).Output(); err != nil {
			return err
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if files[name], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{"changelog.gz": files["CHANGELOG.md"], "changelog.Debian.gz": []byte(r.debianChangelog())} {
		if files[name], err = gzipped(text); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(generated, "gz"), 0o755); err != nil {
		return err
	}
	for name, content := range files {
		at := filepath.Join(generated, name)
		if err := errors.Join(os.WriteFile(at, content, 0o644), os.Chtimes(at, r.time, r.time)); err != nil {
			return err
		}
	}
	return nil
}

// debianChangelog is what Debian's tools read of a package's history.
func (r *release) debianChangelog() string {
	return fmt.Sprintf("orchestra-mcp (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n",
		strings.Replace(r.version, "-", "~", 1), maintainer, r.time.Format(time.RFC1123Z))
}

// gzipped has neither a name nor a time.
func gzipped(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// command runs a program, whose output is this one's.
func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

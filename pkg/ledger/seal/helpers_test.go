package seal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

const (
	tracePath = ".orchestration/agent_trace.jsonl"
	sealsPath = ".orchestration/seals"
)

// workspace has a ledger, and the directory of a user with a key.
type workspace struct {
	t    *testing.T
	dir  string
	user string
	root *os.Root
	key  *seal.Key
	at   time.Time
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir(), user: filepath.Join(t.TempDir(), "orchestra-mcp"), at: time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)}
	check.OK(t, os.Mkdir(w.path(".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(w.dir))(t)
	t.Cleanup(func() { root.Close() })
	w.root = root
	w.key = newKey(t, w.user, "alice")
	return w
}

// sealedWith is a workspace with records under a seal.
func sealedWith(t *testing.T, calls ...string) (*workspace, seal.Created) {
	t.Helper()
	w := newWorkspace(t)
	w.append(calls...)
	return w, w.seal()
}

func sealedOf(t *testing.T, calls ...string) *workspace {
	t.Helper()
	w, _ := sealedWith(t, calls...)
	return w
}

func newKey(t *testing.T, user, name string) *seal.Key {
	t.Helper()
	return check.Value(seal.CreateKey(user, name))(t)
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) read(name string) string {
	w.t.Helper()
	return string(check.Value(os.ReadFile(w.path(name)))(w.t))
}

func (w *workspace) write(name, content string) {
	w.t.Helper()
	check.Write(w.t, w.dir, name, content)
}

// append adds records to the ledger.
func (w *workspace) append(calls ...string) {
	w.t.Helper()
	l := check.Value(ledger.Open(w.root, ledger.Options{Durability: ledger.DurabilityOS}))(w.t)
	for _, call := range calls {
		check.Value(l.Append(context.Background(), record.Record{Kind: record.KindRead, Call: call}))(w.t)
	}
	check.OK(w.t, l.Close(context.Background()))
}

// seal seals a minute later than the time before.
func (w *workspace) seal() seal.Created {
	w.t.Helper()
	return w.sealBy(w.key)
}

func (w *workspace) sealBy(key *seal.Key) seal.Created {
	w.t.Helper()
	w.at = w.at.Add(time.Minute)
	return check.Value(seal.Create(context.Background(), w.root, key, seal.CreateOptions{Now: func() time.Time { return w.at }}))(w.t)
}

func (w *workspace) lines() []string {
	return strings.SplitAfter(strings.TrimSuffix(w.read(tracePath), "\n"), "\n")
}

// archived moves most lines into archives, the oldest first, and gives their paths.
func (w *workspace) archived() []string {
	w.t.Helper()
	l := check.Value(ledger.Open(w.root, ledger.Options{SegmentSize: int64(2*len(w.lines()[1]) + 10)}))(w.t)
	check.OK(w.t, l.Rotate(context.Background()))
	check.OK(w.t, l.Close(context.Background()))
	names := check.Value(filepath.Glob(w.path(".orchestration/archive/*")))(w.t)
	slices.SortStableFunc(names, func(a, b string) int { // of one millisecond their names say no order
		return strings.Compare(w.unpacked(b)[0][:10], w.unpacked(a)[0][:10]) // {"prev":[] before {"prev":["
	})
	check.Must(w.t, len(names) >= 2 && strings.Contains(strings.Join(w.unpacked(names[0]), ""), `"call":"two"`), "archives %v", names)
	return names
}

func (w *workspace) unpacked(name string) []string {
	w.t.Helper()
	file := check.Value(os.Open(name))(w.t)
	defer file.Close()
	text := check.Value(framed.NewStream(file))(w.t)
	all := check.Value(io.ReadAll(text))(w.t)
	return withEnds(strings.SplitAfter(strings.TrimSuffix(string(all), "\n"), "\n"))
}

// pack makes an archive as this program would.
func (w *workspace) pack(lines string) {
	w.t.Helper()
	var file bytes.Buffer
	to := check.Value(framed.NewWriter(&file))(w.t)
	check.Value(to.Write([]byte(strings.TrimSuffix(lines, "\n") + "\n")))(w.t)
	check.OK(w.t, to.Close())
	sum := sha256.Sum256(file.Bytes())
	w.write(".orchestration/archive/20260218T183000.000Z-"+hex.EncodeToString(sum[:])[:16]+".jsonl.zst", file.String())
}

// verify has the user's key among those it trusts.
func (w *workspace) verify() seal.Report {
	w.t.Helper()
	return w.verifyWith(seal.VerifyOptions{Trusted: []seal.PublicKey{w.key.Public()}})
}

func (w *workspace) verifyWith(opts seal.VerifyOptions) seal.Report {
	w.t.Helper()
	return check.Value(seal.Verify(context.Background(), w.root, opts))(w.t)
}

// recompute gives lines with the chain as it would be had they been written so: what an attacker without a key can do.
func recompute(lines []string) string {
	var text strings.Builder
	prev := ""
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		line = `{"prev":[` + prev + line[strings.Index(line, "]"):]
		sum := sha256.Sum256([]byte(line))
		prev = `"` + hex.EncodeToString(sum[:]) + `"`
		text.WriteString(line + "\n")
	}
	return text.String()
}

func kinds(problems []ledger.Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, string(p.Kind))
	}
	return fmt.Sprint(all)
}

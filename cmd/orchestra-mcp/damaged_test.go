package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// questionsAsked are all commands that read the ledger, with what each prints of the story's fifth record.
var questionsAsked = []struct {
	args string
	says string
	// meets is which lines that are no records it must report: all, those that do not even begin like one, or "" for
	// what it happens to meet.
	meets string
}{
	{"log -n 0", "apply_diff modified src/weather.ts +2 -2", "all"},
	{"log -n 3 --json", `"call":"undo"`, ""},
	{"show 5ea8f36c", "+export function weather(town: string) {", "garbage"},
	{"show --json 5ea8f36c", `"evidence":"proven-local"`, "garbage"},
	{"stats", "proven-local 1", "all"},
	{"stats --json", `"mutation_class": "AST_REFACTOR"`, "all"},
	{"blame src/weather.ts", "5ea8f36c INT-001 AST_REFACTOR", ""},
	{"why src/weather.ts:1", "intent    INT-001  Build Weather API", ""},
	{"verify", "records   ", "all"},
	{"export --agent-trace --strict -o -", `"id":"5ea8f36c-0000-4000-8000-000000000004"`, "all"},
}

// damage is something that happened to the ledger.
type damage struct {
	do func(t *testing.T, dir string)
	// report is what standard error, or verify's table, must name; line is where.
	report string
	line   int
	alike  bool // the line begins like a record
	code   int  // of questions
	verify int
}

const storyLedger = ".orchestration/agent_trace.jsonl"

func damages() map[string]damage {
	return map[string]damage{
		"nothing":        {func(*testing.T, string) {}, "", 0, false, exitDone, exitDone},
		"garbage":        {insert(3, "<<<<<<< HEAD"), "not a ledger record", 3, false, exitDone, exitFound},
		"32 MB line":     {insert(4, strings.Repeat("x", 32<<20)), "33554433 bytes", 4, false, exitDone, exitFound},
		"long record":    {insert(4, `{"prev":[],"id":"`+strings.Repeat("x", 20<<20)+`"}`), "bytes", 4, false, exitDone, exitFound},
		"duplicate keys": {follow(`"version":"0.1.0","id":"a","id":"b","timestamp":"2026-02-20T00:00:00Z","files":[]}`), "duplicate", 10, true, exitDone, exitFound},
		"invalid UTF-8":  {follow(`"version":"0.1.0","id":"` + "\xff\xfe" + `","timestamp":"2026-02-20T00:00:00Z","files":[]}`), "UTF-8", 10, true, exitDone, exitFound},
		"wrong types":    {follow(`"version":1,"id":[],"timestamp":{},"files":"none"}`), "not a ledger record", 10, true, exitDone, exitFound},
		"torn end":       {tear, "not a ledger record", 10, true, exitDone, exitFound},
		"blank lines":    {insert(2, "\n \n\t"), "", 0, false, exitDone, exitDone},
		"CRLF":           {convert, "", 0, false, exitDone, exitDone},
		// The records before the third are gone, as an archive that was deleted: the third follows what is not there.
		"missing segment": {cut(3), "", 0, false, exitDone, exitFound},
		// A part of the ledger that cannot be read leaves the answer incomplete, and that is a failure.
		"link":          {segmentIs(func(path string) error { return os.Symlink("/dev/null", path) }), "trace/x.jsonl: not a regular file", 0, false, exitFailed, exitFound},
		"directory":     {segmentIs(func(path string) error { return os.Mkdir(path, 0o755) }), "trace/x.jsonl: not a regular file", 0, false, exitFailed, exitFound},
		"dangling link": {segmentIs(func(path string) error { return os.Symlink("nowhere", path) }), "trace/x.jsonl: not a regular file", 0, false, exitFailed, exitFound},
		"read-only":     {readOnly, "", 0, false, exitDone, exitDone},
	}
}

func ledgerLines(dir string) []string {
	content, err := os.ReadFile(filepath.Join(dir, storyLedger))
	if err != nil {
		panic(err)
	}
	return strings.SplitAfter(string(content), "\n")
}

func rewrite(t *testing.T, dir string, lines []string) {
	t.Helper()
	check.OK(t, os.WriteFile(filepath.Join(dir, storyLedger), []byte(strings.Join(lines, "")), 0o644))
}

func insert(at int, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { rewrite(t, dir, slices.Insert(ledgerLines(dir), at-1, text+"\n")) }
}

// follow adds a line to the chain, as a hostile program could.
func follow(body string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		all := ledgerLines(dir)
		last := sha256.Sum256([]byte(strings.TrimSuffix(all[len(all)-2], "\n")))
		rewrite(t, dir, append(all, `{"prev":["`+hex.EncodeToString(last[:])+`"],`+body+"\n"))
	}
}

func tear(t *testing.T, dir string) {
	all := ledgerLines(dir)
	rewrite(t, dir, append(all, all[0][:100]))
}

func convert(t *testing.T, dir string) {
	rewrite(t, dir, []string{strings.ReplaceAll(strings.Join(ledgerLines(dir), ""), "\n", "\r\n")})
}

func cut(n int) func(*testing.T, string) {
	return func(t *testing.T, dir string) { rewrite(t, dir, ledgerLines(dir)[n-1:]) }
}

func segmentIs(create func(path string) error) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, ".orchestration/trace/x.jsonl")
		check.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), create(path)))
	}
}

func readOnly(t *testing.T, dir string) {
	for _, name := range []string{".orchestration", "."} {
		check.OK(t, os.Chmod(filepath.Join(dir, name), 0o555))
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, name), 0o755) })
	}
}

// TestDamagedLedgers asks every question of every damaged ledger: what can be read is answered, what cannot is reported
// with file and line, and nothing is changed. Without ORCHESTRA_LONG=1 it is verify and each fourth question.
func TestDamagedLedgers(t *testing.T) {
	home(t)
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			check.OK(t, tellStory(dir))
			d.do(t, dir)
			before := sha256.Sum256([]byte(strings.Join(ledgerLines(dir), "")))
			for i, q := range questionsAsked {
				if !check.Long() && q.args != "verify" && (i+len(name))%4 != 0 {
					continue
				}
				out, errs, code := run(t, dir, strings.Fields(q.args)...)
				want, report := d.code, errs
				if q.args == "verify" {
					want, report = d.verify, out
				}
				check.That(t, code == want, "%s: exit code %d, want %d\n%s", q.args, code, want, errs)
				check.That(t, strings.Contains(out, q.says), "%s does not answer with %q:\n%.2000s", q.args, q.says, out)
				place := "agent_trace.jsonl"
				if d.line > 0 {
					place = fmt.Sprintf("agent_trace.jsonl:%d", d.line)
				}
				meets := q.meets == "all" || q.meets == "garbage" && !d.alike
				if meets && d.report != "" && (!strings.Contains(report, strings.TrimPrefix(d.report, "trace/x.jsonl: ")) ||
					!strings.Contains(report, place) && !strings.Contains(report, "trace/x.jsonl")) {
					t.Errorf("%s reports\n%.2000s\nnot %s: %s", q.args, report, place, d.report)
				}
				check.That(t, d.report != "" || errs == "", "%s complains: %s", q.args, errs)
				check.That(t, len(out)+len(errs) <= 100_000, "%s prints %d bytes", q.args, len(out)+len(errs))
			}
			check.That(t, sha256.Sum256([]byte(strings.Join(ledgerLines(dir), ""))) == before, "a question changed the ledger")
		})
	}
}

// full is a disk without room for more than its first bytes.
type full struct {
	room int
	bytes.Buffer
}

func (f *full) Write(p []byte) (int, error) {
	if n := min(len(p), f.room); n < len(p) {
		f.room = 0
		f.Buffer.Write(p[:n])
		return n, &os.PathError{Op: "write", Path: "answer", Err: syscall.ENOSPC}
	}
	f.room -= len(p)
	return f.Buffer.Write(p)
}

// An answer that does not arrive is a failure; one that nobody wants to read on is not.
func TestAnswersThatDoNotArrive(t *testing.T) {
	dir := toldStory(t)
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	for _, q := range questionsAsked {
		for _, room := range []int{0, 10} {
			var errs bytes.Buffer
			code := execute(t.Context(), strings.Fields(q.args), streams{in: strings.NewReader(""), out: &full{room: room}, err: &errs}, env)
			check.That(t, code == exitFailed && strings.Contains(errs.String(), "no space left"),
				"%s on a full disk: exit code %d, %q", q.args, code, errs.String())
		}
		reader, writer := io.Pipe()
		reader.Close()
		var errs bytes.Buffer
		code := execute(t.Context(), strings.Fields(q.args), streams{in: strings.NewReader(""), out: writer, err: &errs}, env)
		check.That(t, code == exitDone && errs.Len() == 0, "%s to nobody: exit code %d, %q", q.args, code, errs.String())
	}
	checkLedger(t, dir)
}

// The file that an export would replace stays, whole, when the new one cannot be written.
func TestExportKeepsTheFileThatItCannotReplace(t *testing.T) {
	dir := toldStory(t)
	_, errs, code := run(t, dir, "export", "--agent-trace")
	check.Must(t, code == exitDone, "exit code %d: %s", code, errs)
	file := filepath.Join(dir, filepath.FromSlash(agentTraceFile))
	before := check.Value(os.ReadFile(file))(t)
	root := check.Value(os.OpenRoot(filepath.Dir(file)))(t)
	defer root.Close()
	place := exportPlace{root, filepath.Base(file), agentTraceFile}
	err := place.replace(func(w io.Writer) error {
		if _, err := w.Write([]byte("half of")); err != nil {
			return err
		}
		return syscall.ENOSPC
	})
	check.That(t, errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), "as it was before"), "a full disk gives %v", err)
	segmentIs(func(path string) error { return os.Mkdir(path, 0o755) })(t, dir)
	_, errs, code = run(t, dir, "export", "--agent-trace")
	check.That(t, code == exitFailed && strings.Contains(errs, "could not be read"), "an export of a part: exit code %d, %s", code, errs)
	entries, err := os.ReadDir(filepath.Dir(file))
	after, _ := os.ReadFile(file)
	check.That(t, err == nil && bytes.Equal(after, before) && len(entries) == 1,
		"the file has %d bytes, had %d; beside it are %v", len(after), len(before), entries)
}

// TestHostileText puts what could act on a terminal into every field that an agent or a foreign line can set.
func TestHostileText(t *testing.T) {
	dir := toldStory(t)
	const acts = "x\x1b[2J\x1b]0;t\x07\r\n\u009b2J\u202eevil\u2066\u200b\U000e0041 2026-02-20 00:00:00 INT-001 forged"
	hostile := acts + strings.Repeat("long", check.Rounds(5_000, 50_000))
	path := "src/" + strings.ReplaceAll(acts, "/", "") + strings.Repeat("p", 5000)
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l, err := ledger.Open(root, ledger.Options{Version: hostile, Revision: func() string { return hostile }, NewID: func() string { return "hostile0" + hostile }})
	check.OK(t, err)
	_, err = l.Append(t.Context(), record.Record{
		Kind: record.KindCommand, IntentID: hostile, MutationClass: hostile, Call: hostile, Session: storySession,
		Class:       &record.Class{Declared: hostile + "d", Computed: hostile, Evidence: hostile},
		Contributor: record.Contributor{Type: "ai", ModelID: hostile}, Client: record.Client{Name: hostile, Version: hostile},
		Changes: []record.Change{
			{
				Change: change.Change{
					Op: change.Moved, Path: path, From: path + "2", Before: change.Version{OID: hostile}, After: change.Version{OID: hostile}, Hunks: [][4]int{{-1, -5, 1 << 60, 1 << 60}},
				},
			},
			{
				Change: change.Change{
					Op: change.Modified, Path: "src/weather.ts", Before: change.Version{Hash: contentHash("x")}, After: change.Version{Hash: contentHash("y")}, Hunks: [][4]int{{1, 1, 1, 1}},
				},
			},
		},
		Decision: &record.Decision{Outcome: "refused", ErrorType: hostile, Hook: hostile, Reason: hostile, Also: []string{hostile}, Allowed: []string{hostile},
			Approval: hostile, Paths: []string{hostile, path}, Principal: hostile},
		Command:    &record.Command{Command: hostile, Cwd: hostile, OutputHash: hostile, Artifact: hostile, Sandbox: hostile},
		Violations: []record.Violation{{Path: path, Op: change.Op(hostile), Reason: hostile}},
		Detail:     map[string]any{hostile: hostile, "undoes": []any{hostile, storyID(5)}, "nested": map[string]any{hostile: []any{hostile}}},
	})
	check.OK(t, err)
	check.OK(t, l.Close(t.Context()))
	found, _, _ := run(t, dir, "verify", "--json")
	_, head, _ := strings.Cut(found, `"heads": [`)
	hash := strings.Trim(strings.TrimSpace(head[:80]), `" ,`)
	insert(2, hostile)(t, dir)
	insert(2, `{"of":"`+"\u202e"+`","id":"`+"\u202e"+`","files":[{"path":"`+"\u009b"+`"}]}`)(t, dir)
	for _, args := range []string{
		"log", "log --json", "show --no-diff " + hash, "show --json " + hash[:12], "show 6f714b08", "stats", "stats --json", "stats --top 0", "verify",
		"blame src/weather.ts", "why src/weather.ts:1", "export --agent-trace -o -", "export --agent-trace --strict -o -", "log --intent " + acts, "show " + acts,
		"log --since " + acts, "log --path " + acts,
	} {
		out, errs, _ := run(t, dir, strings.SplitN(args, " ", 3)...)
		for _, r := range out + errs {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%.60q lets %U through", args, r)
				break
			}
		}
		check.That(t, out != "" || errs != "", "%.60q says nothing", args)
		for line := range strings.Lines(out + errs) {
			isJSON := strings.Contains(args, "json") || strings.Contains(args, "export")
			check.That(t, isJSON || len(line) <= 10_000 && !strings.HasPrefix(line, "2026-02-20 00:00:00"),
				"%.60q prints a line of %d bytes: %.100s", args, len(line), line)
		}
	}
}

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

func TestNothingIsTouchedBeforeTheFirstNeed(t *testing.T) {
	b := newBench(t)
	s := b.open()
	wantError(t, s, chat, "", "", session.ErrNone)
	wantError(t, s, chat, "ses_"+strings.Repeat("a", 32), "", session.ErrExpired)
	saw(s.Observers(chat, ""), "a.go", hash(1), 1, 1, 1)
	s.EndIntent("INT-1")
	s.Disconnect("conn-1")
	s.Close()
	_, err := os.Stat(filepath.Join(b.dir, ".orchestration", "state"))
	check.Must(t, err != nil, "state/ was made for nothing")
}

func TestStateStaysInMemoryWhereThereIsNoGovernanceDirectory(t *testing.T) {
	b := newBench(t)
	governance := filepath.Join(b.dir, ".orchestration")
	check.OK(t, os.Remove(governance))
	s := b.open()
	sess, handle := mustSelect(t, s, chat, "", "INT-1")
	sess.Wrote("a.go", hash(1))
	check.OK(t, s.Flush())
	mustResolve(t, s, modern, handle, "")
	entries, _ := os.ReadDir(b.dir)
	check.Must(t, len(entries) == 0, "made %v", entries)
	if err := os.Mkdir(governance, 0o755); err != nil { // somebody runs init
		t.Fatal(err)
	}
	b.pass(session.RenewEvery)
	mustResolve(t, s, modern, handle, "")
	check.Must(t, mustResolve(t, b.open(), modern, handle, "").PublicID() == sess.PublicID(), "not saved once there was a place for it")
}

func TestStateGivesNoHandleAway(t *testing.T) {
	b := newBench(t)
	s := b.open()
	caller := session.Caller{Connection: "c", Principal: "token-of-alice"}
	sess, handle := mustSelect(t, s, caller, "", "INT-1")
	sess.Saw("a.go", hash(1), 3, 1, 3)
	check.OK(t, s.Close())
	names := b.files()
	check.Must(t, slices.Equal(names, []string{session.FileOf(handle), session.ViewsFileOf(handle)}), "files: %v", names)
	for _, name := range names {
		data := check.Value(os.ReadFile(b.path(name)))(t)
		for _, secret := range []string{handle, strings.TrimPrefix(handle, "ses_"), caller.Principal} {
			check.Must(t, !strings.Contains(name+string(data), secret), "%s gives %s away", name, secret)
		}
		if info, _ := os.Stat(b.path(name)); info.Mode().Perm() != 0o600 {
			t.Fatalf("%s has mode %v", name, info.Mode())
		}
	}
	if info, _ := os.Stat(b.path("")); info.Mode().Perm() != 0o700 {
		t.Fatalf("the directory has mode %v", info.Mode())
	}
}

func TestWhatWasSeenIsSavedInTheBackgroundAndOnClose(t *testing.T) {
	b := newBench(t)
	s := b.open()
	sess, handle := mustSelect(t, s, modern, "", "INT-1")
	sess.Saw("a.go", hash(1), 9, 1, 4)
	// The file of a save that is not done yet does not count.
	saved := func(name string) bool { return strings.HasSuffix(name, ".seen.json") }
	for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(b.files(), saved); time.Sleep(5 * time.Millisecond) {
		check.Must(t, !time.Now().After(deadline), "nothing is saved in the background")
	}
	wantSeen(t, mustResolve(t, b.open(), modern, handle, ""), "a.go", "1 whole=false [[1 4]]/9")
	sess.Wrote("b.go", hash(2))
	check.OK(t, s.Close())
	wantSeen(t, mustResolve(t, b.open(), modern, handle, ""), "b.go", "2 whole=true []/0")
}

func TestTwoServersSeeEachOthersSelection(t *testing.T) {
	b := newBench(t)
	one, two := b.open(), b.open()
	mine, handle := mustSelect(t, one, modern, "", "INT-1")
	mustResolve(t, two, modern, handle, "INT-1")
	for i := range 20 {
		intentID := fmt.Sprint("INT-", i)
		mustSelect(t, []*session.Store{one, two}[i%2], modern, handle, intentID)
		for _, s := range []*session.Store{one, two} {
			got := mustResolve(t, s, modern, handle, "").IntentID()
			check.Must(t, got == intentID, "selection %d: %s", i, got)
		}
		b.pass(session.RenewEvery) // renewing must not bring an old selection back
	}
	check.Must(t, mine.IntentID() == "INT-19", "the session that is held has not followed")
}

func TestRenewingInOneServerKeepsTheHandleAliveInTheOther(t *testing.T) {
	b := newBench(t)
	one, two := b.open(), b.open()
	_, handle := mustSelect(t, one, modern, "", "INT-1")
	mustResolve(t, two, modern, handle, "")
	b.pass(20 * time.Hour)
	mustResolve(t, one, modern, handle, "")
	b.pass(20 * time.Hour)
	mustResolve(t, two, modern, handle, "")
}

func TestAUseIsNotedOnDiskAtMostOnceAMinute(t *testing.T) {
	b := newBench(t)
	s := b.open()
	_, handle := mustSelect(t, s, modern, "", "INT-1")
	noted := func() time.Time {
		info := check.Value(os.Stat(b.path(session.FileOf(handle))))(t)
		return info.ModTime()
	}
	before := noted()
	for range 10 {
		b.pass(time.Second)
		mustResolve(t, s, modern, handle, "")
	}
	check.Must(t, noted().Equal(before), "noted within the minute")
	b.pass(session.RenewEvery)
	mustResolve(t, s, modern, handle, "")
	check.Must(t, noted().After(before), "not noted after a minute")
}

func TestTwoServersMergeWhatWasSeen(t *testing.T) {
	b := newBench(t)
	one, two := b.open(), b.open()
	first, handle := mustSelect(t, one, modern, "", "INT-1")
	second := mustResolve(t, two, modern, handle, "")
	first.Saw("same.go", hash(1), 10, 1, 5)
	second.Saw("same.go", hash(1), 10, 6, 10)
	first.Saw("newer.go", hash(1), 4, 1, 4)
	second.Saw("newer.go", hash(2), 4, 1, 2)
	first.Saw("mine.go", hash(1), 1, 1, 1)
	for _, s := range []*session.Store{one, two, one} {
		check.OK(t, s.Flush())
	}
	for i, s := range []*session.Store{one, two, b.open()} {
		sess := mustResolve(t, s, modern, handle, "")
		t.Log("server", i)
		wantSeen(t, sess, "same.go", "1 whole=true [[1 10]]/10")
		wantSeen(t, sess, "newer.go", "2 whole=false [[1 2]]/4") // the later one, never both as one
		wantSeen(t, sess, "mine.go", "1 whole=true [[1 1]]/1")
	}
}

func TestASelectionThatCannotBeSavedIsNotMade(t *testing.T) {
	for name, spoil := range map[string]func(*bench){
		"state is a file": func(b *bench) { b.replaceState(func(p string) error { return os.WriteFile(p, nil, 0o600) }) },
		"state is a link out": func(b *bench) {
			b.replaceState(func(p string) error { return os.Symlink(b.t.TempDir(), p) })
		},
		"state is a link into the workspace": func(b *bench) {
			b.replaceState(func(p string) error {
				return errors.Join(os.Mkdir(filepath.Join(b.dir, "src"), 0o755), os.Symlink("../src", p))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.open()
			sess, handle := mustSelect(t, s, chat, "", "INT-1")
			spoil(b)
			if _, _, err := s.Select(context.Background(), chat, handle, "INT-2", ""); !errors.Is(err, session.ErrExpired) {
				t.Fatalf("a session whose state cannot be read: %v", err)
			}
			if _, _, err := s.Select(context.Background(), chat, "", "INT-2", ""); !errors.Is(err, session.ErrNotSaved) {
				t.Fatalf("a new session: %v", err)
			}
			wantError(t, s, chat, "", "", session.ErrNone)
			check.Must(t, sess.IntentID() == "INT-1", "selected all the same")
			entries, _ := os.ReadDir(filepath.Join(b.dir, "src"))
			check.Must(t, len(entries) == 0, "state in the workspace: %v", entries)
		})
	}
}

func (b *bench) replaceState(with func(path string) error) {
	state := filepath.Join(b.dir, ".orchestration", "state")
	check.OK(b.t, errors.Join(os.RemoveAll(state), with(state)))
}

func TestStateThatIsClearedIsSavedAgain(t *testing.T) {
	b := newBench(t)
	s := b.open()
	_, handle := mustSelect(t, s, chat, "", "INT-1")
	b.replaceState(func(string) error { return nil })
	mustResolve(t, s, chat, handle, "")
	b.pass(session.RenewEvery)
	mustResolve(t, s, chat, handle, "")
	mustResolve(t, b.open(), chat, handle, "")
}

func TestACorruptStateFileIsAnExpiredHandle(t *testing.T) {
	good := `{"version":1,"public_id":"0b8d6d3c-6b7e-4a53-9a0e-0e6c5a2e9a11","intent_id":"INT-9","started_at":"2026-01-01T00:00:00Z"}`
	for name, content := range map[string]string{
		"empty": "", "not JSON": "\x00\xff", "cut": good[:40], "a list": "[]", "null": "null",
		"another version": strings.Replace(good, `"version":1`, `"version":2`, 1),
		"no intent":       strings.Replace(good, "INT-9", "", 1),
		"no public id":    strings.Replace(good, "0b8d6d3c-6b7e-4a53-9a0e-0e6c5a2e9a11", "00000000-0000-0000-0000-000000000000", 1),
		"wrong type":      strings.Replace(good, `"INT-9"`, "9", 1),
		"another session": good,
		"too large":       strings.Repeat(" ", 1<<17) + good,
		"deep":            strings.Repeat("[", 60_000),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var log bytes.Buffer // nothing runs in the background that has something to say
			running := b.logTo(&log)
			_, handle := mustSelect(t, running, chat, "", "INT-1")
			b.write(session.FileOf(handle), content)
			wantError(t, running, chat, handle, "", session.ErrExpired)
			check.Must(t, strings.Contains(log.String(), "cannot be read") && !strings.Contains(log.String(), handle), "logged %q", log.String())
			if content != good {
				wantError(t, running, chat, "", "", session.ErrNone)
				wantError(t, b.open(), chat, handle, "", session.ErrExpired)
			}
		})
	}
}

// write puts a file where one stands, as another process would.
func (b *bench) write(name, content string) {
	temporary := b.path("other")
	check.OK(b.t, errors.Join(os.WriteFile(temporary, []byte(content), 0o600), os.Rename(temporary, b.path(name))))
}

func TestCorruptViewsCountAsNotSeen(t *testing.T) {
	entry := fmt.Sprintf(`{"path":"a.go","hash":"%s","total":3,"lines":[[1,3]],"at":1}`, hash(1))
	file := func(entry string) string { return `{"version":1,"files":[` + entry + `]}` }
	for name, c := range map[string]struct{ content, want string }{
		"as written":    {file(entry), "1 whole=true [[1 3]]/3"},
		"not JSON":      {"{", "unseen"},
		"version":       {`{"version":2,"files":[` + entry + `]}`, "unseen"},
		"hash":          {file(strings.Replace(entry, "sha256:", "", 1)), "unseen"},
		"beyond":        {file(strings.Replace(entry, "[1,3]", "[1,4]", 1)), "unseen"},
		"before":        {file(strings.Replace(entry, "[1,3]", "[0,3]", 1)), "unseen"},
		"backwards":     {file(strings.Replace(entry, "[1,3]", "[3,1]", 1)), "unseen"},
		"negative":      {file(strings.Replace(entry, `"total":3`, `"total":-3`, 1)), "unseen"},
		"time":          {file(strings.Replace(entry, `"at":1`, `"at":9223372036854775807`, 1)), "unseen"},
		"one of two":    {`{"version":1,"files":[{"path":""},` + entry + `]}`, "1 whole=true [[1 3]]/3"},
		"many ranges":   {file(strings.Replace(entry, "[1,3]", strings.TrimSuffix(strings.Repeat("[1,3],", session.MaxRanges+1), ","), 1)), "unseen"},
		"another shape": {`{"version":1,"files":{"a.go":true}}`, "unseen"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			_, handle := mustSelect(t, b.open(), chat, "", "INT-1")
			b.write(session.ViewsFileOf(handle), c.content)
			sess := mustResolve(t, b.open(), chat, handle, "")
			wantSeen(t, sess, "a.go", c.want)
			sess.Saw("a.go", hash(1), 3, 1, 3) // and the session goes on
			wantSeen(t, sess, "a.go", "1 whole=true [[1 3]]/3")
		})
	}
}

func TestANilViewsHasSeenNothing(t *testing.T) {
	var v *session.Views
	v.Saw("a.go", hash(1), 1, 1, 1)
	v.Wrote("a.go", hash(1))
	v.Forgot("a.go")
	wantSeen(t, v, "a.go", "unseen")
}

func TestWhatIsNotAViewIsNotRemembered(t *testing.T) {
	sess, _ := mustSelect(t, memoryStore(t), chat, "", "INT-1")
	for _, wrong := range []string{"", "sha256:", "md5:" + hash(1)[7:], hash(1)[:70], hash(1) + "0", "sha256:" + "G" + hash(1)[8:]} {
		sess.Saw("a.go", wrong, 3, 1, 3)
		wantSeen(t, sess, "a.go", "unseen")
	}
	sess.Saw("a.go", hash(1), -1, 1, 3)
	wantSeen(t, sess, "a.go", "unseen")
	sess.Wrote("a.go", hash(1))
	sess.Wrote("a.go", "no hash") // the write happened, what it left is not known
	wantSeen(t, sess, "a.go", "unseen")
}

func TestTheLongestUnseenFilesAreForgottenFirst(t *testing.T) {
	sess, _ := mustSelect(t, memoryStore(t), chat, "", "INT-1")
	for i := range session.MaxSeenFiles + 1 {
		sess.Saw("kept.go", hash(1), 1, 1, 1)
		sess.Wrote(fmt.Sprint("f", i), hash(i))
	}
	wantSeen(t, sess, "kept.go", "1 whole=true [[1 1]]/1")
	wantSeen(t, sess, "f0", "unseen")
	_, ok := sess.Seen(fmt.Sprint("f", session.MaxSeenFiles))
	check.Must(t, ok, "the latest is forgotten")
}

func TestRangesAreTheLinesThatWereDelivered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const total = 60
		var delivered [total + 2]bool
		var lines [][2]int
		for range 20 {
			from := r.IntN(total) + 1
			to := min(total, from+r.IntN(8))
			handedOut, before := lines, slices.Clone(lines)
			if lines = session.AddLines(lines, from, to); !slices.Equal(handedOut, before) {
				t.Fatalf("what was handed out changed from %v to %v", before, handedOut)
			}
			for i := from; i <= to; i++ {
				delivered[i] = true
			}
			want := rangesOf(delivered[:])
			check.Must(t, slices.Equal(lines, want), "got %v, want %v", lines, want)
		}
	}
}

func rangesOf(delivered []bool) [][2]int {
	var ranges [][2]int
	for i := 1; i < len(delivered)-1; i++ {
		switch {
		case !delivered[i]:
		case delivered[i-1]:
			ranges[len(ranges)-1][1] = i
		default:
			ranges = append(ranges, [2]int{i, i})
		}
	}
	return ranges
}

func TestRangesThatDoNotFitAreNotCountedAsSeen(t *testing.T) {
	var lines [][2]int
	for i := range 2 * session.MaxRanges {
		lines = session.AddLines(lines, 3*i+1, 3*i+1)
	}
	if len(lines) != session.MaxRanges || lines[len(lines)-1][1] != 3*(session.MaxRanges-1)+1 {
		t.Fatalf("%d ranges, last %v", len(lines), lines[len(lines)-1])
	}
}

func FuzzStateFiles(f *testing.F) {
	f.Add([]byte(`{"version":1,"public_id":"0b8d6d3c-6b7e-4a53-9a0e-0e6c5a2e9a11","intent_id":"INT-9","started_at":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"version":1,"files":[{"path":"a","hash":"` + hash(1) + `","total":9,"lines":[[1,2],[4,9]],"at":7}]}`))
	f.Add([]byte(`{"version":1,"files":[{"path":"a","hash":"` + hash(1) + `","whole":true,"at":7},{"path":"a"}]}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, again := range map[string]func([]byte) ([]byte, error){
			"selection": session.ReencodeSelection, "views": session.ReencodeViews,
		} {
			once, err := again(data)
			if err != nil {
				continue
			}
			twice, err := again(once)
			check.Must(t, err == nil && sameJSON(once, twice), "%s: %s, then %s, %v", name, once, twice, err)
		}
	})
}

// sameJSON compares without the order of files, which means nothing.
func sameJSON(a, b []byte) bool {
	var x, y struct{ Files []json.RawMessage }
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || len(x.Files) != len(y.Files) {
		return false
	}
	return len(x.Files) > 1 || string(a) == string(b)
}

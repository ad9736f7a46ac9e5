package session_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

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

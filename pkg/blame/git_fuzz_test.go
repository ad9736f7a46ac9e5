package blame_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
)

const commitID = "3f2504e04f8911d39a0c0305e82c3301aabbccdd"

func FuzzPorcelain(f *testing.F) {
	head := commitID + " 7 1 1\nauthor A \xff\u202e\nauthor-mail <a@b>\ncommitter-time 1700000000\nsummary s\n"
	f.Add("", head+"filename src/a.go\n\tcode\n")
	f.Add("sub/", head+"filename \"sub/a\\t\\303\\244\\\"\"\n\t\tcode\n"+commitID+" 8 2\n\t\n")
	f.Add("sub/", head+"previous "+commitID+" x\nboundary\nfilename other\n\t\n")
	f.Add("", head+"filename \"unfinished\n\tx\n")
	f.Add("", commitID+" 99999999999999999999 1\n\tx\n")
	f.Add("", commitID+" -1 0\n\tx\n")
	f.Add("", "\tx\n")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, prefix, out string) {
		lines, err := blame.ParsePorcelain(prefix, []byte(out))
		if err != nil {
			return
		}
		for at, c := range lines {
			check.That(t, at >= 0 && c.Line >= 1, "line %d is from line %d", at, c.Line)
			if !strings.Contains(out, c.ID) || !strings.Contains(out, c.Author) || !strings.Contains(out, c.Summary) {
				t.Errorf("%+v is made up", c)
			}
		}
		n := strings.Count("\n"+out, "\n\t")
		check.That(t, len(lines) <= n, "%d lines from %d", len(lines), n)
	})
}

func TestPorcelain(t *testing.T) {
	out := commitID + " 7 1 2\nauthor Zo\xeb\ncommitter-time 1700000000\nsummary one\nfilename \"sub/a\\303\\244\\tb\"\n\tx\n" + commitID + " 8 2\n\ty\n"
	lines := check.Value(blame.ParsePorcelain("sub/", []byte(out)))(t)
	want := map[int]int{0: 7, 1: 8}
	for at, c := range lines {
		check.That(t, c.Path == "aä\tb" && c.Line == want[at] && c.Author == "Zo\xeb" && c.Time.Unix() == 1700000000, "line %d: %+v", at, c)
	}
	check.That(t, len(lines) == 2, "%d lines", len(lines))
	for _, bad := range []string{"\tx\n", "what\n", commitID + " 0 1\n", commitID + " 1 1\ncommitter-time x\n"} {
		_, err := blame.ParsePorcelain("", []byte(bad))
		check.That(t, err != nil, "%q was read", bad)
	}
}

package edit_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// What read_file shows is copied back in every way, over lines that look like
// numbered ones. The result is right or there is none.
func TestNumbersRepairIsRightOrRefused(t *testing.T) {
	lines := []string{"", "x", "end", "type T =", "  | 'a'", "  | 'b'", "| A -> 1", "1 | apple", "2 | pear", "12 | 34", "|---|", "| |", "a || b", "|  3 |", "\t| sort", "flags = 1 | 2"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return lines[random.IntN(len(lines))] }
	wrong, refused, all := 0, 0, 5000
	for range all {
		file := make([]string, 4+random.IntN(10))
		for i := range file {
			file[i] = pick()
		}
		from := random.IntN(len(file))
		to := min(len(file), from+1+random.IntN(4))
		changed := slices.Clone(file[from:to])
		switch at := random.IntN(len(changed)); random.IntN(3) {
		case 0:
			changed[at] = pick()
		case 1:
			changed = slices.Insert(changed, at, pick())
		default:
			changed = slices.Delete(changed, at, at+1)
		}
		if len(changed) == 1 && changed[0] == "" {
			changed = nil // a part of one empty line is an empty part
		}
		search, replacement := edit.Numbered(file[from:to], from+1), strings.Join(changed, "\n")
		if random.IntN(2) == 0 && len(changed) > 0 {
			replacement = strings.TrimSuffix(edit.Numbered(changed, from+1), "\n")
		} else if strings.HasPrefix(strings.TrimSpace(replacement), strconv.Itoa(from+1)+" |") {
			continue // nobody can tell that from a line number
		}
		want := strings.Join(slices.Concat(file[:from], changed, file[to:]), "\n") + "\n"
		if len(file) == to-from && len(changed) == 0 {
			want = ""
		}
		original := strings.Join(file, "\n") + "\n"
		got, err := edit.ApplyDiff(original, block(strings.TrimSuffix(search, "\n"), replacement), edit.Options{})
		switch {
		case err != nil:
			refused++
		case got.Text != want:
			wrong++
			t.Logf("%q by\n%s---\n%s\ngives %q", original, search, replacement, got.Text)
		}
	}
	check.That(t, wrong <= 0 && refused <= all/4, "%d wrong, %d refused of %d", wrong, refused, all)
}

package treesitter_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// TestNothingOfOneTextIsLeft: memory that is used again is as good as new, also
// after a parser that was stopped in the middle, and for another language.
func TestNothingOfOneTextIsLeft(t *testing.T) {
	text := []byte("class A:\n  def b(self, *c): return f'{c}'\n")
	var fresh, used treesitter.Parsers
	defer fresh.Release()
	defer used.Release()
	for _, language := range []string{"python", "javascript"} { // so that the time below is not that of loading
		check.OK(t, used.Prepare(context.Background(), language))
	}
	want := check.Value(fresh.Parse(context.Background(), "python", text))(t)
	long := []byte(strings.Repeat("a = [b(c) for c in d if e]\n", 60000))
	for range 2 {
		soon, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if _, err := used.Parse(soon, "python", long); !errors.Is(err, treesitter.ErrTime) {
			t.Errorf("a long text: %v", err)
		}
		cancel()
		if _, err := used.Parse(context.Background(), "javascript", []byte("`${{[(`")); err != nil {
			t.Error(err)
		}
		got := check.Value(used.Parse(context.Background(), "python", text))(t)
		check.That(t, reflect.DeepEqual(got.Nodes, want.Nodes), "%v, and in new memory %v", got.Nodes, want.Nodes)
	}
}

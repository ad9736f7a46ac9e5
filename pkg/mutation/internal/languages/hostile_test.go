package languages_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestHostile: whatever the texts are, the judge returns, in time, and does not
// call a change of what it cannot read a refactor.
func TestHostile(t *testing.T) {
	texts := map[string]string{
		"nothing": "", "a fault": "x = (", "brackets": strings.Repeat("(", 100_000), "pairs": strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"zero bytes": strings.Repeat("\x00", 1_000), "bad UTF-8": strings.Repeat("a\xff ", 1_000), "large": strings.Repeat("x = 1\n", 400_000),
		"a mark": "\ufeffx = 1\n",
	}
	for _, language := range []string{"python", "javascript", "rust"} {
		languages.Prepare(t.Context(), language)
		for name, text := range texts {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			v := languages.Judge(language)(ctx, []verdict.File{{Path: "file", Before: []byte("x = 1\n"), After: []byte(text)}}, limits())
			cancel()
			if v.Evidence != verdict.Unproven || v.Reason == "" {
				t.Errorf("%s, %s: %s: %s", language, name, v.Evidence, v.Reason)
			}
		}
	}
	deep := "x = " + strings.Repeat("(", 3_000) + "1" + strings.Repeat(")", 3_000) + "\n"
	if v := judge(t, "javascript", deep, deep+"\n"); v.Evidence != verdict.Unproven {
		t.Errorf("a deep text: %s: %s", v.Evidence, v.Reason)
	}
}

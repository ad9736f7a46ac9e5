package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// BenchmarkSearch looks for two names that no file has, in files of 4 KiB.
func BenchmarkSearch(b *testing.B) {
	line := "func other(ctx context.Context, name string) (found []string, err error) {\n"
	content := []byte(strings.Repeat(line, 4096/len(line)))
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			dir := b.TempDir()
			for i := range files {
				path := filepath.Join(dir, "src", fmt.Sprint(i/100), fmt.Sprintf("file%d.go", i))
				must(b, os.MkdirAll(filepath.Dir(path), 0o755))
				must(b, os.WriteFile(path, content, 0o644))
			}
			put(b, filepath.Join(dir, ".gitignore"), "node_modules/\n*.o\n/dist\n")
			around := openAt(b, dir).OtherFiles(nil)
			words := mutation.NewWords([]string{"parseNumber", "toNumber"})
			for b.Loop() {
				found, err := around.Mention(context.Background(), words, func(string) bool { return false })
				check.Must(b, found == nil && err == nil, "%v %v", found, err)
			}
			b.SetBytes(int64(files * len(content)))
		})
	}
}

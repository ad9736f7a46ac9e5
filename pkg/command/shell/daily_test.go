package shell_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Lines of daily work are judged: where a rule denies something else, nobody is
// asked about them. Each that is not has its reason beside it.
func TestDailyLines(t *testing.T) {
	known := map[string]bool{
		// Without declare -A, which may not have run, the text of k is evaluated.
		`declare -A m=([a]=1 [b]=2); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done`: true,
	}
	for _, line := range daily() {
		r := shell.Read(line, shell.Bash)
		check.That(t, len(r.Unjudged) == 0 || known[line], "%q is unjudged: %q", line, r.Unjudged)
	}
	n := len(daily())
	check.That(t, n >= 150, "only %d lines", n)
}

func daily() []string {
	return append(strings.Split(strings.TrimSpace(dailyLines), "\n"), dailyTexts...)
}

//go:embed testdata/daily.txt
var dailyLines string

var dailyTexts = []string{
	"cat > src/a.txt <<'EOF'\nif x { $(y) }\nEOF",
	"cat <<EOF > src/b.txt\nhello $USER\nEOF",
	"python3 - <<'EOF'\nimport os\nprint(os.getcwd())\nEOF",
	"git commit -F - <<'EOF'\nsubject\n\nbody with `code` and $(x)\nEOF",
	"git commit -m \"$(cat <<'EOF'\nsubject\n\nbody\nEOF\n)\"",
	"for t in a b; do\n  echo \"== $t\"\n  go test -run \"$t\" ./... || exit 1\ndone",
	"awk '\nBEGIN { n = 0 }\n/func / { n++ }\nEND { print n }\n' main.go",
	"jq -n --arg v \"$v\" '{v: $v}' > out.json",
	"if [ -d build ]; then\n  rm -rf build\nfi\nmkdir build && cd build && cmake .. && make -j4",
	"bash -lc 'nvm use && npm test'",
	"while true; do curl -sf localhost:3000 && break; sleep 1; done",
	"until nc -z localhost 5432; do sleep 1; done",
	"select_x=1; [ \"$select_x\" -eq 1 ] && echo one",
	"# build it\ngo build ./... # all of it\ngo test ./...",
	"go test ./... \\\n  -run TestX \\\n  -count=1",
}

package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestPortableWorkflow: nobody sees .github/workflows/portable.yml run where this is tested. So the packages that it names exist and
// have tests that build for its systems, and the tests that it picks are there.
func TestPortableWorkflow(t *testing.T) {
	root := moduleRoot(t)
	text, err := os.ReadFile(filepath.Join(root, ".github/workflows/portable.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Env  map[string]string
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for name, value := range workflow.Env {
		if lists[name] = strings.Fields(value); len(lists[name]) > 1 && slices.ContainsFunc(lists[name], func(p string) bool { return !tested(root, p) }) {
			t.Errorf("%s: not all of these have tests: %q", name, value)
		}
	}
	steps := 0
	for system, job := range workflow.Jobs {
		for _, step := range job.Steps {
			for _, use := range regexp.MustCompile(`\$([A-Z]+)\b`).FindAllStringSubmatch(step.Run, -1) {
				if strings.Contains(step.Run, "go test") && use[1] != "TMPDIR" && len(lists[use[1]]) == 0 {
					t.Errorf("%s: %s is no list", system, use[0])
				}
				steps++
			}
			if picked := regexp.MustCompile(`-run '([^']+)' (\S+)`).FindStringSubmatch(step.Run); picked != nil {
				steps++
				for _, name := range strings.Split(picked[1], "|") {
					if !declares(t, filepath.Join(root, picked[2]), "Test"+name, system == "macos") {
						t.Errorf("%s: no test of %s begins with Test%s", system, picked[2], name)
					}
				}
			}
		}
	}
	if steps < 4 || len(lists["COMPUTES"]) < 10 || len(lists["UNIX"]) < 5 {
		t.Errorf("the workflow was not read: %d steps, %v", steps, lists)
	}
}

// tested reports whether a pattern of packages names some with tests that are not for Linux alone.
func tested(root, pattern string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	globs := []string{filepath.Join(root, dir, "*_test.go")}
	if below {
		globs = append(globs, filepath.Join(root, dir, "*", "*_test.go"))
	}
	for _, glob := range globs {
		files, _ := filepath.Glob(glob)
		if slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_linux_test.go") }) {
			return strings.HasPrefix(pattern, "./")
		}
	}
	return false
}

// declares reports whether a package has a test whose name begins so, for macOS or for all systems.
func declares(t *testing.T, dir, prefix string, darwin bool) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.HasSuffix(name, "_linux_test.go") && (darwin || !strings.HasSuffix(name, "_darwin_test.go")) &&
			strings.Contains(string(content), "\nfunc "+prefix)
	})
}

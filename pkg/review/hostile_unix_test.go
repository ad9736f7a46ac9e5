//go:build !windows

package review_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// A whole report over hostile names in a real repository, in every format.
func TestHostileRepository(t *testing.T) {
	r := newWork(t)
	name := "src/a:|`@x<b>\x1b[2J\u202e.txt"
	r.traced("INT-002", "src/@octocat|`x`.txt", "x\n")
	r.write(name, "by hand\n")
	r.commit("hostile")
	report := r.review(review.Options{})
	var out bytes.Buffer
	check.OK(t, report.WriteSARIF(&out, ""))
	checkSARIF(t, out.Bytes())
	harmless(t, out.String())
	out.Reset()
	check.OK(t, report.WriteMarkdown(&out, ""))
	harmless(t, out.String())
	for line := range strings.Lines(out.String()) {
		check.That(t, !strings.ContainsAny(ours.ReplaceAllString(strings.TrimSuffix(outsideCode(t, line), "\n"), ""), "@<"), "%q", line)
	}
	out.Reset()
	check.OK(t, report.WriteJUnit(&out))
	harmless(t, out.String())
}

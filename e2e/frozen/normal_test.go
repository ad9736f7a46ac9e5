//go:build frozen

package frozen_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// form is something that is different in each run. What its group matches, or the whole, becomes <kind>, or <kind-N>
// with the same N for the same value.
type form struct {
	kind     string
	numbered bool
	pattern  *regexp.Regexp
}

// forms are all of them, in the order in which they are looked for. Hashes of contents are not among them: contents are
// the same in each run.
var forms = []form{
	{"uuid", true, regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	{"id", true, regexp.MustCompile(`(?:ses|apr|grt|out|cmd|bg)_[a-z2-7]{20,}`)},
	{"hash", true, regexp.MustCompile(`(?:^|[^:0-9a-f])([0-9a-f]{64})\b`)},
	{"edit", true, regexp.MustCompile(`"edit":\{"after":"sha256:([0-9a-f]{64})"`)}, // of the intents, which say when they were started
	{"edit", true, regexp.MustCompile(`"before":"sha256:([0-9a-f]{64})","path":"\.orchestration/active_intents`)},
	{"object", true, regexp.MustCompile(`\b[0-9a-f]{40}\b`)}, // commits, trees, seals
	{"place", true, regexp.MustCompile(`/build/([0-9a-f]{16})\b`)},
	{"state", true, regexp.MustCompile(`"requestState": "([^"]+)"`)},
	{"key", true, regexp.MustCompile(`\b[a-z]+\+([0-9a-f]{8}(?:\+[A-Za-z0-9+/=]{40,})?)`)},
	{"key", true, regexp.MustCompile(`SHA256:([A-Za-z0-9+/]{43})|BEGIN PUBLIC KEY-----(?:\n|\\n)([A-Za-z0-9+/=]+)`)},
	{"base64", false, regexp.MustCompile(`"(?:payload|sig)":"([A-Za-z0-9+/=]{40,})"`)},
	{"seal", true, regexp.MustCompile(`\b20[0-9]{6}T[0-9]{6}Z-[0-9a-f]{12}\b`)},
	{"run", false, regexp.MustCompile(`ORCHESTRA_RUN="([^"]*)"|orchestra-run-([0-9]+)`)},
	{"pid", false, regexp.MustCompile(`"pid": ?([0-9]+)`)},
	{"byte", false, regexp.MustCompile(`at byte ([0-9]+)`)}, // durations have more or fewer digits
	{"time", false, regexp.MustCompile(`20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})`)},
	{"time", false, regexp.MustCompile(`20[0-9]{6}[T-][0-9]{6}\.[0-9]{3,9}Z?(?:-[0-9a-f]{8,16})?\b`)},
	{"time", false, regexp.MustCompile(`20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+ \+0000)?\b`)},
	{"time", false, regexp.MustCompile(`\buntil ([0-2][0-9]:[0-5][0-9])\b`)},
	{"date", false, regexp.MustCompile(`20[0-9]{2}-[01][0-9]-[0-3][0-9]\b`)},
	{"age", false, regexp.MustCompile(`(?:apr|grt)_[a-z2-7]{6} +([0-9]+s) `)},
	{"age", false, regexp.MustCompile(`\b([0-9]+s) ago`)},
	{"seconds", false, regexp.MustCompile(`\b(86[34][0-9]{2}) s unused|"expires_in_seconds": ?(86[34][0-9]{2})\b`)},
	{"ms", false, regexp.MustCompile(`"(?:duration_ms|elapsed_ms)": ?([0-9]+)`)},
	{"ms", false, regexp.MustCompile(`\b([0-9]+) ms\b|\bafter ([0-9.]+m?s)\b`)},
}

// short are the beginnings of values that people are shown.
var short = regexp.MustCompile(`\b(?:[0-9a-f]{7,12}|(?:apr|grt|ses|out)_[a-z2-7]{6})\b`)

var (
	shortID    = regexp.MustCompile(`(?:<time> |[Rr]ecord:?|undoes) [0-9a-f]{8}\b`)
	recordLine = regexp.MustCompile(`(?m)^\{"prev":.*,"id":"([0-9a-f-]{36})".*$`)
	heads      = regexp.MustCompile(`(?m)(?:^ *"<(?:line of|hash-).*>",?\n)+`)
)

// placeholders are what stands for the values of a transcript, and how many there are of a kind.
type placeholders struct {
	known map[string]string
	count map[string]int
}

func (p placeholders) number(kind, value string) string {
	if p.known[value] == "" {
		p.count[kind]++
		p.known[value] = fmt.Sprintf("<%s-%d>", kind, p.count[kind])
	}
	return p.known[value]
}

// normal is a transcript without what is different in each run.
func (w *world) normal(text string, versions []string) string {
	records := map[string]string{} // the ids of the records by the hashes of their lines, as the chain has them
	for _, m := range recordLine.FindAllStringSubmatch(text, -1) {
		sum := sha256.Sum256([]byte(m[0]))
		records[hex.EncodeToString(sum[:])] = m[1]
	}
	text = strings.ReplaceAll(text, w.top, "<top>")
	for _, dir := range w.programs {
		text = strings.ReplaceAll(text, dir, "<bin>")
	}
	for _, version := range versions {
		text = regexp.MustCompile(`("version": ?"|orchestra-mcp )`+regexp.QuoteMeta(version)+`\b`).ReplaceAllString(text, "$1<version>")
	}
	objects, p := w.objects(), placeholders{map[string]string{}, map[string]int{}}
	for _, f := range forms {
		text = replace(f.pattern, text, func(value string) string {
			switch {
			case !f.numbered:
				return "<" + f.kind + ">"
			case f.kind == "object" && !strings.Contains(objects, value):
				return value
			case f.kind == "hash" && records[value] != "":
				p.known[value] = "<line of " + strings.Trim(p.known[records[value]], "<>") + ">"
			}
			return p.number(f.kind, value)
		})
	}
	ids := strings.Join(shortID.FindAllString(text, -1), "\n")
	text = replace(short, text, func(value string) string { return p.shortened(value, objects, ids) })
	// The heads of a ledger are sorted by their hashes.
	return heads.ReplaceAllStringFunc(text, func(lines string) string {
		sorted := strings.Split(strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), ",", ""), "\n")
		slices.Sort(sorted)
		return strings.Join(sorted, "\n") + "\n"
	})
}

// shortened is what stands for the beginning of a value. ids are those of records that are shown nowhere else.
func (p placeholders) shortened(value, objects, ids string) string {
	for whole, placeholder := range p.known {
		if strings.HasPrefix(whole, value) {
			return strings.TrimSuffix(placeholder, ">") + "…>"
		}
	}
	switch {
	case strings.Contains(objects, "\n"+value):
		return p.number("object", value)
	case strings.Contains(ids, " "+value):
		return p.number("short", value)
	}
	return value
}

// objects are the names of git's objects whose contents have times, a line each.
func (w *world) objects() string {
	names, _ := w.sh(`echo; for d in . ../clone; do
		git -C $d cat-file --batch-all-objects --batch-check 2>/dev/null | grep -v blob
		git -C $d rev-list --all --reflog --objects 2>/dev/null | grep -e seals
	done`)
	return names
}

// replace replaces the group that matched in each match, or the match.
func replace(pattern *regexp.Regexp, text string, by func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				start, end = m[i], m[i+1]
			}
		}
		b.WriteString(text[at:start] + by(text[start:end]))
		at = end
	}
	return b.String() + text[at:]
}

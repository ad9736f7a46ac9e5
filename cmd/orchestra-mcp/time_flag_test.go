package main

import (
	"testing"
	"time"
	_ "time/tzdata" // not every machine has the zones

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func TestTimeFlag(t *testing.T) {
	zone := check.Value(time.LoadLocation("Europe/Berlin"))(t)
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone) // the clocks went forward at 2
	for text, want := range map[string]string{
		"2026-02-18":                "2026-02-18T00:00:00+01:00",
		"2026-02-18 18:30":          "2026-02-18T18:30:00+01:00",
		"2026-02-18T18:30:05":       "2026-02-18T18:30:05+01:00",
		"2026-02-18T18:30:00Z":      "2026-02-18T18:30:00Z",
		"2026-02-18T18:30:00-05:00": "2026-02-18T18:30:00-05:00",
		"now":                       "2026-03-29T12:00:00+02:00",
		"today":                     "2026-03-29T00:00:00+01:00",
		"yesterday":                 "2026-03-28T00:00:00+01:00",
		"90m":                       "2026-03-29T10:30:00+02:00",
		"2h30m":                     "2026-03-29T09:30:00+02:00",
		"1d":                        "2026-03-28T12:00:00+01:00",
		"2w":                        "2026-03-15T12:00:00+01:00",
		"0d":                        "2026-03-29T12:00:00+02:00",
	} {
		got, err := parseTime(text, now)
		check.That(t, err == nil && got.Format(time.RFC3339) == want, "%s is %s (%v), want %s", text, got.Format(time.RFC3339), err, want)
	}
	for _, text := range []string{"-3d", "+3d", "3", "d", "-1h", "+1h", "tomorrow", "2026-13-01", "2026-02-18T25:00:00Z", "99999d", "1.5d", "3d2h", " ", "３d"} {
		got, err := parseTime(text, now)
		check.That(t, err != nil, "%q is taken for %s", text, got)
	}
	got, err := parseTime("", now)
	check.That(t, err == nil && got.IsZero(), "no text is %s, %v", got, err)
}

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// timeLayouts are the local times that a person writes.
var timeLayouts = []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, "2006-01-02T15:04:05"}

// parseTime reads a time as a person writes it: RFC 3339, a local date with or without a time, today, yesterday, or an
// age such as 90m, 2h30m, 3d or 2w. An empty text is the zero time.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if t, ok := parseAge(text, now); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: use 2026-02-18, 2026-02-18T18:30:00Z, today, yesterday, or an age such as 90m, 2h, 3d, 2w",
		printable.Text(text))
}

// parseAge reads an age. Days and weeks are those of the calendar, so that 1d over a change of the clocks is the same time
// of the day before.
func parseAge(age string, now time.Time) (time.Time, bool) {
	last := len(age) - 1
	if perUnit := map[byte]int{'d': 1, 'w': 7}[age[last]]; perUnit > 0 {
		n, err := strconv.ParseUint(age[:last], 10, 16)
		if err != nil {
			return time.Time{}, false
		}
		return now.AddDate(0, 0, -int(n)*perUnit), true
	}
	d, err := time.ParseDuration(age)
	if err != nil || d < 0 || strings.HasPrefix(age, "+") {
		return time.Time{}, false
	}
	return now.Add(-d), true
}

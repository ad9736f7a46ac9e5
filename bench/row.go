package main

import (
	"fmt"
	"strings"
)

// Row is one line of the report, as it is printed.
type Row struct {
	Name   string
	Value  string // or that nothing could be measured
	Bound  string // the promise, "" for a row that only informs
	Holds  string // "" where there is no bound or no value
	Detail string // the numbers behind the value, or why there is none
}

func inform(name string, value float64, unit, detail string) Row {
	return Row{Name: name, Value: number(value, unit), Detail: detail}
}

func atMost(name string, value, bound float64, unit, detail string) Row {
	return Row{name, number(value, unit), "≤ " + number(bound, unit), verdict(value <= bound), detail}
}

func atLeast(name string, value, bound float64, unit, detail string) Row {
	return Row{name, number(value, unit), "≥ " + number(bound, unit), verdict(value >= bound), detail}
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "**no**"
}

func notMeasured(name, bound, why string) Row {
	return Row{Name: name, Value: "not measured", Bound: bound, Detail: why}
}

// The units of rows.
const (
	times         = "×"
	milliseconds  = "ms"
	microseconds  = "µs"
	mebibytes     = "MiB"
	recordsSecond = "records/s"
	seconds       = "s"
	characters    = "characters"
)

func number(v float64, unit string) string {
	switch {
	case v >= 1000:
		return thousands(int64(v)) + " " + unit
	case unit == times:
		return fmt.Sprintf("%.2f %s", v, unit)
	default:
		return fmt.Sprintf("%.3g %s", v, unit)
	}
}

func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// table is the report of one run.
func table(machine string, rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| row | measured | bound | holds | detail |\n| --- | --- | --- | --- | --- |\n", machine)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, r.Value, r.Bound, r.Holds, r.Detail)
	}
	return b.String()
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Row is one line of the report.
type Row struct {
	Name string `json:"row"`
	// Value is what the bound is about, in Unit; absent where nothing could be measured.
	Value *float64 `json:"value,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	// Bound is the promise, "" for a row that only informs.
	Bound string `json:"bound,omitempty"`
	// Holds is absent where there is no bound or no value.
	Holds *bool `json:"holds,omitempty"`
	// Detail has the numbers behind the value, or why there is none.
	Detail string `json:"detail,omitempty"`
}

func inform(name string, value float64, unit, detail string) Row {
	return Row{Name: name, Value: &value, Unit: unit, Detail: detail}
}

func atMost(name string, value, bound float64, unit, detail string) Row {
	r := inform(name, value, unit, detail)
	holds := value <= bound
	r.Bound, r.Holds = "≤ "+number(bound, unit), &holds
	return r
}

func atLeast(name string, value, bound float64, unit, detail string) Row {
	r := inform(name, value, unit, detail)
	holds := value >= bound
	r.Bound, r.Holds = "≥ "+number(bound, unit), &holds
	return r
}

func notMeasured(name, bound, why string) Row {
	return Row{Name: name, Bound: bound, Detail: why}
}

// The units of rows.
const (
	times         = "×"
	milliseconds  = "ms"
	microseconds  = "µs"
	mebibytes     = "MiB"
	recordsSecond = "records/s"
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

// Machine is where the numbers are from.
type Machine struct {
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	CPUs       int       `json:"cpus"`
	Go         string    `json:"go"`
	FileSystem string    `json:"file_system"`
	Load       string    `json:"load,omitempty"`
	At         time.Time `json:"at"`
}

func (m Machine) String() string {
	text := fmt.Sprintf("%s/%s, %d CPUs, %s, %s, %s", m.OS, m.Arch, m.CPUs, m.Go, m.FileSystem, m.At.Format(time.DateOnly))
	if m.Load != "" {
		text += ", load " + m.Load + " at the start"
	}
	return text
}

// Report is one run.
type Report struct {
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
}

func (r Report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| row | measured | bound | holds | detail |\n| --- | --- | --- | --- | --- |\n", r.Machine)
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.Name, row.measured(), row.Bound, row.verdict(), row.Detail)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) measured() string {
	if r.Value == nil {
		return "not measured"
	}
	return number(*r.Value, r.Unit)
}

func (r Row) verdict() string {
	switch {
	case r.Holds == nil:
		return ""
	case *r.Holds:
		return "yes"
	}
	return "**no**"
}

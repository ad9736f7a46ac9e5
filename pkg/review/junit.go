package review

import (
	"encoding/xml"
	"io"
)

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a test suite for each check, with a failed case for each finding that fails the gate, a passed one
// with output for the others, and one passed case where there are none.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "orchestra-mcp gate"}
	for _, info := range Checks() {
		suite := junitSuite{Name: string(info.Check), Time: "0"}
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Check == info.Check {
				suite.Cases = append(suite.Cases, r.junitCase(f))
			}
		}
		if len(suite.Cases) == 0 {
			suite.Cases = []junitCase{{Name: info.Title, Class: "gate." + string(info.Check), Time: "0"}}
		}
		for _, c := range suite.Cases {
			suite.Tests++
			if c.Failure != nil {
				suite.Failures++
			}
		}
		all.Tests, all.Failures, all.Suites = all.Tests+suite.Tests, all.Failures+suite.Failures, append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junitCase(f *Finding) junitCase {
	c := junitCase{Name: clipped(f.Where()+": "+f.Message, 300), Class: "gate." + string(f.Check), Time: "0"}
	text := visible(f.Message) + "\n" + f.Advice
	if f.Severity == Error || f.Severity == Warning && r.strict {
		c.Failure = &junitFailure{Message: clipped(f.Message, 300), Type: string(f.Severity), Text: text}
	} else {
		c.Out = string(f.Severity) + ": " + text
	}
	return c
}

package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// The parts of SARIF 2.1.0 that are written, by the names of its schema.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool     `json:"tool"`
		AutomationDetails sarifID       `json:"automationDetails"`
		ColumnKind        string        `json:"columnKind"`
		Results           []sarifResult `json:"results"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
		EndLine   int `json:"endLine"`
	}
)

// WriteSARIF writes the findings as SARIF 2.1.0. Locations are relative to the top of the repository; version is the
// program's.
func (r *Report) WriteSARIF(w io.Writer, version string) error {
	driver := sarifDriver{Name: "orchestra-mcp gate", Version: version}
	index := map[Check]int{}
	for i, info := range Checks() {
		index[info.Check] = i
		driver.Rules = append(driver.Rules, sarifRule{string(info.Check), sarifText{info.Title}})
	}
	run := sarifRun{Tool: sarifTool{driver}, AutomationDetails: sarifID{"orchestra-mcp-gate/"}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for i := range r.Findings {
		f := &r.Findings[i]
		run.Results = append(run.Results, f.sarif(index[f.Check]))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func (f *Finding) sarif(rule int) sarifResult {
	place := sarifPhysical{Artifact: sarifArtifact{relativeURI(f.File), "%SRCROOT%"}}
	if f.Line > 0 {
		place.Region = &sarifRegion{f.Line, max(f.Line, f.End)}
	}
	// A square bracket would begin a link (SARIF 3.11.6).
	text := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(clipped(f.Message, 1000) + ". " + f.Advice)
	sum := sha256.Sum256([]byte(string(f.Check) + "\x00" + f.File + "\x00" + f.Intent + "\x00" + f.Message))
	return sarifResult{
		RuleID: string(f.Check), RuleIndex: rule, Level: string(f.Severity), Message: sarifText{text}, Locations: []sarifLocation{{place}},
		PartialFingerprints: map[string]string{"orchestraGate/v1": hex.EncodeToString(sum[:16])},
	}
}

// relativeURI is a path as a relative reference of RFC 3986, whose first segment must not look like a scheme.
func relativeURI(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	}
	return strings.Join(segments, "/")
}

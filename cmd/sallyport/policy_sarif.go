package main

import (
	"path/filepath"

	"github.com/sallyport/sallyport/policy/lint"
)

// The parts of SARIF 2.1.0 (OASIS) that a finding needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Help             sarifText `json:"help"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		RuleIndex  int             `json:"ruleIndex"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations"`
		Properties *sarifWitness   `json:"properties,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifWitness struct {
		Witness string `json:"witness"`
	}
)

// sarifOf turns findings into a log for code review.
func sarifOf(file string, findings []policyFinding) sarifLog {
	driver := sarifDriver{Name: "sallyport policy check"}
	index := map[string]int{}
	for i, k := range lint.Kinds() {
		index[string(k.Code)] = i
		driver.Rules = append(driver.Rules, sarifRule{ID: string(k.Code), ShortDescription: sarifText{k.Summary}, Help: sarifText{k.Help}})
	}
	results := make([]sarifResult, 0, len(findings))
	for _, f := range findings {
		place := sarifPhysical{Artifact: sarifArtifact{URI: filepath.ToSlash(file)}}
		if f.Line > 0 {
			place.Region = &sarifRegion{StartLine: f.Line}
		}
		r := sarifResult{
			RuleID: f.Code, RuleIndex: index[f.Code], Level: f.Severity,
			Message: sarifText{f.Message}, Locations: []sarifLocation{{place}},
		}
		if f.Witness != "" {
			r.Properties = &sarifWitness{f.Witness}
		}
		results = append(results, r)
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{{Tool: sarifTool{driver}, Results: results}},
	}
}

package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Record is what the tests rely on of one line of the audit.
type Record struct {
	Boundary string `json:"boundary"`
	Mode     string `json:"mode"`
	Method   string `json:"method"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Path     string `json:"path"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Status   int    `json:"status"`
	Injected []struct {
		Env    string `json:"env"`
		Header string `json:"header"`
	} `json:"injected"`
}

// ReadAudit reads an audit file, one JSON object a line. A file that was never
// written is one without crossings.
func ReadAudit(path string) ([]Record, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var records []Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("parse audit line %q: %w", lines.Text(), err)
		}
		records = append(records, r)
	}
	return records, lines.Err()
}

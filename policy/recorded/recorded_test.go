package recorded_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sallyport/sallyport/policy/recorded"
)

func scan(t testing.TB, log string) (lines []string, counts recorded.Counts) {
	t.Helper()
	counts, err := recorded.Scan(iotest.OneByteReader(strings.NewReader(log)), func(c *recorded.Crossing) {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", c.Boundary, c.Host, c.Verdict, c.Reason))
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, counts
}

func TestScan(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, line, want string }{
		{"as written", `{"time":"2026-01-02T03:04:05Z","boundary":"ci","mode":"explicit","host":"a.test","port":443,"verdict":"allow","rule":0,"reason":"allowed","bytes_up":0}`, "ci a.test allow allowed"},
		{"labels named like fields", `{"boundary":"ci","labels":{"host":"evil.test","verdict":"deny","x":"}{"},"host":"a.test","verdict":"allow","reason":"allowed"}`, "ci a.test allow allowed"},
		{"another order and spaces", `{ "reason" : "allowed", "verdict":"allow" , "host": "a.test","n":[1,{"a":"]"}], "boundary":"ci" }`, "ci a.test allow allowed"},
		{"escapes", `{"path":"/\"host\":\"b\\","boundary":"c\u0069","host":"a\u002etest","verdict":"deny","reason":"bad_host"}`, "ci a.test deny bad_host"},
		{"no boundary", `{"host":"a.test","verdict":"deny","reason":"x"}`, " a.test deny x"},
		{"empty host", `{"boundary":"ci","host":"","verdict":"deny","reason":"bad_host"}`, "ci  deny bad_host"},
		{"torn", `{"boundary":"ci","host":"a.test","verdict":"all`, ""},
		{"torn in a value", `{"boundary":"ci","host":"a.te`, ""},
		{"no record", `hello`, ""},
		{"another object", `{"level":"info"}`, ""},
		{"a number as host", `{"host":5,"verdict":"allow"}`, ""},
		{"too long", `{"host":"` + strings.Repeat("a", 3<<20) + `","verdict":"allow"}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			last := `{"boundary":"ci","host":"last.test","verdict":"allow","reason":"allowed"}`
			lines, counts := scan(t, c.line+"\n\n"+last)
			want := []string{c.want, "ci last.test allow allowed"}
			if c.want == "" {
				want = want[1:]
			}
			if strings.Join(lines, "|") != strings.Join(want, "|") || counts.Lines != 2 || counts.Malformed != int64(2-len(want)) {
				t.Errorf("%q, %+v", lines, counts)
			}
		})
	}
}

func TestScanReturnsTheReadersError(t *testing.T) {
	t.Parallel()
	if _, err := recorded.Scan(iotest.ErrReader(io.ErrUnexpectedEOF), func(*recorded.Crossing) {}); err == nil {
		t.Error("no error")
	}
}

// Whatever encoding/json writes as a record is read back as it was.
func FuzzScan(f *testing.F) {
	f.Add("ci", "a.test", "allow", "allowed", `"host":"x"`)
	f.Add(`"\`, `\\`, "\u2028", "deny", `\"`)
	f.Fuzz(func(t *testing.T, boundary, host, verdict, reason, other string) {
		record := struct {
			Other    string            `json:"path"`
			Labels   map[string]string `json:"labels"`
			Boundary string            `json:"boundary"`
			Host     string            `json:"host"`
			Verdict  string            `json:"verdict"`
			Reason   string            `json:"reason"`
		}{other, map[string]string{other: other, "host": other}, boundary, host, verdict, reason}
		line, err := json.Marshal(record)
		if err != nil {
			t.Skip("no JSON")
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s %s %s %s", record.Boundary, record.Host, record.Verdict, record.Reason)
		lines, counts := scan(t, string(line))
		if len(lines) != 1 || lines[0] != want {
			t.Fatalf("%s: %q, %+v", line, lines, counts)
		}
	})
}

// Torn and hostile lines are left out and end the reading of nothing.
func FuzzScanAnything(f *testing.F) {
	f.Add([]byte(`{"host":"a","verdict":"`))
	f.Add([]byte("{\"\\\\\":[[{}\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := "\n" + `{"boundary":"ci","host":"last.test","verdict":"allow","reason":"allowed"}`
		lines, _ := scan(t, string(data)+last)
		if len(lines) == 0 || lines[len(lines)-1] != "ci last.test allow allowed" {
			t.Fatalf("%q", lines)
		}
	})
}

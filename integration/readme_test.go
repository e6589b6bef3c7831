package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of the README do what it says, as printed. All that the test
// adds is where api.example.com is, and what a runner would then do.
func TestReadmeIsTrue(t *testing.T) {
	t.Parallel()
	const host = "api.example.com"
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	w, proxy, dir := newWorld(t, host), freeAddress(t), folder(t, asRoot)
	blocks := map[string]string{} // by the name in their first line, or their first word
	for _, m := range regexp.MustCompile("(?s)```(?:sh|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		name := strings.Fields(strings.TrimPrefix(m[1], "# "))[0]
		blocks[name] += m[1]
	}
	for name, block := range blocks {
		if filepath.Ext(name) == ".yaml" {
			write(t, dir, name, strings.ReplaceAll(block, "127.0.0.1:3128", proxy))
		}
	}
	edge := write(t, dir, "edge.yaml", strings.ReplaceAll(blocks["edge.yaml"], "127.0.0.1:3128", proxy)+fmt.Sprintf(
		"upstream: {allow_cidrs: [127.0.0.1/32], extra_roots: [%q], resolve: {%q: %q}}\n", w.ca, host+":443", w.Addr()))
	t.Logf("edge configuration is %s", edge)

	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	shim := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = run ] || exec %[1]s \"$@\"\nshift\nexec %[1]s run %[2]s \"$@\"\n", product.Path("sallyport"), strings.Join(w.flags(), " "))
	write(t, bin, "sallyport", shim)
	if err := os.Chmod(filepath.Join(bin, "sallyport"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin + ":" + product.Dir + ":" + os.Getenv("PATH"), "API_TOKEN=" + realToken}
	bash := func(script string) result {
		return run(t, asRoot, env, "bash", "-euc", "cd "+dir+"\n"+script)
	}

	t.Run("one command in a sandbox", func(t *testing.T) {
		res := bash(blocks["sallyport"])
		res.want(t, 0)
		received := w.Received()
		if len(received) != 1 || received[0].Path != "/v1/things" || received[0].Header.Get("Authorization") != "Bearer "+realToken {
			t.Errorf("the API received %+v", received)
		}
		contains(t, res.stdout, "allow")
	})
	t.Run("an existing runner", func(t *testing.T) {
		res := bash(blocks["(umask"] + `
trap 'kill %1; wait %1' EXIT
curl -sS --retry 40 --retry-delay 1 --retry-connrefused --max-time 60 https://` + host + `/from-a-runner
curl -sS -o /dev/null -w '%{http_connect}' https://` + offHost + `/ || true`)
		contains(t, res.stdout, `"path":"/from-a-runner"`, "403")
	})
}

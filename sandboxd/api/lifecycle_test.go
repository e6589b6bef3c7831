package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// status is a verification in one text.
func (r reply) verification() string {
	return fmt.Sprint(r.at("setup_verification", "status"), " ", r.at("setup_verification", "stale"), " ", r.at("setup_verification", "label"))
}

// Ledger: EV-7 to EV-9, EV-13 to EV-15, EV-22 to EV-24, SV-32 to SV-39
func TestEnvironmentLives(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, r := s.create(t, `{"name":"a","provider":"runs"}`)
	if r.verification() != "not_applicable false No setup" || r.at("setup_updated_at") != nil || r.at("http_port") != nil {
		t.Errorf("new: %s", r.Text)
	}
	s.call(t, "POST", path+"/setup_runs", "").expect(t, "a run without a script", 400, "invalid_request")
	patch := func(body string) reply {
		t.Helper()
		r := s.call(t, "PATCH", path, body)
		r.expect(t, body, 200, "")
		return r
	}
	r = patch(`{"setup":{"script":"exit 3\r\n\r\n"},"computer_use":true}`)
	if r.text("setup", "script") != "exit 3\n" || r.verification() != "never false Not verified" || r.text("setup_updated_by_user_id") == "" || r.at("http_port") != 6901.0 {
		t.Errorf("with a script: %s", r.Text)
	}
	setupAt := r.text("setup_updated_at")

	r = s.call(t, "PATCH", path+"?verify=true", `{}`)
	run := r.text("setup_verification", "active_setup_run_id")
	if r.verification() != "running false Testing" || run == "" {
		t.Errorf("verify: %s", r.Text)
	}
	r = s.call(t, "PATCH", path+"?verify=true", `{"description":"x"}`)
	warnings, _ := r.at("setup_warnings").([]any)
	if r.Status != 200 || len(warnings) != 1 || !strings.Contains(r.Text, `"verify_not_started"`) {
		t.Errorf("a second verify: %s", r.Text)
	}
	again := s.call(t, "POST", path+"/setup_runs", "")
	again.expect(t, "a second run", 409, "setup_run_in_flight")
	if again.text("error", "details", "active_setup_run_id") != run {
		t.Errorf("a second run: %s", again.Text)
	}
	code := 3
	s.end(t, run, setup.Failed, func(r *setup.Run) {
		r.Phase, r.ExitCode, r.FailedLine, r.FailedCommand, r.FailureCode = setup.Script, &code, 1, "exit 3", "environment_setup_failed"
		r.LogLines = 3
	})
	r = s.call(t, "GET", path, "")
	if r.verification() != "failed false Failed" || r.at("setup_verification", "last_run", "exit_code") != 3.0 || r.at("setup_verification", "last_run", "failed_line") != 1.0 || r.text("setup_updated_at") != setupAt {
		t.Errorf("failed: %s", r.Text)
	}
	runPath := path + "/setup_runs/" + run
	if r := s.call(t, "GET", runPath, ""); r.text("next_action", "operation_id") != "updateEnvironment" || r.text("next_action", "path") != path {
		t.Errorf("failed run: %s", r.Text)
	}
	log := s.call(t, "GET", runPath+"/log?after=1&limit=1&wait_seconds=0", "")
	if lines, _ := log.at("lines").([]any); len(lines) != 1 || log.at("next_after") != 2.0 || log.text("status") != "failed" {
		t.Errorf("log: %s", log.Text)
	}
	s.call(t, "POST", runPath+"/cancel", "").expect(t, "cancel an ended run", 409, "setup_run_finished")

	if r = patch(`{"setup":{"script":"true"}}`); r.verification() != "failed true Failed" {
		t.Errorf("mended: %s", r.verification())
	}
	run = s.call(t, "POST", path+"/setup_runs", "{}").text("setup_run_id")
	s.end(t, run, setup.Succeeded, func(r *setup.Run) { r.ImageID = "img_1" })
	if r = s.call(t, "GET", path, ""); r.verification() != "verified false Image missing" {
		t.Errorf("passed: %s", r.Text)
	}
	s.put(t, image.Image{ID: "img_1", OrganizationID: r.text("organization_id"), State: image.Usable})
	if r = s.call(t, "GET", path, ""); r.verification() != "verified false Verified" {
		t.Errorf("with its image: %s", r.Text)
	}
	if r = patch(`{"env_vars":{"A":"1"}}`); r.verification() != "verified true Stale" {
		t.Errorf("changed: %s", r.verification())
	}
	if r = patch(`{"env_vars":{}}`); r.verification() != "verified false Verified" || r.at("env_vars") != nil {
		t.Errorf("reverted: %s", r.Text)
	}
	updated := r.text("updated_at")
	if r = patch(`{"name":"a","network_policy":` + noInternet + `}`); r.text("updated_at") != updated {
		t.Error("a change of nothing moved updated_at")
	}
	run = s.call(t, "POST", path+"/setup_runs", "").text("setup_run_id")
	if r := s.call(t, "GET", path, ""); r.verification() != "verified false Re-testing" {
		t.Errorf("re-testing: %s", r.verification())
	}
	s.call(t, "POST", path+"/setup_runs/"+run+"/cancel", "").expect(t, "cancel", 200, "")
	if r := s.call(t, "GET", path, ""); r.verification() != "verified false Verified" || r.text("setup_verification", "last_run", "status") != "cancelled" {
		t.Errorf("cancelled: %s", r.Text)
	}
	if r = patch(`{"setup":{"script":""}}`); r.verification() != "not_applicable false No setup" {
		t.Errorf("without a script: %s", r.Text)
	}
	patch(`{"setup":{"script":"true"}}`)
	run = s.call(t, "POST", path+"/setup_runs", "").text("setup_run_id")
	s.call(t, "DELETE", path, "").expect(t, "delete", 204, "")
	s.call(t, "DELETE", path, "").expect(t, "delete again", 404, "not_found")
	s.call(t, "GET", path, "").expect(t, "get", 404, "not_found")
	if ended, err := s.runs.records.Run(t.Context(), run); err != nil || ended.Status != setup.Cancelled {
		t.Errorf("the run in flight: %+v, %v", ended, err)
	}
	if r := s.call(t, "GET", "/v1/environments", ""); len(r.JSON["data"].([]any)) != 0 {
		t.Errorf("list: %s", r.Text)
	}
}

func (s *service) end(t *testing.T, id string, status setup.Status, edit func(*setup.Run)) {
	t.Helper()
	if _, err := s.runs.end(t.Context(), id, status, edit); err != nil {
		t.Fatal(err)
	}
}

func (s *service) put(t *testing.T, i image.Image) {
	t.Helper()
	if err := s.store.Update(t.Context(), func(w store.Writer) error { return w.PutImage(i) }); err != nil {
		t.Fatal(err)
	}
}

// Ledger: SV-14, SV-22, SV-23, SV-27
func TestRunsAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t)
	var path, run string
	for range 4 {
		path, _ = s.create(t, `{"name":"a","provider":"runs","setup":{"script":"true"}}`)
		r := s.call(t, "POST", path+"/setup_runs", "")
		r.expect(t, "run", 202, "")
		run = path + "/setup_runs/" + r.text("setup_run_id")
	}
	fifth, _ := s.create(t, `{"name":"a","provider":"runs","setup":{"script":"true"}}`)
	r := s.call(t, "POST", fifth+"/setup_runs", "")
	r.expect(t, "a fifth", 429, "setup_run_limit")
	if r.Header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	for query, status := range map[string]int{
		"/setup_runs?limit=0": 400, "/setup_runs?limit=1": 200, "/setup_runs?limit=50": 200, "/setup_runs?limit=51": 400,
	} {
		s.call(t, "GET", path+query, "").expectStatus(t, query, status)
	}
	for query, status := range map[string]int{
		"?wait_seconds=-1": 400, "?wait_seconds=0": 200, "?wait_seconds=61": 400,
		"/log?limit=0": 400, "/log?limit=1": 200, "/log?limit=2000": 200, "/log?limit=2001": 400,
		"/log?after=-1": 400, "/log?after=0": 200, "/log?wait_seconds=61": 400, "/log?after=x": 400,
	} {
		s.call(t, "GET", run+query, "").expectStatus(t, query, status)
	}
	s.call(t, "POST", run+"/cancel", `{"x":1}`).expect(t, "a body", 400, "invalid_request")
	// A wait ends with the run, long before its time.
	done := make(chan reply)
	go func() { done <- s.call(t, "GET", run+"?wait_seconds=60", "") }()
	s.call(t, "POST", run+"/cancel", "").expect(t, "cancel", 200, "")
	if r := <-done; r.text("status") != "cancelled" && r.text("status") != "queued" {
		t.Errorf("wait: %s", r.Text)
	}
}

func (r reply) expectStatus(t *testing.T, what string, status int) {
	t.Helper()
	code := ""
	if status == 400 {
		code = "invalid_request"
	}
	r.expect(t, what, status, code)
}

// Ledger: AP-6, EV-28
func TestListsPage(t *testing.T) {
	t.Parallel()
	s := start(t)
	var want []string
	for i := range 23 {
		_, r := s.create(t, fmt.Sprintf(`{"name":"n%d","provider":"runs"}`, i))
		want = append(want, r.text("environment_id"))
	}
	slices.Reverse(want)
	var got []string
	for after := ""; ; {
		r := s.call(t, "GET", "/v1/environments?limit=5"+after, "")
		for _, e := range r.JSON["data"].([]any) {
			got = append(got, e.(map[string]any)["environment_id"].(string))
		}
		next, ok := r.at("next_after").(string)
		if !ok {
			break
		}
		after = "&after=" + next
		s.create(t, `{"name":"meanwhile","provider":"runs"}`)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if r := s.call(t, "GET", "/v1/environments?name_prefix=n1&limit=100", ""); len(r.JSON["data"].([]any)) != 11 {
		t.Errorf("prefix: %s", r.Text)
	}
}

// Ledger: LO-9
func TestControlActionsAreRecorded(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, made := s.create(t, `{"name":"a","provider":"runs","setup":{"script":"true"},"env_vars":{"SECRET":"hunter2"}}`)
	changed := s.call(t, "PATCH", path, `{"network_policy":`+npmOnly+`,"privileged":true,"description":"d"`+expected(noInternet, false)+`}`)
	run := s.call(t, "POST", path+"/setup_runs", "")
	s.call(t, "POST", path+"/setup_runs/"+run.text("setup_run_id")+"/cancel", "")
	s.call(t, "PATCH", path, `{"privileged":true,"description":"d"}`) // nothing new, no entry
	s.call(t, "PATCH", path, `{"privileged":7}`)
	s.call(t, "DELETE", path, "")
	var got []audit.Entry
	var text strings.Builder
	err := s.store.View(t.Context(), func(r store.Reader) error {
		for link, err := range r.AuditLinks(0) {
			e, entryErr := link.Entry()
			if err != nil || entryErr != nil {
				t.Fatal(err, entryErr)
			}
			got = append(got, e)
			text.Write(link.Body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range got {
		actions = append(actions, e.Action)
	}
	want := []string{"organization.create", "api_key.create", "environment.create", "environment.update", "setup_run.start", "setup_run.cancel", "environment.delete"}
	if !slices.Equal(actions, want) {
		t.Fatalf("actions %q", actions)
	}
	update := got[3]
	if update.RequestID != changed.Header.Get("X-Request-Id") || update.Subject != made.text("environment_id") || update.Actor.KeyID == "" || update.Actor.Role != "admin" {
		t.Errorf("update: %+v", update)
	}
	values := map[string]string{}
	for _, c := range update.Changes {
		values[c.Field] = string(c.Old) + " to " + string(c.New)
	}
	if values["network_policy"] != noInternet+" to "+npmOnly || values["privileged"] != "false to true" || values["description"] != " to " || len(values) != 3 {
		t.Errorf("changes: %q", values)
	}
	if strings.Contains(text.String(), "hunter2") || strings.Contains(text.String(), s.admin) {
		t.Errorf("the record holds more than it should: %s", &text)
	}
}

package api_test

import (
	"sync"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/account"
)

// Ledger: AP-5
func TestRetriedCreate(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"name":"a","provider":"runs"}`
	first := s.call(t, "POST", "/v1/environments", body, "Idempotency-Key", "k1")
	first.expect(t, "first", 201, "")
	path := "/v1/environments/" + first.text("environment_id")
	s.call(t, "PATCH", path, `{"name":"changed"}`).expect(t, "change", 200, "")
	again := s.call(t, "POST", "/v1/environments", body, "Idempotency-Key", "k1")
	again.expect(t, "again", 201, "")
	if again.Text != first.Text || again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("first\n%sthen\n%s", first.Text, again.Text)
	}
	for _, other := range [][2]string{{"/v1/environments", `{"name":"b","provider":"runs"}`}, {"/v1/environments?verify=true", body}, {path + "/setup_runs", ""}} {
		s.call(t, "POST", other[0], other[1], "Idempotency-Key", "k1").expect(t, other[0]+other[1], 409, "idempotency_conflict")
	}
	// What was refused is no result.
	s.call(t, "POST", "/v1/environments", `{"name":"a"}`, "Idempotency-Key", "k2").expect(t, "refused", 400, "invalid_request")
	s.call(t, "POST", "/v1/environments", body, "Idempotency-Key", "k2").expect(t, "mended", 201, "")
	// Keys belong to an organisation.
	s.call(t, "POST", "/v1/environments", `{"name":"b","provider":"runs"}`, "Idempotency-Key", "k1", "Authorization", "Bearer "+s.stranger(t)).expect(t, "stranger", 201, "")
	// What doesn't reach isn't answered from memory.
	s.call(t, "POST", "/v1/environments", body, "Idempotency-Key", "k1", "Authorization", "Bearer "+s.key(t, account.Member)).expect(t, "member", 403, "forbidden")
}

func TestRetriesAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"e","provider":"runs","setup":{"script":"true"}}`)
	for _, c := range []struct {
		path, body, id string
		status         int
	}{
		{"/v1/environments", `{"name":"a","provider":"runs"}`, "environment_id", 201},
		{path + "/setup_runs", "", "setup_run_id", 202},
	} {
		replies := make([]reply, 8)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = s.call(t, "POST", c.path, c.body, "Idempotency-Key", c.path) })
		}
		wg.Wait()
		for _, r := range replies {
			r.expect(t, c.path, c.status, "")
			if r.text(c.id) == "" || r.text(c.id) != replies[0].text(c.id) {
				t.Errorf("%s: %s", c.path, r.Text)
			}
		}
	}
	if n := len(s.call(t, "GET", "/v1/environments", "").JSON["data"].([]any)); n != 2 {
		t.Errorf("%d environments", n)
	}
	if n := len(s.call(t, "GET", path+"/setup_runs", "").JSON["data"].([]any)); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// Ledger: AP-5, EV-22
func TestRetriedVerify(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"name":"a","provider":"runs","setup":{"script":"true"}}`
	first := s.call(t, "POST", "/v1/environments?verify=true", body, "Idempotency-Key", "k")
	first.expect(t, "first", 201, "")
	if first.text("setup_verification", "active_setup_run_id") == "" {
		t.Errorf("no run: %s", first.Text)
	}
	if again := s.call(t, "POST", "/v1/environments?verify=true", body, "Idempotency-Key", "k"); again.Text != first.Text {
		t.Errorf("again: %s", again.Text)
	}
}

package broker_test

import (
	"testing"

	"github.com/sallyport/sallyport/broker"
)

// Ledger: GB-13. Case: D08.
func TestParseCallsOfAPIs(t *testing.T) {
	t.Parallel()
	styles := map[string]broker.API{
		"github":     {Style: broker.GitHubStyle},
		"enterprise": {Style: broker.GitHubStyle, Prefix: "/api/v3"},
		"gitlab":     {Style: broker.GitLabStyle, Prefix: "/api/v4"},
		"gitea":      {Style: broker.GiteaStyle, Prefix: "/api/v1"},
	}
	const none = ""
	cases := []struct{ api, method, path, want string }{
		{"github", "GET", "/repos/Octo/App", "octo/app read"},
		{"github", "GET", "/repos/octo/app/pulls/1/files", "octo/app read"},
		{"github", "POST", "/repos/octo/app/pulls", "octo/app write"},
		{"github", "PUT", "/repos/octo/app/pulls/1/merge", "octo/app write contents"},
		{"github", "PUT", "/repos/octo/app/pulls/1/update-branch", "octo/app write contents"},
		{"github", "PUT", "/repos/octo/app/contents/a.txt", "octo/app write contents"},
		{"github", "PATCH", "/repos/octo/app/git/refs/heads/main", "octo/app write contents"},
		{"enterprise", "GET", "/api/v3/repos/octo/app/commits", "octo/app read"},
		{"enterprise", "GET", "/repos/octo/app", none},
		{"gitea", "POST", "/api/v1/repos/octo/app/pulls/2/merge", "octo/app write contents"},
		{"gitea", "DELETE", "/api/v1/repos/octo/app/branches/main", "octo/app write contents"},
		{"gitlab", "GET", "/api/v4/projects/group%2Fsub%2fapp/repository/tree", "group/sub/app read"},
		{"gitlab", "GET", "/api/v4/projects/group%2Fapp/repository/files/a%2Fb/raw", "group/app read"},
		{"gitlab", "POST", "/api/v4/projects/group%2Fapp/merge_requests", "group/app write"},
		{"gitlab", "PUT", "/api/v4/projects/group%2Fapp/merge_requests/3/merge", "group/app write contents"},
		{"gitlab", "POST", "/api/v4/projects/group%2Fapp/repository/commits", "group/app write contents"},

		{"github", "POST", "/graphql", none},
		{"enterprise", "POST", "/api/graphql", none},
		{"github", "GET", "/user", none},
		{"github", "GET", "/repositories/1", none},
		{"github", "GET", "/repos/octo", none},
		{"github", "GET", "/repos/octo/app.git", none},
		{"github", "GET", "/repos/octo/app/../secret", none},
		{"github", "GET", "/repos/octo/app/%2e%2e/secret", none},
		{"github", "GET", "/repos/octo//app", none},
		{"github", "GET", "//repos/octo/app", none},
		{"github", "GET", `/repos/octo/app\..\secret`, none},
		{"github", "GET", "/repos/octo/app;x", none},
		{"github", "DELETE", "/repos/octo/app", none},
		{"github", "PATCH", "/repos/octo/app", none},
		{"github", "POST", "/repos/octo/app/transfer", none},
		{"github", "POST", "/repos/octo/app/hooks", none},
		{"github", "POST", "/repos/octo/app/keys", none},
		{"github", "POST", "/repos/octo/app/forks", none},
		{"gitlab", "GET", "/api/v4/projects/group%2Fapp/repository/files/a%2F..%2Fb", none},
		{"gitlab", "GET", "/api/v4/projects/group%2Fapp/%2e%2e/x", none},
		{"gitlab", "GET", "/api/v4/projects/42", none},
		{"gitlab", "GET", "/api/v4/projects/group%2Fapp%2F..%2Fx", none},
		{"gitlab", "GET", "/api/v4/projects/group%252Fapp", none},
		{"gitlab", "POST", "/api/v4/projects/group%2Fapp/members", none},
		{"gitlab", "GET", "/api/v4/projects/group/app", none},
	}
	for _, c := range cases {
		call, ok := styles[c.api].Parse(c.method, c.path)
		got := ""
		if ok {
			got = call.Repository.String() + " " + string(call.Access)
			if call.Contents {
				got += " contents"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s %s: %q, want %q", c.api, c.method, c.path, got, c.want)
		}
	}
}

package authorship

import (
	"strings"
)

// Source says how the platform knows who asked.
type Source string

// The sources. Any other, the zero value too, is worth as little as SourceAgent.
const (
	// SourcePlatform: the platform itself has authenticated the requester, by an
	// API key or by the signed event of a connected service.
	SourcePlatform Source = "platform"
	// SourceAgent: another agent says so.
	SourceAgent Source = "agent"
)

// Requester is who asked for a session's work. Display is shown to people; ID is
// what the directory is asked for.
type Requester struct {
	ID      string `json:"id,omitempty"`
	Display string `json:"display,omitempty"`
	Source  Source `json:"source"`
}

// Entry is what a directory knows about a requester.
type Entry struct {
	Person
	// Verified says that the person has proved that the email is theirs.
	Verified bool `json:"verified"`
}

// Directory maps requesters to people, by Requester.ID. The operator keeps it.
type Directory map[string]Entry

// Identity is who a checkout's commits are by. The zero value leaves all to the
// agent.
type Identity struct {
	// Author and Committer are zero to leave them to git's own configuration.
	Author, Committer Person
	// Trailers are whole lines, such as "Requested-by: Ada", that end every
	// commit's message, in this order.
	Trailers []string
}

// Trailers that Resolve makes. The first is one that forges show.
const (
	coAuthored  = "Co-Authored-By: "
	requestedBy = "Requested-by: "
)

// Resolve returns the identity for an agent and the one who asked, which may be
// nil (ledger GB-28, GB-29, GB-30):
//
//   - A requester whom the platform has authenticated, and whose email the
//     directory holds as verified, is the author; the agent commits, and is
//     named as co-author.
//   - Any other is named in a trailer, as told, without an email. The agent is
//     author and committer.
func Resolve(agent Person, requester *Requester, directory Directory) Identity {
	id := Identity{Author: agent, Committer: agent}
	if requester == nil {
		return id
	}
	entry, known := directory[requester.ID]
	known = known && requester.ID != "" && requester.Source == SourcePlatform && entry.Check() == nil
	switch {
	case known && entry.Verified:
		id.Author = entry.Person
		if agent != (Person{}) {
			id.Trailers = []string{coAuthored + agent.String()}
		}
	case known:
		id.Trailers = []string{requestedBy + entry.Name}
	default:
		if name := display(requester); name != "" {
			id.Trailers = []string{requestedBy + name + " (unverified)"}
		}
	}
	return id
}

// display returns what can be shown of a requester that nobody vouches for:
// one line that holds no address, so that no forge takes it for somebody.
func display(r *Requester) string {
	name := r.Display
	if name == "" {
		name = r.ID
	}
	name = strings.Map(func(c rune) rune {
		if notInText(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(name, ""))
	name = strings.ReplaceAll(name, "@", " at ")
	name = strings.Join(strings.Fields(name), " ")
	for len(name) > maxText {
		name = strings.ToValidUTF8(name[:maxText], "")
	}
	return name
}

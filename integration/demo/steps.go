package main

import "strings"

// A step is one command in a sandbox and what must be true afterwards.
type step struct {
	title   string
	text    string
	command []string
	shown   string // instead of the command's last argument, if that is long
	checks  []check
}

type check struct {
	says  string
	holds func(outcome) bool
}

const noProxy = "env -u HTTPS_PROXY -u https_proxy -u HTTP_PROXY -u http_proxy "

func shell(script string) []string { return []string{"sh", "-c", script} }

func (d *demo) steps() []step {
	return []step{
		{
			title:   "A job uses an API with a key that it doesn't have",
			text:    "It sends what it finds in $API_TOKEN. The API answers with what it received.",
			command: shell(`curl -sS -H "Authorization: Bearer $API_TOKEN" https://` + api + `/v1/things | tr ',' '\n' | grep -E 'host|Authorization'`),
			checks: []check{
				{"the API received the real key", func(o outcome) bool {
					return o.code == 0 && len(o.received) == 1 && o.received[0].Header.Get("Authorization") == "Bearer "+token
				}},
				{"in the answer it had become the placeholder again", func(o outcome) bool {
					return o.prints(`"Authorization":["Bearer sp_`) && !o.prints(token)
				}},
			},
		},
		{
			title: "What the sandbox holds is a placeholder",
			text:  "The environment, every process's environment, and every file that it can read are searched.",
			command: shell(`echo "API_TOKEN=$API_TOKEN"
real='[` + token[:1] + `]` + token[1:20] + `'
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -c "$real"
find / /dev/shm \( -path /proc -o -path /sys -o -path /usr -o -path /dev \) -prune -o -type f -readable -exec cat {} + 2>/dev/null | grep -ac "$real"
true`),
			checks: []check{
				{"found 0 times in environments, 0 times in files", func(o outcome) bool {
					return o.code == 0 && strings.HasSuffix(strings.TrimSpace(o.output), "\n0\n0") && !o.prints(token)
				}},
			},
		},
		{
			title:   "The placeholder is worth nothing elsewhere",
			text:    "Another host that the policy allows is sent the same placeholder.",
			command: shell(`curl -sS -H "Authorization: Bearer $API_TOKEN" https://` + other + `/collect`),
			checks: []check{
				{"refused with placeholder_wrong_host", func(o outcome) bool { return o.prints("placeholder_wrong_host") }},
				{"the other host received nothing", func(o outcome) bool { return len(o.received) == 0 }},
			},
		},
		{
			title:   "A host outside the policy is refused, and says why",
			text:    "",
			command: shell(`curl -sS -D - https://` + off + `/`),
			checks: []check{
				{"403 with network_policy_denied", func(o outcome) bool { return o.code != 0 && o.prints("403") && o.prints("network_policy_denied") }},
				{"nothing left the machine for it", func(o outcome) bool { return len(o.received) == 0 && o.crossed("explicit", off, "deny") }},
			},
		},
		{
			title: "Ignoring the proxy doesn't help",
			text:  "No proxy variables, an address that the sandbox chose itself: raw TCP meets the same judge.",
			command: shell(noProxy + `curl -sS --resolve ` + api + `:443:192.0.2.1 https://` + api + `/direct | tr ',' '\n' | grep path
` + noProxy + `curl -sS --max-time 10 --resolve ` + off + `:443:192.0.2.1 https://` + off + `/direct`),
			checks: []check{
				{"the allowed host was reached through the edge", func(o outcome) bool { return len(o.received) == 1 && o.crossed("transparent", api, "allow") }},
				{"the other was refused", func(o outcome) bool { return o.crossed("transparent", off, "deny") }},
			},
		},
		{
			title: "There is no other way out",
			text:  "Names, datagrams, pings, IPv6, the virtual machine's own socket, raw packets.",
			command: []string{"/usr/bin/python3", "-c", `
import socket, sys
def tried(what, f):
    try: f(); print("OPEN  ", what)
    except OSError as e: print("closed", what.ljust(22), e)
def send(s, to):
    s.settimeout(1); s.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", to); s.recv(64)
tried("the unlisted name", lambda: socket.getaddrinfo("` + off + `", 443))
tried("UDP", lambda: send(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), ("192.0.2.1", 443)))
tried("ping", lambda: send(socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), ("192.0.2.1", 0)))
tried("IPv6", lambda: socket.create_connection(("2001:db8::1", 443), 2))
tried("AF_VSOCK", lambda: socket.socket(socket.AF_VSOCK))
tried("AF_PACKET", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
`},
			shown: "python3: socket(), sendto(), connect() of each kind",
			checks: []check{
				{"six closed doors", func(o outcome) bool { return strings.Count(o.output, "closed ") == 6 && !o.prints("OPEN") }},
				{"the resolver refused the name", func(o outcome) bool { return o.crossed("dns", off, "deny") }},
			},
		},
	}
}

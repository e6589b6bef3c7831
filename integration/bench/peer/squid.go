package peer

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/integration/bench/load"
)

const (
	squidProgram = "/usr/sbin/squid"
	squidCertgen = "/usr/lib/squid/security_file_certgen"
	squidUser    = "proxy" // of Debian's package
)

// Squid starts squid with ssl-bump. It caches no response and writes no log,
// so it does less than the edge.
func (w *World) Squid(hosts int) (*load.Target, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	if err := w.squidFiles(addr, hosts); err != nil {
		return nil, err
	}
	pid, err := w.daemon(addr, squidProgram, "-N", "-f", w.path("squid", "squid.conf"))
	if err != nil {
		return nil, err
	}
	return w.target("squid", addr, pid), nil
}

func (w *World) squidFiles(addr string, hosts int) error {
	dir := w.path("squid")
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // squid changes its user
		return err
	}
	if err := w.joinedCA(w.path("squid", "ca.pem")); err != nil {
		return err
	}
	var names strings.Builder
	fmt.Fprintf(&names, "127.0.0.1 %s %s\n", load.Host, SplicedHost)
	for i := range hosts {
		fmt.Fprintf(&names, "127.0.0.1 h%d.%s\n", i, load.Domain)
	}
	conf := fmt.Sprintf(`http_port %s ssl-bump tls-cert=%s/ca.pem generate-host-certificates=on dynamic_cert_mem_cache_size=64MB
sslcrtd_program %s -s %s/certs -M 64MB
sslcrtd_children 4 startup=1 idle=1
acl hello at_step SslBump1
ssl_bump peek hello
ssl_bump bump all
http_access allow all
tls_outgoing_options cafile=%s
hosts_file %s/hosts
cache deny all
cache_mem 0
access_log none
cache_log %s/cache.log
pid_filename none
coredump_dir %s
max_filedescriptors 65536
shutdown_lifetime 0 seconds
client_idle_pconn_timeout 15 minutes
pconn_timeout 15 minutes
`, addr, dir, squidCertgen, dir, w.path("origin.pem"), dir, dir, dir)
	for name, text := range map[string]string{"squid.conf": conf, "hosts": names.String()} {
		if err := os.WriteFile(w.path("squid", name), []byte(text), 0o644); err != nil { //nolint:gosec // see above
			return err
		}
	}
	if out, err := exec.Command(squidCertgen, "-c", "-s", dir+"/certs", "-M", "64MB").CombinedOutput(); err != nil {
		return fmt.Errorf("make squid's certificate folder: %w: %s", err, out)
	}
	return giveTo(squidUser, dir)
}

// joinedCA writes certificate and key into one file.
func (w *World) joinedCA(path string) error {
	var both []byte
	for _, name := range []string{"ca.pem", "ca-key.pem"} {
		part, err := os.ReadFile(w.path("mitm", "authority", name))
		if err != nil {
			return err
		}
		both = append(both, part...)
	}
	return os.WriteFile(path, both, 0o644) //nolint:gosec // a throw-away key
}

// giveTo makes a folder a user's own, if we may.
func giveTo(name, dir string) error {
	u, err := user.Lookup(name)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if _, err := strconv.Atoi(u.Uid); err != nil {
		return err
	}
	if out, err := exec.Command("chown", "-R", u.Uid+":"+u.Gid, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("give %s to %s: %w: %s", dir, name, err, out)
	}
	return nil
}

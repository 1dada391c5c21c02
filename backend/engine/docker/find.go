package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/forevervm/desktop/backend/machine"
)

// oldest is the first version of Docker's API that will do, and what people know it as.
const (
	oldest        = "1.41"
	oldestRelease = "20.10"
)

// daemon is a Docker that answers.
type daemon struct {
	api  *client.Client
	host string
	cpus int
	root string // where its data lies on this computer; empty where it is on another

	trying   sync.Mutex    // guards what follows; held while containers are tried
	lacking  []*relaxation // given up in it
	doubtful []*relaxation // given up if containers are refused otherwise; empty once that has been tried
}

// away says whether Docker is, or may be, on another computer than we: it has not the folders of
// this one.
func (d *daemon) away() bool {
	return !strings.HasPrefix(d.host, "unix://") && !strings.HasPrefix(d.host, "npipe://")
}

// connect returns the Docker that was found, or looks for it. The error is a sentence.
func (e *Engine) connect(ctx context.Context) (*daemon, error) {
	if d, ok := e.reached(); ok {
		return d, nil
	}
	d, problem := e.probe(ctx)
	if problem != nil {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: problem.What + " " + problem.Do, Cause: problem.cause}
	}
	return d, nil
}

// probe looks for Docker and remembers the one that it finds.
func (e *Engine) probe(ctx context.Context) (*daemon, *problem) {
	d, p := e.find(ctx)
	if p != nil {
		return nil, p
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.daemon != nil { // somebody else was faster
		_ = d.api.Close()
		return e.daemon, nil
	}
	e.daemon = d
	return d, nil
}

// reached is the Docker that was found, if any.
func (e *Engine) reached() (*daemon, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.daemon, e.daemon != nil
}

// lost forgets a Docker that does not answer any more, so that it is looked for again.
func (e *Engine) lost(d *daemon) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.daemon == d {
		e.daemon = nil
	}
	_ = d.api.Close() // of connections that nobody uses
}

// find looks for a Docker that can be used, and says what is wrong where there is none.
func (e *Engine) find(ctx context.Context) (*daemon, *problem) {
	var first *problem
	for _, c := range e.candidates() {
		d, err := c.dial(ctx)
		if err == nil {
			return d, nil
		}
		p := explain(ctx, c, err)
		if c.chosen {
			return nil, p
		}
		if first == nil || first.rank < p.rank {
			first = p
		}
	}
	if first == nil {
		first = notInstalled(ctx)
	}
	return nil, first
}

// candidate is a place where Docker may listen.
type candidate struct {
	host   string
	what   string // as people know it
	tls    string // folder of ca.pem and, where Docker wants to know who it is, cert.pem and key.pem; empty for none
	chosen bool   // the person said that it is to be this one
}

func (c candidate) dial(ctx context.Context) (*daemon, error) {
	if path, ok := strings.CutPrefix(c.host, "unix://"); ok { // the client does not tell why a socket cannot be reached
		conn, err := (&net.Dialer{Timeout: findPatience}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		conn.Close()
	}
	options := []client.Opt{client.WithHost(c.host), client.WithAPIVersionNegotiation()}
	patience, remote := findPatience, strings.HasPrefix(c.host, "ssh://")
	if remote {
		// As Docker's own command does it. Nobody is there to be asked for a password, or whether a
		// computer is to be trusted.
		over, err := connhelper.GetConnectionHelperWithSSHOpts(c.host, []string{"-oBatchMode=yes", "-oConnectTimeout=10"})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSSH, err)
		}
		options = []client.Opt{client.WithHost(over.Host), client.WithDialContext(over.Dialer), client.WithAPIVersionNegotiation()}
		patience = sshPatience
	}
	if c.tls != "" {
		options = append(options, client.WithTLSClientConfig(
			inFolder(c.tls, "ca.pem"), inFolder(c.tls, "cert.pem"), inFolder(c.tls, "key.pem")))
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := api.Info(ctx)
	if err != nil && remote {
		err = fmt.Errorf("%w: %w", errSSH, err)
	}
	if err == nil && versions.LessThan(api.ClientVersion(), oldest) {
		err = fmt.Errorf("%w: it is %s", errTooOld, info.ServerVersion)
	}
	if err == nil && info.OSType != "linux" {
		err = errWindowsContainers
	}
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	root := info.DockerRootDir
	if name, err := os.Hostname(); err != nil || name != info.Name || strings.Contains(info.OperatingSystem, "Docker Desktop") {
		root = ""
	}
	return &daemon{api: api, root: root, host: c.host, cpus: info.NCPU, lacking: lacking(info), doubtful: doubtful(info)}, nil
}

// inFolder is the path of a file, empty where there is none.
func inFolder(folder, name string) string {
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

var (
	errSSH               = errors.New("reach Docker over ssh")
	errTooOld            = errors.New("too old")
	errWindowsContainers = errors.New("it runs Windows containers")
)

// candidates are the places where Docker may listen, the likeliest first. What the person has
// chosen is the only one.
func (e *Engine) candidates() []candidate {
	if e.cfg.Host != "" {
		return []candidate{{host: e.cfg.Host, what: "Docker at " + e.cfg.Host, chosen: true}}
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		c := candidate{host: host, what: "Docker at " + host + " (DOCKER_HOST)", chosen: true}
		if os.Getenv("DOCKER_TLS_VERIFY") != "" {
			c.tls = cmp.Or(os.Getenv("DOCKER_CERT_PATH"), configFolder())
		}
		return []candidate{c}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return known("")
	}
	if c, ok := chosenContext(configFolder()); ok {
		return []candidate{c}
	}
	return known(home)
}

// configFolder is where Docker's own command keeps its settings.
func configFolder() string {
	if config := os.Getenv("DOCKER_CONFIG"); config != "" {
		return config
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".docker")
}

// chosenContext reads which of Docker's contexts is in use, unless it is the default one.
func chosenContext(config string) (candidate, bool) {
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var settings struct {
			CurrentContext string `json:"currentContext"`
		}
		if b, err := os.ReadFile(filepath.Join(config, "config.json")); err == nil {
			_ = json.Unmarshal(b, &settings) // one that cannot be read chooses none
		}
		name = settings.CurrentContext
	}
	if name == "" || name == "default" {
		return candidate{}, false
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	b, err := os.ReadFile(filepath.Join(config, "contexts", "meta", id, "meta.json"))
	if err != nil || json.Unmarshal(b, &meta) != nil || meta.Endpoints["docker"].Host == "" {
		return candidate{}, false
	}
	c := candidate{host: meta.Endpoints["docker"].Host, what: fmt.Sprintf("Docker's context %q", name), chosen: true}
	if tls := filepath.Join(config, "contexts", "tls", id, "docker"); isDir(tls) {
		c.tls = tls
	}
	return c, true
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ownerOf names what listens at a place where people's Dockers do; empty for another.
func ownerOf(host string) string {
	home, _ := os.UserHomeDir()
	for _, c := range known(home) {
		switch {
		case c.host != host:
		case c.what == "Docker" && runtime.GOOS != "linux": // it has this place, too
			return dockerDesktop
		default:
			return c.what
		}
	}
	return ""
}

// known are the sockets of what people install.
func known(home string) []candidate {
	if runtime.GOOS == "windows" {
		return []candidate{
			{host: "npipe:////./pipe/docker_engine", what: "Docker"},
			{host: "npipe:////./pipe/dockerDesktopLinuxEngine", what: dockerDesktop},
			{host: "npipe:////./pipe/podman-machine-default", what: "Podman"},
		}
	}
	list := []candidate{{host: "/var/run/docker.sock", what: "Docker"}}
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		list = append(list, candidate{host: run + "/docker.sock", what: "rootless Docker"}, candidate{host: run + "/podman/podman.sock", what: "Podman"})
	}
	if home != "" {
		for _, c := range []candidate{
			{host: ".docker/run/docker.sock", what: dockerDesktop},
			{host: ".docker/desktop/docker.sock", what: dockerDesktop},
			{host: ".orbstack/run/docker.sock", what: orbStack},
			{host: ".colima/default/docker.sock", what: "Colima"},
			{host: ".rd/docker.sock", what: "Rancher Desktop"},
			{host: ".local/share/containers/podman/machine/podman.sock", what: "Podman"},
		} {
			list = append(list, candidate{host: filepath.Join(home, c.host), what: c.what})
		}
	}
	for i := range list {
		list[i].host = "unix://" + list[i].host
	}
	return list
}

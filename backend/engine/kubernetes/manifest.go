package kubernetes

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"text/template"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/seccomp"
)

// manifest is what an administrator reads and applies, once for each namespace.
//
//go:embed manifest.yaml
var manifest string

var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,54}[a-z0-9])?$`)

// Wanted is what a manifest is for.
type Wanted struct {
	Namespace string
	Image     string // of machines' pods, by digest
	Processor string // that the images are for, as Go names it
	// User is whom the rights are for, as the cluster names him; empty for the service account of a
	// daemon in the cluster.
	User string
	// Daemon is the image of a team's daemon, by digest, which is to run in the cluster; empty for
	// none.
	Daemon string
	// Keep says that places are to keep machines in the namespace (see Host).
	Keep bool
	// Cluster are the settings of that daemon; its namespace and repository are Namespace and
	// Image's.
	Cluster Cluster
}

// Manifest is what a cluster's administrator applies for machines in a namespace: the namespace,
// the rights there, a network policy, and the system call filter for the nodes, which a program of
// the sandbox image puts there; also a team's daemon, where one is wanted.
func Manifest(w Wanted) (string, error) {
	if !namespaceName.MatchString(w.Namespace) {
		return "", machine.Invalid("%.80q cannot be the name of a namespace: it has small letters, digits and hyphens alone.", w.Namespace)
	}
	if w.Daemon != "" && w.User != "" {
		return "", machine.Invalid("With a daemon in the cluster, no person needs rights there: leave the user out.")
	}
	images := []string{w.Image}
	if w.Daemon != "" {
		images = append(images, w.Daemon)
	}
	for _, image := range images {
		if _, err := name.NewDigest(image); err != nil {
			return "", machine.Invalid("%.200q cannot be the name of an image.", image)
		}
	}
	if w.Processor != "amd64" && w.Processor != "arm64" {
		return "", machine.Invalid("There is no image for the processor %.20q.", w.Processor)
	}
	filter, err := seccomp.Flat()
	if err != nil {
		return "", err
	}
	own := w.Cluster
	own.Namespace = w.Namespace
	own.Repository, _, _ = strings.Cut(w.Image, "@")
	settings, err := json.Marshal(own)
	if err != nil {
		return "", err
	}
	made, err := template.New("manifest").Parse(manifest)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = made.Execute(&out, map[string]any{
		"Namespace": w.Namespace, "Image": w.Image, "User": w.User, "Profile": SeccompProfile,
		"Filter":    "    " + strings.ReplaceAll(string(filter), "\n", "\n    "),
		"Processor": w.Processor, "Binding": "forevervm-" + binding(w.User), "Daemon": w.Daemon, "Settings": string(settings), "PullSecret": own.PullSecret, "StorageClass": own.StorageClass, "Keep": w.Keep,
	})
	return out.String(), err
}

// binding names what gives a user the rights: each has one.
func binding(user string) string {
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:6])
}

package kubernetes

import (
	"bytes"
	_ "embed"
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

// Manifest is what a cluster's administrator applies for machines in a namespace: the namespace, the
// rights there, a network policy, and the system call filter for the nodes, which a program of the
// sandbox image puts there. user is whom the rights are for, as the cluster names him; empty for the
// service account of a daemon in the cluster.
func Manifest(namespace, image, user string) (string, error) {
	if !namespaceName.MatchString(namespace) {
		return "", machine.Invalid("%.80q cannot be the name of a namespace: it has small letters, digits and hyphens alone.", namespace)
	}
	if _, err := name.NewDigest(image); err != nil {
		return "", machine.Invalid("%.200q cannot be the name of an image.", image)
	}
	filter, err := seccomp.Flat()
	if err != nil {
		return "", err
	}
	made, err := template.New("manifest").Parse(manifest)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = made.Execute(&out, map[string]string{
		"Namespace": namespace, "Image": image, "User": user, "Profile": SeccompProfile,
		"Filter": "    " + strings.ReplaceAll(string(filter), "\n", "\n    "),
	})
	return out.String(), err
}

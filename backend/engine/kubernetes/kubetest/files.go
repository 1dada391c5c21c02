//go:build linux

package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

var (
	//go:embed hold.sh
	holdScript []byte
	//go:embed node.sh
	nodeScript []byte
)

const pauseImage = "forevervm.test/pause:1"

// kubeletConfig is the kubelet's configuration. A computer that is full, or has swap, is no reason
// not to start, and control groups of version 1 are not either.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix://%[1]s/state/containerd.sock
authentication: {anonymous: {enabled: false}, x509: {clientCAFile: %[1]s/pki/ca.crt}}
authorization: {mode: Webhook}
resolvConf: ""
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  {memory.available: 100Mi, nodefs.available: 0%%, imagefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.inodesFree: 0%%}
volumePluginDir: %[1]s/kubelet/plugins
podLogsDir: %[1]s/podlogs
seccompDefault: true
nodeLeaseDurationSeconds: 8
nodeStatusUpdateFrequency: 2s
`

// containerdConfig is containerd's configuration. Not every computer's root may lower a process's
// score for when memory runs out.
const containerdConfig = `version = 3
root = '%[1]s/containerd'
state = '%[1]s/state'
[grpc]
  address = '%[1]s/state/containerd.sock'
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = '` + pauseImage + `'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = '%[2]s/runc'
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['%[2]s/cni']
    conf_dir = '%[1]s/cni'
`

// networkConfig gives pods addresses by which they reach each other, and no way out of the node.
const networkConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "%[1]s/ipam", "ranges": [[{"subnet": "10.244.0.0/24"}]],
    "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

// write writes all that a node starts from. Outside of the node, its API server is at address.
func write(folder, binaries, address string) error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	server, err := ca.server("kube-apiserver", net.IPv4(127, 0, 0, 1), net.IPv4(10, 234, 0, 1), net.IPv4(10, 96, 0, 1))
	if err != nil {
		return err
	}
	admin, err := ca.client("admin", "system:masters")
	if err != nil {
		return err
	}
	node, err := ca.client("system:node:node1", "system:nodes")
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	accounts, public, err := keys(key)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"hold.sh":               holdScript,
		"node.sh":               nodeScript,
		"kubelet.yaml":          fmt.Appendf(nil, kubeletConfig, folder),
		"containerd.toml":       fmt.Appendf(nil, containerdConfig, folder, binaries),
		"cni/pods.conflist":     fmt.Appendf(nil, networkConfig, folder),
		"pki/ca.crt":            ca.pem,
		"pki/apiserver.crt":     server.certificate,
		"pki/apiserver.key":     server.key,
		"pki/admin.crt":         admin.certificate,
		"pki/admin.key":         admin.key,
		"pki/accounts.key":      accounts,
		"pki/accounts.pub":      public,
		"log/.keep":             nil,
		"volumes/.keep":         nil,
		"kubelet/seccomp/.keep": nil,
	}
	for name, config := range map[string]*api.Config{
		"kubeconfig":   config(address, ca, admin),
		"admin.conf":   config("127.0.0.1:6443", ca, admin),
		"kubelet.conf": config("127.0.0.1:6443", ca, node),
	} {
		if files[name], err = clientcmd.Write(*config); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// config is how a client finds the API server and says who it is.
func config(address string, ca *authority, who pair) *api.Config {
	c := api.NewConfig()
	c.Clusters["tests"] = &api.Cluster{Server: "https://" + address, CertificateAuthorityData: ca.pem}
	c.AuthInfos["tests"] = &api.AuthInfo{ClientCertificateData: who.certificate, ClientKeyData: who.key}
	c.Contexts["tests"] = &api.Context{Cluster: "tests", AuthInfo: "tests"}
	c.CurrentContext = "tests"
	return c
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner is what StorageClasses name.
const provisioner = "forevervm.test/volumes"

// volumesCommand makes volumes for claims, as a cluster's storage driver does. It runs in the
// node's mount name space, so that the kubelet finds its mounts and nothing outside of the node
// does.
func volumesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "volumes KUBECONFIG FOLDER",
		Short: "Make volumes in a folder",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", args[0])
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			// Tests kill the API server: the library's first try again is 15 s later.
			again := workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 2*time.Second)
			controller.NewProvisionController(cmd.Context(), client, provisioner, volumes(args[1]),
				controller.LeaderElection(false), controller.RateLimiter(again)).Run(cmd.Context())
			return nil
		},
	}
}

// volumes is the folder that has a folder for each volume.
type volumes string

// Provision may be called again for the same volume, where what follows has failed.
func (v volumes) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	size := o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	folder := filepath.Join(string(v), o.PVName)
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		err = os.Chmod(folder, 0o777) // whatever the umask is
	}
	if err == nil && o.StorageClass.Parameters["medium"] == "memory" {
		// Unlike a folder, it gets full.
		if err = unmount(folder); err == nil {
			err = unix.Mount("volume", folder, "tmpfs", 0, fmt.Sprintf("mode=0777,size=%d", size.Value()))
		}
	}
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			VolumeMode:                    o.PVC.Spec.VolumeMode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			// Not hostPath, for which the kubelet ignores fsGroup.
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{o.SelectedNodeName},
				}},
			}}}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete is called when no pod has the volume any more.
func (v volumes) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	folder := filepath.Join(string(v), volume.Name)
	if err := unmount(folder); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// unmount does nothing where nothing is mounted, or no folder is.
func unmount(folder string) error {
	err := unix.Unmount(folder, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

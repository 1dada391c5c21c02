package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/engine/kubernetes"
	"github.com/forevervm/desktop/backend/home"
)

// defaultNamespace is the namespace of machines where nobody names one.
const defaultNamespace = "forevervm"

func (a *app) kubernetesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kubernetes", Short: "Prepare a Kubernetes cluster for machines",
		Long: "Prepare a Kubernetes cluster for machines. First put the sandbox image into a registry (push). Then the cluster's\n" +
			"administrator reads and applies the manifest. Then add the cluster: forevervm places add kubernetes.",
	}
	cmd.AddCommand(a.kubernetesPushCommand(), a.kubernetesManifestCommand())
	return cmd
}

func (a *app) kubernetesPushCommand() *cobra.Command {
	daemon := false
	cmd := &cobra.Command{
		Use: "push REPOSITORY", Short: "Put this version's sandbox image into a registry", Args: cobra.ExactArgs(1),
		Long: "Put this version's sandbox image into a repository of a registry, such as registry.example/forevervm/sandbox, with the\n" +
			"rights that `docker login` has given. Do so after each update of ForeverVM. The image is for this computer's processor.\n" +
			"With --daemon, the image of a team's daemon is put there, too.",
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := a.ownImages()
			if err != nil {
				return err
			}
			if daemon && runtime.GOOS != "linux" {
				return errors.New("the daemon's image has this very program, which has to be for Linux: run this on Linux")
			}
			refs, err := images.Push(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if daemon {
				ref, err := images.PushDaemon(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				refs = append(refs, ref)
			}
			return a.print(struct {
				Images []string `json:"images"`
			}{refs}, func(w io.Writer) { fmt.Fprintln(w, strings.Join(refs, "\n")) })
		},
	}
	cmd.Flags().BoolVar(&daemon, "daemon", false, "put the image of a team's daemon there, too")
	return cmd
}

func (a *app) kubernetesManifestCommand() *cobra.Command {
	wanted, repository, daemon := kubernetes.Wanted{}, "", false
	cmd := &cobra.Command{
		Use: "manifest", Short: "Print what a cluster's administrator applies for machines", Args: cobra.NoArgs,
		Long: "Print what a cluster's administrator reads and applies, once: a namespace, the rights there, a network policy, and the\n" +
			"filter of system calls, which a DaemonSet puts onto each node. Nobody gets a right beyond the namespace. With --keep,\n" +
			"places may keep their machines there (forevervm places add kubernetes --keep). With --daemon, a team's daemon runs there,\n" +
			"too: docs/kubernetes.md says how people use it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			images, err := a.ownImages()
			if err != nil {
				return err
			}
			if err := images.Want(cmd.Context(), &wanted, repository, daemon); err != nil {
				return err
			}
			text, err := kubernetes.Manifest(wanted)
			if err != nil {
				return err
			}
			return a.print(struct {
				Manifest string `json:"manifest"`
			}{text}, func(w io.Writer) { fmt.Fprint(w, text) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&wanted.Namespace, "namespace", defaultNamespace, "the namespace for machines")
	flags.StringVar(&repository, "repository", "", "where the sandbox image is, such as registry.example/forevervm/sandbox")
	flags.StringVar(&wanted.User, "user", "", "who gets the rights, as the cluster names him; without it a service account does")
	flags.BoolVar(&wanted.Keep, "keep", false, "let places keep their machines there; needs Kubernetes 1.35")
	flags.BoolVar(&daemon, "daemon", false, "let a team's daemon run there, too")
	flags.StringVar(&wanted.Cluster.PullSecret, "pull-secret", "", "a Secret of the namespaces that the registry wants")
	flags.StringVar(&wanted.Cluster.StorageClass, "storage-class", "", "of a team's daemon: the class of its volume and of machines' volumes")
	_ = cmd.MarkFlagRequired("repository") // the flag is there
	return cmd
}

// ownImages are those of the parts beside this program. What is found of them is kept with the
// daemon's files.
func (a *app) ownImages() (*kubernetes.Images, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dirs, err := home.Resolve(a.home)
	if err == nil {
		err = dirs.Make()
	}
	if err != nil {
		return nil, err
	}
	return kubernetes.ImagesBeside(program, dirs.Data), nil
}

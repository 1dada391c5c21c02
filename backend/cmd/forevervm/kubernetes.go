package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/engine/kubernetes"
	"github.com/forevervm/desktop/backend/engine/local"
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
	return &cobra.Command{
		Use: "push REPOSITORY", Short: "Put this version's sandbox image into a registry", Args: cobra.ExactArgs(1),
		Long: "Put this version's sandbox image into a repository of a registry, such as registry.example/forevervm/sandbox, with the\n" +
			"rights that `docker login` has given. Do so after each update of ForeverVM. The image is for this computer's processor.",
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := a.ownImages()
			if err != nil {
				return err
			}
			ref, err := images.Push(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(struct {
				Image string `json:"image"`
			}{ref}, func(w io.Writer) { fmt.Fprintln(w, ref) })
		},
	}
}

func (a *app) kubernetesManifestCommand() *cobra.Command {
	namespace, repository, user := "", "", ""
	cmd := &cobra.Command{
		Use: "manifest", Short: "Print what a cluster's administrator applies for machines", Args: cobra.NoArgs,
		Long: "Print what a cluster's administrator reads and applies, once: a namespace, the rights there, a network policy, and the\n" +
			"filter of system calls, which a DaemonSet puts onto each node. Nobody gets a right beyond the namespace.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			images, err := a.ownImages()
			if err != nil {
				return err
			}
			parts, err := images.Store.Parts("base")
			if err != nil {
				return err
			}
			digest, err := images.Digest(cmd.Context(), parts)
			if err != nil {
				return err
			}
			text, err := kubernetes.Manifest(namespace, repository+"@"+digest, user)
			if err != nil {
				return err
			}
			return a.print(struct {
				Manifest string `json:"manifest"`
			}{text}, func(w io.Writer) { fmt.Fprint(w, text) })
		},
	}
	cmd.Flags().StringVar(&namespace, "namespace", defaultNamespace, "the namespace for machines")
	cmd.Flags().StringVar(&repository, "repository", "", "where the sandbox image is, such as registry.example/forevervm/sandbox")
	cmd.Flags().StringVar(&user, "user", "", "who gets the rights, as the cluster names him; without it a service account does")
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
	bin, log := filepath.Dir(program), slog.New(slog.DiscardHandler)
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: dirs.Data, Log: log})
	return &kubernetes.Images{Store: store, Supervisor: filepath.Join(bin, "supervisor"), Log: log}, nil
}

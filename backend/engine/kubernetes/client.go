package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
)

// apiPatience bounds what a cluster does at once.
const apiPatience = 30 * time.Second

// quiet keeps client-go from writing on standard error, which it does where a connection ends as it
// should. What matters comes as an error.
var quiet = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// client speaks to one namespace of a cluster.
type client struct {
	api       kubernetes.Interface
	config    *rest.Config
	namespace string
}

// connect reads the kubeconfig. It asks the cluster nothing.
func (c Cluster) connect() (*client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if files := filepath.SplitList(c.Kubeconfig); len(files) == 1 {
		rules.ExplicitPath = files[0]
	} else if len(files) > 1 {
		rules.Precedence = files
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if err != nil {
		return nil, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: fmt.Sprintf("The kubeconfig has no cluster for the context %q: %v. `kubectl config get-contexts` lists the contexts.", c.Context, err), Cause: err,
		}
	}
	config.QPS, config.Burst = 50, 100 // a machine's start takes ten calls, and many start at once
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The kubeconfig cannot be used: %v.", err), Cause: err}
	}
	return &client{api: api, config: config, namespace: c.Namespace}, nil
}

// running is a program that runs in a pod. Its input and output are one connection.
type running struct {
	stdin  *io.PipeWriter
	stdout *io.PipeReader
	stderr iox.Tail
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing more comes
	err    error         // valid then
}

// exec runs the supervisor program in a pod with these arguments, until ctx is done or the
// connection is closed.
func (c *client) exec(ctx context.Context, pod string, args ...string) (*running, error) {
	return c.run(ctx, pod, append([]string{supervisorPath}, args...))
}

// run is exec for any program of the pod's.
func (c *client) run(ctx context.Context, pod string, command []string) (*running, error) {
	url := c.api.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("exec").
		VersionedParams(&core.PodExecOptions{
			Container: containerName, Command: command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	sockets, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, url.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, url)
	if err != nil {
		return nil, err
	}
	executor, err := remotecommand.NewFallbackExecutor(sockets, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	r := &running{stdin: stdin, stdout: stdout, cancel: cancel, done: make(chan struct{})}
	go func() {
		r.err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &r.stderr})
		close(r.done)
		cancel()
		out.CloseWithError(cmp.Or(r.err, io.EOF))
		in.CloseWithError(io.ErrClosedPipe)
	}()
	return r, nil
}

func (r *running) Read(b []byte) (int, error)  { return r.stdout.Read(b) }
func (r *running) Write(b []byte) (int, error) { return r.stdin.Write(b) }

// Close ends the program's input, and the program.
func (r *running) Close() error {
	r.end()
	return nil
}

func (r *running) end() {
	r.endInput()
	r.cancel()
	_ = r.stdout.Close() // so that who writes to nobody ends
	<-r.done
}

func (r *running) endInput() { _ = r.stdin.Close() } // a pipe's end never fails

// give runs the program with that as its input, and waits for its end.
func (c *client) give(ctx context.Context, pod string, input io.Reader, args ...string) error {
	r, err := c.exec(ctx, pod, args...)
	if err != nil {
		return err
	}
	defer r.end()
	_, copied := io.Copy(r.stdin, input)
	r.endInput()
	_, _ = io.Copy(io.Discard, r.stdout)
	<-r.done
	return errors.Join(r.why(), copied)
}

// take runs the program, has read read its output, and waits for its end.
func (c *client) take(ctx context.Context, pod string, read func(io.Reader) error, args ...string) error {
	r, err := c.exec(ctx, pod, args...)
	if err != nil {
		return err
	}
	defer r.end()
	r.endInput()
	if err := read(r.stdout); err != nil {
		select {
		case <-r.done:
			return errors.Join(err, r.why())
		default:
			return err
		}
	}
	const rest = 64 << 10 // an archive may have some more zeros
	_, _ = io.CopyN(io.Discard, r.stdout, rest)
	r.end()
	return r.why()
}

// refused says whether a program in a pod ended because it could not do its work. One that was
// killed with its pod has another status.
func refused(err error) bool {
	var exited exec.CodeExitError
	return errors.As(err, &exited) && exited.Code == exitFailed
}

// exitFailed is sandbox.ExitFailed, which only Linux has.
const exitFailed = 1

// errSilent says that a program in a pod could not be run, or its connection broke.
var errSilent = errors.New("the pod does not answer")

// why says how the program ended; nil where it did its work.
func (r *running) why() error {
	switch {
	case r.err == nil:
		return nil
	case refused(r.err):
		return fmt.Errorf("%w: %s", r.err, r.stderr.String())
	}
	return fmt.Errorf("%w: %w", errSilent, r.err)
}

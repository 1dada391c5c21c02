package blocks

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// second is the environment variable that makes this test a process beside the test that started
// it: it puts, restores and deletes in the folder that it names, until its standard input ends.
const second = "BLOCKS_TEST_FOLDER"

func TestMain(m *testing.M) {
	if root := os.Getenv(second); root != "" {
		if err := beside(root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beside(root string) error {
	ended := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(ended)
	}()
	w := world{root: root, content: map[string]map[string][]byte{}}
	s := w.open()
	for i := 0; ; i++ {
		select {
		case <-ended:
			fmt.Println(i)
			return nil
		default:
		}
		if err := putAndLook(&w, s, "second"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
}

// putAndLook puts something that has much in common with what others put, at the same time,
// restores it, and deletes it.
func putAndLook(w *world, s *Store, name string) error {
	numbers := make([]int, 20)
	for i := range numbers {
		numbers[i] = rand.IntN(40)
	}
	files := map[string][]byte{"f": pages(numbers...)}
	dir, err := os.MkdirTemp(w.root, "put")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "f"), files["f"], 0o600); err != nil {
		return err
	}
	if _, err := s.Put(context.Background(), dir, []string{"f"}, "", w.path(name), json.RawMessage(`{}`), nil); err != nil {
		return err
	}
	own := world{root: w.root, content: map[string]map[string][]byte{name: files}}
	if err := own.restored(s, name); err != nil {
		return err
	}
	return os.Remove(w.path(name))
}

// Several put, restore, delete and collect at once, in this process and in another.
func TestTogether(t *testing.T) {
	w := newWorld(t, t.TempDir())
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), second+"="+w.root)
	other.Stderr = os.Stderr
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	kept, err := w.put(w.s, map[string][]byte{"f": pages(1, 2, 3, 4, 5)}, "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	const rounds = 40
	for worker := range 2 {
		s := w.s
		if worker == 1 {
			s = w.open()
		}
		go func() {
			var err error
			for i := range rounds {
				if err = putAndLook(w, s, fmt.Sprintf("worker%d-%d", worker, i)); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	go func() {
		s := w.open()
		var err error
		for range rounds {
			if _, err = s.Collect(context.Background()); err != nil {
				break
			}
		}
		done <- err
	}()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	stdin.Close()
	var n int
	if _, err := fmt.Fscan(stdout, &n); err != nil || n == 0 {
		t.Errorf("the second process did %d rounds, %v", n, err)
	}
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	if err := w.restored(w.open(), kept); err != nil {
		t.Error(err)
	}
	if r, err := w.open().Check(t.Context(), true); err != nil || len(r.Damage)+len(r.Lost) > 0 || r.Recipes != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

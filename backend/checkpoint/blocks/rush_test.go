package blocks

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What nobody waits for stands back while somebody is in a rush, and is done all the same when that
// never ends.
func TestPutStandsBack(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 3*segment), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { decoders = sync.Pool{New: decoders.New} }) // what is made in a bubble must not be used outside
	synctest.Test(t, func(t *testing.T) {
		s := Open(filepath.Join(dir, "blocks"), func() ([]string, error) { return nil, nil })
		s.small = 0 // it is about what is large
		put := func(recipe string) time.Duration {
			t.Helper()
			begin := time.Now()
			r, err := s.Put(t.Context(), dir, []string{"file"}, "", filepath.Join(dir, recipe), nil, nil)
			if err == nil {
				err = s.Verify(t.Context(), r)
			}
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		first, second := s.Rush(), s.Rush()
		if d := put("first"); d != 6*standBack {
			t.Errorf("with somebody in a rush all the time it took %v", d)
		}
		first()
		time.AfterFunc(standBack/2, second)
		if d := put("second"); d != standBack/2 {
			t.Errorf("with somebody in a rush for a moment it took %v", d)
		}
		if d := put("third"); d != 0 {
			t.Errorf("with nobody in a rush any more it took %v", d)
		}
	})
}

//go:build real

package daemon_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/exchange"
)

// What a person puts into their folder is there when code looks, and what code leaves for them
// lands there.
func TestThePersonsFolder(t *testing.T) {
	d := sharedDaemon(t)
	c := newSpecCaller(t, d)
	folder := as[api.Status](c, c.send("GET", "/api/status", nil)).Folder
	if filepath.Base(folder) != "ForeverVM" {
		t.Fatalf("the folder is %q", folder)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(folder, "year")) })
	put := func(content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(folder, "year"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "year", "sales.csv"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a,b\n1,2\n")
	name := c.machine()
	if in := c.run(name, "open('/home/anna/Desktop/sales.csv')"); !strings.Contains(in.Error, `the folder "ForeverVM" in your documents`) || !strings.Contains(in.Error, "/root/inbox/sales.csv") {
		t.Errorf("a path of the computer ends with %s", in.Error)
	}
	if in := c.run(name, "import pandas; pandas.read_csv('inbox/year/sales.csv').b.sum()"); in.Value == nil || *in.Value != "np.int64(2)" {
		t.Fatalf("%+v", in)
	}
	put("a,b\n1,40\n")
	c.send("POST", "/api/machines/"+name+"/swap", nil)
	// The path is in no code any more, and the machine has slept.
	if in := c.run(name, "import glob; p = [f for f in glob.glob('/root/*/*/*.csv')]; pandas.read_csv(p[0]).b.sum()"); in.Value == nil || *in.Value != "np.int64(40)" {
		t.Errorf("what the person changed is read as %+v", in)
	}
	listed := as[api.FileList](c, c.send("GET", "/api/machines/"+name+"/files?path=inbox/year", nil))
	if len(listed.Items) != 1 || listed.Items[0].Name != "sales.csv" {
		t.Errorf("%+v", listed)
	}
	c.fails(c.send("POST", "/api/machines/"+name+"/results/open", nil), 409, "Conflict")
	c.run(name, "import os; os.makedirs('outbox/plots', exist_ok=True); open('outbox/plots/a.txt', 'w').write('for you'); open('inbox/year/sales.csv', 'w').write('scribbled')")
	landed := filepath.Join(folder, exchange.Results, name, "plots", "a.txt")
	until(t, "the result to land", func() bool {
		data, _ := os.ReadFile(landed)
		return string(data) == "for you"
	})
	// The folder takes the machine's title with the next result, and opens.
	as[api.Machine](c, c.send("PATCH", "/api/machines/"+name, api.MachineChange{Title: new("Sales of the year")}))
	c.run(name, "open('outbox/b.txt', 'w').write('more')")
	titled := filepath.Join(folder, exchange.Results, "Sales of the year")
	until(t, "the folder to take the title", func() bool {
		_, err := os.Stat(filepath.Join(titled, "b.txt"))
		return err == nil
	})
	notes := noteOpened(t)
	as[api.Opened](c, c.send("POST", "/api/machines/"+name+"/results/open", nil))
	if opened, err := os.ReadFile(notes); err != nil || string(opened) != titled {
		t.Errorf("opened %q, %v", opened, err)
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	c.fails(c.send("POST", "/api/machines/"+name+"/results/open", nil), 409, "NotOpened")
	if data, err := os.ReadFile(filepath.Join(folder, "year", "sales.csv")); err != nil || string(data) != "a,b\n1,40\n" {
		t.Errorf("the person's file is %q, %v", data, err)
	}
}

// A machine that is swapped in the middle of a transfer is woken for the rest.
func TestTransfersOutliveASwap(t *testing.T) {
	d := sharedDaemon(t)
	c := newSpecCaller(t, d)
	name := c.machine()
	path := "/api/machines/" + name
	data := bytes.Repeat([]byte("0123456789abcdef"), 400_000)
	asleep := func() {
		if a := c.send("POST", path+"/swap", nil); a.StatusCode != http.StatusOK {
			t.Errorf("it is not swapped: %d %s", a.StatusCode, a.body)
		}
	}
	half := &pausing{from: bytes.NewReader(data), at: len(data) / 2, pause: asleep}
	req := c.request(t.Context(), http.MethodPut, path+"/files/content?path=big", half)
	req.ContentLength = int64(len(data))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()

	resp, err = http.DefaultTransport.RoundTrip(c.request(t.Context(), http.MethodGet, path+"/files/content?path=big", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := io.ReadAll(&pausing{from: resp.Body, at: len(data) / 2, pause: asleep})
	if err != nil || !bytes.Equal(back, data) {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}

	// A sender that breaks off leaves nothing, and what was there stays.
	cut := c.request(t.Context(), http.MethodPut, path+"/files/content?path=big", io.MultiReader(bytes.NewReader(data[:3<<20]), failing{}))
	cut.ContentLength = int64(len(data)) + 1
	if resp, err := http.DefaultTransport.RoundTrip(cut); err == nil {
		resp.Body.Close()
		t.Errorf("half a file is answered with %s", resp.Status)
	}
	until(t, "what broke off to be gone", func() bool {
		in := c.run(name, "import os; [n for n in os.listdir('/root') if n.startswith('.forevervm')], os.path.getsize('/root/big')")
		return in.Value != nil && *in.Value == "([], 6400000)"
	})

	// A file that is changed while it is read breaks the answer off.
	resp, err = http.DefaultTransport.RoundTrip(c.request(t.Context(), http.MethodGet, path+"/files/content?path=big", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	change := func() { c.run(name, "open('/root/big', 'wb').write(b'y' * 6400000)") }
	if mixed, err := io.ReadAll(&pausing{from: resp.Body, at: 1 << 20, pause: change}); err == nil && bytes.Contains(mixed, []byte("y")) {
		t.Errorf("%d bytes of two states came as one", len(mixed))
	}
}

// pausing does something in the middle of what is read through it.
type pausing struct {
	from  io.Reader
	at    int
	pause func()
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.at <= 0 && p.pause != nil {
		p.pause()
		p.pause = nil
	}
	n, err := p.from.Read(b)
	p.at -= n
	return n, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, io.ErrClosedPipe
}

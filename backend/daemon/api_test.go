//go:build real

package daemon_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/forevervm/desktop/backend/api"
)

func ptr[T any](v T) *T { return &v }

// Every described call, as the window and the command line make it, answers as described.
func TestTheAPIAnswersAsDescribed(t *testing.T) {
	d := sharedDaemon(t)
	c := newSpecCaller(t, d)

	t.Run("daemon", func(*testing.T) { c.daemonCalls() })
	t.Run("machines", func(t *testing.T) { c.machineCalls(t) })
	t.Run("instructions", func(t *testing.T) { c.instructionCalls(t) })
	t.Run("checkpoints", func(t *testing.T) { c.checkpointCalls(t) })
	t.Run("parcels", func(t *testing.T) { c.parcelCalls(t) })
	t.Run("backups", func(t *testing.T) { c.backupCalls(t) })
	t.Run("storage", func(t *testing.T) { c.storageCalls(t); c.moveCalls(t) })
	t.Run("inside", func(t *testing.T) { c.insideCalls(t) })
	t.Run("apps", func(t *testing.T) { c.appCalls(t) })
	t.Run("events", func(t *testing.T) { c.eventCalls(t) })

	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // a part of the calls that failed is tried again
	}
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	// The first ends the daemon, the second moves its files; the others need the hosted service, a
	// keyring, or a release. Tests of the command line, of moves and of updates call them.
	elsewhere := []string{"shutdown", "moveFiles", "hostedLogin", "hostedUse", "hostedLogout", "hostedSignup", "removeOfficial", "lookForUpdate", "installUpdate", "setSecret", "removeSecret", "lookAtPlace", "addPlace", "removePlace", "moveMachine"}
	for path, item := range spec.Paths.Map() {
		for method, operation := range item.Operations() {
			if !slices.Contains(elsewhere, operation.OperationID) && !c.called[operation.OperationID] {
				t.Errorf("%s %s was never called with success here", method, path)
			}
		}
	}
}

func (c *caller) daemonCalls() {
	if health := as[api.Health](c, c.send("GET", "/health", nil)); health.Status != "ok" || health.Version == "" {
		c.t.Errorf("%+v", health)
	}
	status := as[api.Status](c, c.send("GET", "/api/status", nil))
	if len(status.Engines) != 2 || status.Engines[1].Name != "docker" || status.Engines[0].Name != "native" || !status.Engines[0].Default || len(status.Engines[0].Problems) != 0 {
		c.t.Errorf("engines: %+v", status.Engines)
	}
	if status.PID == 0 || status.Home == "" || status.DiskFreeBytes == 0 || status.StartedAt.IsZero() {
		c.t.Errorf("%+v", status)
	}
	if engine := as[api.Engine](c, c.send("POST", "/api/engines/native/start", nil)); engine.Name != "native" || len(engine.Problems) != 0 {
		c.t.Errorf("an engine that works is started as %+v", engine)
	}
	if now := as[api.Settings](c, c.send("GET", "/api/settings", nil)); !reflect.DeepEqual(as[api.Settings](c, c.send("PATCH", "/api/settings", now)), now) {
		c.t.Error("setting what holds changes it")
	}
	if keys := as[api.List[api.TypedKey]](c, c.send("GET", "/api/machines/"+c.machine()+"/typed-keys", nil)); len(keys.Items) != 0 {
		c.t.Errorf("keys: %+v", keys.Items)
	}
	if all := as[api.List[api.Place]](c, c.send("GET", "/api/places", nil)); len(all.Items) != 0 {
		c.t.Errorf("places: %+v", all.Items)
	}
	if all := as[api.List[api.Secret]](c, c.send("GET", "/api/secrets", nil)); len(all.Items) != 0 {
		c.t.Errorf("secrets: %+v", all.Items)
	}
	person := as[api.MadePerson](c, c.send("POST", "/api/people", api.NewPerson{Name: "Anna"}))
	renewed := as[api.MadePerson](c, c.send("POST", "/api/people/"+person.Person.ID+"/token", nil))
	if all := as[api.List[api.Person]](c, c.send("GET", "/api/people", nil)); len(all.Items) != 1 || all.Items[0].Name != "Anna" || person.Token == "" || renewed.Token == person.Token {
		c.t.Errorf("%+v, made %+v", all, person.Person)
	}
	if gone := as[api.Person](c, c.send("DELETE", "/api/people/"+person.Person.ID, nil)); gone.RemovedAt == nil || gone.Machines != 0 {
		c.t.Errorf("%+v", gone)
	}
	made := as[api.MadeToken](c, c.send("POST", "/api/tokens", api.NewToken{Name: "script"}))
	// AI apps over HTTP have theirs as soon as they have asked for something.
	isScript := func(g api.Grant) bool { return g.Name == "script" && g.ID == made.Grant.ID }
	if all := as[api.List[api.Grant]](c, c.send("GET", "/api/tokens", nil)); !slices.ContainsFunc(all.Items, isScript) || made.Token == "" {
		c.t.Errorf("%+v, made %+v", all, made.Grant)
	}
	as[api.Grant](c, c.send("PATCH", "/api/tokens/"+made.Grant.ID, api.AllowToken{}))
	if record := as[api.Record](c, c.send("GET", "/api/record?limit=2", nil)); len(record.Items) != 2 || record.Items[0].About != "revoked: script" || record.Head == "" || record.Broken != 0 {
		c.t.Errorf("%+v", record)
	}
	if account := as[api.Hosted](c, c.send("GET", "/api/hosted", nil)); account.SignedIn || account.Server == "" {
		c.t.Errorf("%+v", account)
	}
	if update := as[api.Update](c, c.send("GET", "/api/update", nil)); update.Version == "" || update.Newer != nil || !strings.HasPrefix(update.Problem, "This build") || !strings.HasSuffix(update.Problem, ".") {
		c.t.Errorf("%+v", update)
	}
	code := as[api.OpenCode](c, c.send("POST", "/api/open", nil))
	if token := as[api.OpenToken](c, c.send("POST", "/open", code)); token.Token != c.d.token {
		c.t.Error("the page gets another token")
	}
	c.fails(c.send("POST", "/open", code), 403, "WrongCode")
}

func (c *caller) machineCalls(t *testing.T) {
	c.t = t
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	made := as[api.Machine](c, c.send("POST", "/api/machines", api.NewMachine{
		Name: "described-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))[:10], Title: "A title", Tags: map[string]string{"a": "1", "b": "2"}, MemoryMB: 512, ExpiresAt: &expires,
	}))
	name := made.Name
	defer c.send("DELETE", "/api/machines/"+name+"?purge=true", nil)
	if made.Title != "A title" || made.MemoryMB != 512 || made.ExpiresAt == nil || !made.ExpiresAt.Equal(expires) || made.NextSeq != 0 ||
		*made.Client != (api.Client{Name: "daemon test", Version: "1.0"}) {
		t.Errorf("%+v", made)
	}
	c.fails(c.send("POST", "/api/machines", api.NewMachine{Name: name}), 409, "NameTaken")
	c.fails(c.send("POST", "/api/machines", api.NewMachine{Name: "new"}), 400, "Invalid")
	c.fails(c.send("POST", "/api/machines", api.NewMachine{Checkpoint: "x"}), 400, "Invalid")
	c.fails(c.send("GET", "/api/machines/nobody-here", nil), 404, "MachineNotFound")

	changed := as[api.Machine](c, c.send("PATCH", "/api/machines/"+name, api.MachineChange{
		Name: ptr(name + "-b"), Title: ptr("Other"), Tags: map[string]*string{"a": nil, "c": ptr("3")}, MemoryMB: ptr(768), ExpiresAt: api.Never(),
	}))
	if changed.Name != name+"-b" || changed.Title != "Other" || changed.Tags["b"] != "2" || changed.Tags["c"] != "3" || len(changed.Tags) != 2 || changed.MemoryMB != 768 || changed.ExpiresAt != nil {
		t.Errorf("%+v", changed)
	}
	if old := as[api.Machine](c, c.send("GET", "/api/machines/"+name, nil)); old.Name != name+"-b" || old.ID != made.ID {
		t.Errorf("the old name leads to %+v", old)
	}
	name = changed.Name

	find := func(query string) int {
		found := 0
		for _, m := range as[api.List[api.Machine]](c, c.send("GET", "/api/machines?"+query, nil)).Items {
			if m.ID == made.ID {
				found++
			}
		}
		return found
	}
	before := url.QueryEscape(made.CreatedAt.Add(time.Second).Format(time.RFC3339))
	for query, want := range map[string]int{
		"": 1, "tag=c%3D3": 1, "tag=c%3D3&tag=b%3D2": 1, "tag=c%3D4": 0, "tag=c%3D3&tag=b%3D3": 0, "q=other": 1, "q=nothing-like-it": 0,
		"engine=native": 1, "engine=hosted": 0, "deleted=true": 0, "created_before=" + before: 1, "created_after=" + before: 0,
		"state=idle&state=swapped&state=waking": 1, "state=running": 0,
	} {
		if got := find(query); got != want {
			t.Errorf("the list with %q has it %d times, want %d", query, got, want)
		}
	}
	for _, query := range []string{"tag=x", "limit=0", "created_after=yesterday", "deleted=perhaps"} {
		c.fails(c.send("GET", "/api/machines?"+query, nil), 400, "Invalid")
	}
	seen := map[string]bool{}
	second := c.machine()
	for cursor := "first"; cursor != ""; {
		query := "/api/machines?limit=1"
		if cursor != "first" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		page := as[api.List[api.Machine]](c, c.send("GET", query, nil))
		for _, m := range page.Items {
			if seen[m.Name] {
				t.Fatalf("%s is on two pages", m.Name)
			}
			seen[m.Name] = true
		}
		cursor = page.Next
	}
	if !seen[name] || !seen[second] {
		t.Error("pages miss machines")
	}

	if m := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/wake", nil)); m.State != "idle" {
		t.Errorf("woken: %+v", m)
	}
	if m := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/interrupt", nil)); m.Name != name {
		t.Errorf("%+v", m)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if m := as[api.Machine](c, c.send("PUT", "/api/machines/"+name+"/shared", api.SharedFolder{Path: folder, Writable: true})); m.Shared == nil || *m.Shared != (api.SharedFolder{Path: folder, Writable: true}) {
		t.Errorf("shared: %+v", m.Shared)
	}
	for _, refused := range []string{"", "relative", "/", folder + "/nothing", c.d.dirs.Data} {
		c.fails(c.send("PUT", "/api/machines/"+name+"/shared", api.SharedFolder{Path: refused}), 400, "Invalid")
	}
	if m := as[api.Machine](c, c.send("DELETE", "/api/machines/"+name+"/shared", nil)); m.Shared != nil {
		t.Errorf("shared no more: %+v", m.Shared)
	}
	if m := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/swap", nil)); m.State != "swapped" {
		t.Errorf("swapped: %+v", m)
	}
	if a := c.send("DELETE", "/api/machines/"+name, nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if find("deleted=true") != 1 || find("") != 0 {
		t.Error("a machine that was deleted is in the bin, and only there")
	}
	if m := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/restore", nil)); m.DeletedAt != nil || m.State != "swapped" {
		t.Errorf("restored: %+v", m)
	}
	if a := c.send("DELETE", "/api/machines/"+name+"?purge=true", nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	c.fails(c.send("GET", "/api/machines/"+name, nil), 404, "MachineNotFound")
}

func (c *caller) instructionCalls(t *testing.T) {
	c.t = t
	name := c.machine()
	path := "/api/machines/" + name + "/instructions"
	a := c.send("POST", path, api.Execute{Code: "import matplotlib.pyplot as plt\nprint('findme ä')\nplt.plot([1])\nplt.show()\nimport pandas as pd\npd.DataFrame({'a': [1]})", Formats: []string{"svg"}})
	if in := as[api.Instruction](c, a); in.Seq != 0 || in.Machine != name || in.Client != (api.Client{Name: "daemon test", Version: "1.0"}) || in.TimeoutSeconds != 0 {
		t.Errorf("%+v", in)
	}
	if a.Header.Get("X-Forevervm-Interrupted") != "false" {
		t.Errorf("headers %v", a.Header)
	}
	done := c.wait(name, 0)
	if done.Status != "ok" || done.Value == nil || done.EndedAt == nil || done.OutputBytes == 0 || done.Items < 2 {
		t.Fatalf("%+v", done)
	}
	var html string
	for _, form := range done.Data {
		if form.MIME == "text/html" {
			html = form.Text
			if fetched := c.send("GET", form.Href, nil); string(fetched.body) != form.Text || fetched.Header.Get("Content-Type") != "text/html" ||
				!strings.HasPrefix(fetched.Header.Get("Content-Disposition"), "attachment") || fetched.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v %s", fetched.Header, fetched.body)
			}
		}
	}
	if !strings.Contains(html, "<table") {
		t.Errorf("the value's forms are %+v", done.Data)
	}
	plots := as[api.List[api.Plot]](c, c.send("GET", "/api/machines/"+name+"/plots?limit=1", nil))
	if len(plots.Items) != 1 || plots.Next != "" || plots.Items[0].Seq != 0 || plots.Items[0].Place == "result" {
		t.Errorf("%+v", plots)
	} else {
		for _, form := range plots.Items[0].Representations {
			if fetched := c.send("GET", form.Href, nil); form.Text != "" || int64(len(fetched.body)) != form.Size || fetched.Header.Get("Content-Type") != form.MIME {
				t.Errorf("%+v: %d bytes of %s", form, len(fetched.body), fetched.Header.Get("Content-Type"))
			}
		}
	}
	for format, mark := range map[string]string{"": `"nbformat": 4`, "py": "# %% Step 1", "html": "data:image/png;base64,", "md": "```python"} {
		story := c.send("GET", "/api/machines/"+name+"/export?format="+format, nil)
		if !strings.Contains(string(story.body), mark) || !strings.HasPrefix(story.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("as %q: %v %.300s", format, story.Header, story.body)
		}
	}
	c.fails(c.send("GET", "/api/machines/"+name+"/export?format=exe", nil), 400, "Invalid")
	c.fails(c.send("GET", "/api/machines/"+name+"/plots?cursor=3", nil), 400, "Invalid")

	var kinds []string
	items := as[api.List[api.Item]](c, c.send("GET", path+"/0/items", nil))
	for i, item := range items.Items {
		kinds = append(kinds, item.Kind)
		if item.Index != i {
			t.Errorf("item %d has the index %d", i, item.Index)
		}
		for _, form := range item.Representations {
			fetched := c.send("GET", form.Href, nil)
			if int64(len(fetched.body)) != form.Size || fetched.Header.Get("Content-Type") != form.MIME {
				t.Errorf("%s: %d bytes of %s", form.Href, len(fetched.body), fetched.Header.Get("Content-Type"))
			}
			if form.MIME == "image/png" && !bytes.HasPrefix(fetched.body, []byte("\x89PNG")) {
				t.Error("the picture is none")
			}
		}
	}
	if !strings.Contains(strings.Join(kinds, " "), "output") || !strings.Contains(strings.Join(kinds, " "), "display") {
		t.Errorf("items %v", kinds)
	}
	if first := as[api.List[api.Item]](c, c.send("GET", path+"/0/items?limit=1", nil)); len(first.Items) != 1 || first.Next != "1" {
		t.Errorf("%+v", first)
	}
	if last := as[api.List[api.Item]](c, c.send("GET", path+"/0/items?from=1", nil)); len(last.Items) != len(items.Items)-1 || last.Next != "" {
		t.Errorf("%+v", last)
	}
	if output := c.send("GET", path+"/0/output", nil); string(output.body) != "findme ä\n" || !strings.HasPrefix(output.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%v %q", output.Header, output.body)
	}
	stream := c.send("GET", path+"/0/stream?from=1", nil)
	lines := strings.Split(strings.TrimSpace(string(stream.body)), "\n")
	var end api.StreamMessage
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || len(lines) != len(items.Items) || end.Instruction == nil || end.Instruction.Status != "ok" {
		t.Errorf("%d lines, the last %s", len(lines), lines[len(lines)-1])
	}
	for missing, code := range map[string]string{
		path + "/7": "InstructionNotFound", path + "/7/items": "InstructionNotFound", path + "/7/stream": "InstructionNotFound",
		path + "/0/data/result/99": "NotFound", path + "/0/data/99/0": "NotFound",
	} {
		c.fails(c.send("GET", missing, nil), 404, code)
	}
	c.fails(c.send("GET", path+"/0?wait=soon", nil), 400, "Invalid")
	c.fails(c.send("POST", path, api.Execute{Code: "1", TimeoutSeconds: -1}), 400, "Invalid")

	told := strings.Split(strings.TrimSpace(string(c.send("POST", "/api/machines/"+c.machine()+"/run", api.Execute{Code: "print('told')"}).body)), "\n")
	if len(told) < 3 || !strings.Contains(told[0], `"code":"print('told')"`) || !strings.Contains(told[1], `"text":"told`) || !strings.Contains(told[len(told)-1], `"status":"ok"`) {
		t.Errorf("%q", told)
	}
	failed := c.run(name, "1/0")
	if failed.Status != "error" || failed.ErrorName != "ZeroDivisionError" || failed.Error == "" || failed.Value != nil {
		t.Errorf("%+v", failed)
	}

	// One that waits can be cancelled; one that runs is answered as it is when the wait is over.
	blocking := as[api.Instruction](c, c.send("POST", path, api.Execute{Code: "import time\ntime.sleep(100)"}))
	waiting := as[api.Instruction](c, c.send("POST", path, api.Execute{Code: "never()"}))
	if in := as[api.Instruction](c, c.send("GET", instructionPath(name, waiting.Seq)+"?wait=0.05", nil)); in.Status != "queued" {
		t.Errorf("%+v", in)
	}
	if a := c.send("DELETE", instructionPath(name, waiting.Seq), nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if in := c.wait(name, waiting.Seq); in.Status != "cancelled" {
		t.Errorf("%+v", in)
	}
	until(t, "the first to run", func() bool {
		return as[api.Instruction](c, c.send("GET", instructionPath(name, blocking.Seq), nil)).Status == "running"
	})
	if a := c.send("POST", path, api.Execute{Code: "1", Interrupt: true}); a.Header.Get("X-Forevervm-Interrupted") != "true" {
		t.Errorf("%v %s", a.Header, a.body)
	}
	if in := c.wait(name, blocking.Seq); in.Status != "error" || in.ErrorName != "KeyboardInterrupt" {
		t.Errorf("%+v", in)
	}
	all := as[api.List[api.Instruction]](c, c.send("GET", path+"?order=newest", nil))
	if len(all.Items) != 5 || all.Items[0].Seq != 4 {
		t.Errorf("%d instructions, the first is %d", len(all.Items), all.Items[0].Seq)
	}
	page := as[api.List[api.Instruction]](c, c.send("GET", path+"?limit=2", nil))
	if len(page.Items) != 2 || page.Items[0].Seq != 0 || page.Next == "" {
		t.Fatalf("%+v", page)
	}
	if next := as[api.List[api.Instruction]](c, c.send("GET", path+"?limit=2&after="+page.Next, nil)); len(next.Items) != 2 || next.Items[0].Seq != 2 {
		t.Errorf("%+v", next)
	}

	until(t, "the search to find it", func() bool {
		found := as[api.List[api.SearchHit]](c, c.send("GET", "/api/search?q=findme&machine="+name, nil))
		return len(found.Items) > 0 && found.Items[0].Machine == name && found.Items[0].Seq == 0
	})
	c.fails(c.send("GET", "/api/search?q=", nil), 400, "Invalid")
}

func (c *caller) checkpointCalls(t *testing.T) {
	c.t = t
	name := c.machine()
	path := "/api/machines/" + name
	c.run(name, "x = 1")
	saved := as[api.Checkpoint](c, c.send("POST", path+"/checkpoints", api.NewCheckpoint{Label: "one"}))
	if saved.Kind != "manual" || saved.Label != "one" || saved.LastSeq != 0 || saved.Size == 0 || saved.PauseMS <= 0 || saved.PauseMS > float64(patience.Milliseconds()) {
		t.Errorf("%+v", saved)
	}
	c.run(name, "x = 2")
	list := as[api.List[api.Checkpoint]](c, c.send("GET", path+"/checkpoints", nil))
	found := false
	for _, checkpoint := range list.Items {
		found = found || checkpoint.ID == saved.ID && checkpoint.PauseMS == saved.PauseMS
	}
	if !found {
		t.Errorf("%+v", list)
	}
	if kept := as[api.Checkpoint](c, c.send("PATCH", path+"/checkpoints/"+saved.ID, api.NewCheckpoint{Label: "uno"})); kept.Label != "uno" || kept.ID != saved.ID {
		t.Errorf("%+v", kept)
	}
	c.fails(c.send("PATCH", path+"/checkpoints/00000000-0000000000000000", api.NewCheckpoint{}), 404, "CheckpointNotFound")
	fork := as[api.Machine](c, c.send("POST", path+"/fork", api.NewMachine{Checkpoint: saved.ID, Title: "branch"}))
	defer c.send("DELETE", "/api/machines/"+fork.Name+"?purge=true", nil)
	if fork.Parent == nil || fork.Parent.Name != name || fork.Parent.LastSeq != 0 || fork.Title != "branch" {
		t.Errorf("%+v", fork)
	}
	if in := c.run(fork.Name, "x"); in.Value == nil || *in.Value != "1" {
		t.Errorf("in the fork: %+v", in)
	}
	if in := c.run(name, "x"); in.Value == nil || *in.Value != "2" {
		t.Errorf("in the machine: %+v", in)
	}
	as[api.Machine](c, c.send("POST", path+"/rewind", api.Rewind{Checkpoint: saved.ID}))
	if in := c.run(name, "x"); in.Value == nil || *in.Value != "1" {
		t.Errorf("after going back: %+v", in)
	}
	if in := as[api.Instruction](c, c.send("GET", path+"/instructions/1", nil)); !in.RolledBack {
		t.Errorf("the history does not tell: %+v", in)
	}
	branches := as[api.List[api.Branch]](c, c.send("GET", path+"/branches", nil))
	if len(branches.Items) != 1 || branches.Items[0].Named || branches.Items[0].Steps != 2 {
		t.Fatalf("%+v", branches)
	}
	left := path + "/branches/" + url.PathEscape(branches.Items[0].Name)
	if a := c.send("PATCH", left, api.BranchChange{Name: "the other way"}); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	holds := as[api.Contents](c, c.send("GET", path+"/checkpoints/"+saved.ID+"/contents", nil))
	if len(holds.Variables) != 1 || holds.Variables[0].Name != "x" || holds.Variables[0].Preview != "1" {
		t.Errorf("%+v", holds)
	}
	list = as[api.List[api.Checkpoint]](c, c.send("GET", path+"/checkpoints", nil))
	for _, checkpoint := range list.Items {
		if checkpoint.Present && checkpoint.ID != saved.ID && checkpoint.Parent != saved.ID {
			t.Errorf("the present state comes from %+v", checkpoint)
		}
	}
	c.fails(c.send("GET", path+"/checkpoints/nothing/contents", nil), 404, "CheckpointNotFound")
	differ := as[api.Comparison](c, c.send("GET", path+"/compare?from="+url.QueryEscape("the other way"), nil))
	if len(differ.Variables) != 1 || differ.Variables[0].Name != "x" || len(differ.OnlyFrom) != 2 || len(differ.OnlyTo) != 1 {
		t.Errorf("%+v", differ)
	}
	if a := c.send("DELETE", path+"/branches/the%20other%20way", nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	c.fails(c.send("POST", path+"/rewind", api.Rewind{Checkpoint: "nothing"}), 404, "NotFound")
	c.fails(c.send("POST", path+"/rewind", api.Rewind{}), 400, "Invalid")
	if a := c.send("DELETE", path+"/checkpoints/"+saved.ID, nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	c.fails(c.send("DELETE", path+"/checkpoints/00000000-0000000000000000", nil), 404, "CheckpointNotFound")
}

// parcelCalls saves a machine as a file, and opens that as one of somebody else's.
func (c *caller) parcelCalls(t *testing.T) {
	c.t = t
	name := c.machine()
	c.run(name, "x = 'carried'")
	file := c.send("GET", "/api/machines/"+name+"/pack", nil)
	if file.StatusCode != 200 {
		t.Fatalf("%d %s", file.StatusCode, file.body)
	}
	look := func() api.Parcel {
		return as[api.Parcel](c, c.send("POST", "/api/unpack/look", bytes.NewReader(file.body)))
	}
	if own := look(); own.Name != name || own.Instructions != 1 || own.Maker.Standing != "own" || own.Problem != "" {
		t.Errorf("%+v", own)
	}
	if err := os.Remove(c.d.dirs.MakerKeyFile()); err != nil {
		t.Fatal(err)
	}
	maker := look().Maker
	c.fails(c.send("POST", "/api/unpack", bytes.NewReader(file.body)), 409, "UnknownMaker")
	opened := as[api.Machine](c, c.send("POST", "/api/unpack?trust="+maker.Fingerprint+"&maker=Ada", bytes.NewReader(file.body)))
	defer c.send("DELETE", "/api/machines/"+opened.Name+"?purge=true", nil)
	if in := c.run(opened.Name, "x"); in.Value == nil || *in.Value != "'carried'" {
		t.Errorf("in the machine of the file: %+v", in)
	}
	if policy := as[api.Network](c, c.send("GET", "/api/machines/"+opened.Name+"/network", nil)); policy.Policy.Mode != "off" {
		t.Errorf("%+v", policy)
	}
	if known := as[api.List[api.Maker]](c, c.send("GET", "/api/makers", nil)); len(known.Items) != 1 || known.Items[0].Name != "Ada" || known.Items[0].Fingerprint != maker.Fingerprint {
		t.Errorf("%+v", known)
	}
	if a := c.send("DELETE", "/api/makers/"+maker.Fingerprint, nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if again := look().Maker; maker.Standing != "unknown" || again != maker {
		t.Errorf("at first %+v, once forgotten %+v", maker, again)
	}
}

// dropCalls gives files to places in a machine.
func (c *caller) dropCalls(name string) {
	stranger := func(r *http.Request) { r.Header.Del("Authorization") }
	place := func(path string) api.Drop {
		return as[api.Drop](c, c.send("POST", "/api/machines/"+name+"/drops", api.NewDrop{Path: path}))
	}
	whole := place("given/")
	if !strings.HasSuffix(whole.URL, "/drop/"+whole.Code) || whole.State != "waiting" || whole.Machine != name || time.Until(whole.ExpiresAt) > 10*time.Minute {
		c.t.Errorf("%+v", whole)
	}
	at := "/api/drops/" + whole.Code
	if now := as[api.Drop](c, c.send("GET", at, nil, stranger)); now.Code != "" || now.URL != "" || now.Path != "given/" {
		c.t.Errorf("%+v", now)
	}
	// A name leads nowhere else.
	if now := as[api.Drop](c, c.send("PUT", at+"?name=..%2F..%2Fetc%2Fa%0Ab", strings.NewReader("whole"), stranger)); now.State != "done" || now.File != "given/_.._etc_a_b" || now.Size != 5 {
		c.t.Errorf("%+v", now)
	}
	c.fails(c.send("PUT", at+"?name=b", strings.NewReader("again"), stranger), 404, "NoDrop")
	c.fails(c.send("GET", "/api/drops/wrong", nil), 404, "NoDrop")

	parts := place("parts.txt")
	at = "/api/drops/" + parts.Code + "/pieces"
	piece := func(offset int64, text string) answer {
		return c.send("POST", at, api.Piece{Name: "a", Offset: offset, Size: 6, Content: base64.StdEncoding.EncodeToString([]byte(text))})
	}
	c.fails(piece(3, "def"), 409, "Conflict") // the first is missing
	if now := as[api.Drop](c, piece(0, "abc")); now.State != "receiving" {
		c.t.Errorf("%+v", now)
	}
	c.fails(piece(0, "abc"), 409, "Conflict")
	c.fails(piece(2, "cde"), 409, "Conflict")
	c.fails(piece(3, "defg"), 400, "Invalid")
	if now := as[api.Drop](c, piece(3, "def")); now.State != "done" || now.File != "parts.txt" {
		c.t.Errorf("%+v", now)
	}
	c.fails(piece(0, "abc"), 404, "NoDrop")
	none := place("empty.txt")
	if now := as[api.Drop](c, c.send("POST", "/api/drops/"+none.Code+"/pieces", api.Piece{Name: "empty"})); now.State != "done" || now.Size != 0 {
		c.t.Errorf("%+v", now)
	}
	for path, want := range map[string]string{"empty.txt": "", "given/_.._etc_a_b": "whole", "parts.txt": "abcdef"} {
		if got := c.send("GET", "/api/machines/"+name+"/files/content?path="+url.QueryEscape(path), nil); string(got.body) != want {
			c.t.Errorf("%s: %q", path, got.body)
		}
	}
}

// permissionCalls has an app ask for more memory, and says yes.
func (c *caller) permissionCalls() {
	asking := as[api.Permission](c, c.send("POST", "/api/permissions?wait=0", api.AskPermission{Kind: "memory", MemoryMB: 4096}))
	if asking.State != "waiting" || asking.MemoryMB != 4096 || asking.App == "" {
		c.t.Errorf("%+v", asking)
	}
	if all := as[api.List[api.Permission]](c, c.send("GET", "/api/permissions", nil)).Items; len(all) != 1 || all[0] != asking {
		c.t.Errorf("%+v", all)
	}
	answer := "/api/permissions/" + strconv.FormatInt(asking.ID, 10) + "/answer"
	if a := c.send("POST", answer, api.AnswerPermission{Allow: true}); a.StatusCode != 204 {
		c.t.Errorf("%d %s", a.StatusCode, a.body)
	}
	c.fails(c.send("POST", answer, api.AnswerPermission{Allow: false}), 409, "Conflict")
	if now := as[api.Permission](c, c.send("POST", "/api/permissions?wait=10", api.AskPermission{Kind: "memory", MemoryMB: 4096})); now.State != "allowed" || now.ID != asking.ID {
		c.t.Errorf("%+v", now)
	}
	c.fails(c.send("POST", "/api/permissions?wait=0", api.AskPermission{Kind: "rewind"}), 400, "Invalid")
	c.fails(c.send("POST", "/api/permissions?wait=-1", api.AskPermission{Kind: "memory", MemoryMB: 4096}), 400, "Invalid")
}

// networkCalls has a machine ask whether it may reach an address, and says no.
func (c *caller) networkCalls(name string) {
	path := "/api/machines/" + name
	ask, standard := "ask", "default"
	c.send("PATCH", path, api.MachineChange{Network: &api.NetworkChange{Mode: &ask, Hosts: &[]string{"*.example.com"}}})
	if now := as[api.Network](c, c.send("GET", path+"/network", nil)); now.Policy.Mode != "ask" || now.Effective.Hosts[0] != "*.example.com" {
		c.t.Errorf("%+v", now)
	}
	in := as[api.Instruction](c, c.send("POST", path+"/instructions", api.Execute{Code: "import socket\nsocket.create_connection(('192.31.196.250', 9))"}))
	var asking api.Connection
	for deadline := time.Now().Add(25 * time.Second); asking.State != "asking"; time.Sleep(10 * time.Millisecond) {
		if list := as[api.List[api.Connection]](c, c.send("GET", path+"/connections?limit=5", nil)).Items; len(list) > 0 {
			asking = list[0]
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("nobody is asked: %+v", asking)
		}
	}
	if asking.Host != "192.31.196.250" || asking.Port != 9 || asking.Seq == nil || *asking.Seq != in.Seq {
		c.t.Errorf("%+v", asking)
	}
	answer := path + "/connections/" + strconv.FormatInt(asking.ID, 10) + "/answer"
	if a := c.send("POST", answer, api.Answer{Answer: "deny"}); a.StatusCode != 204 {
		c.t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if in := c.wait(name, in.Seq); in.ErrorName != "PermissionError" || !strings.Contains(in.Error, "A person has denied this machine 192.31.196.250.") {
		c.t.Errorf("the machine is told %+v", in)
	}
	c.fails(c.send("POST", answer, api.Answer{Answer: "once"}), 409, "Conflict")
	in = as[api.Instruction](c, c.send("POST", path+"/packages", api.Install{Packages: []string{"numpy>=2"}})) // it is there already
	if in = c.wait(name, in.Seq); in.Status != "ok" {
		c.t.Errorf("%+v", in)
	}
	c.fails(c.send("POST", path+"/packages", api.Install{Packages: []string{"--help"}}), 400, "Invalid")
	c.send("PATCH", path, api.MachineChange{Network: &api.NetworkChange{Mode: &standard, Hosts: &[]string{}}})
}

// ask is send for what a machine's Python is asked. On a busy computer it has no time to answer,
// and is asked again.
func (c *caller) ask(method, path string, body any) answer {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		a := c.send(method, path, body)
		if !bytes.Contains(a.body, []byte(`"code":"Busy"`)) || time.Now().After(deadline) {
			return a
		}
	}
}

func (c *caller) insideCalls(t *testing.T) {
	c.t = t
	name := c.machine()
	path := "/api/machines/" + name
	c.run(name, "numbers = [1, 2, 3]")
	if found := as[api.Completions](c, c.ask("POST", path+"/complete", api.CodeAt{Code: "numb", Cursor: 4})); !strings.Contains(strings.Join(found.Matches, " "), "numbers") {
		t.Errorf("%+v", found)
	}
	if found := as[api.Inspection](c, c.ask("POST", path+"/inspect", api.CodeAt{Code: "numbers", Cursor: 3})); !found.Found || !strings.Contains(found.Text, "list") {
		t.Errorf("%+v", found)
	}
	variables := as[api.List[api.Variable]](c, c.ask("GET", path+"/variables", nil))
	if len(variables.Items) != 1 || variables.Items[0].Name != "numbers" || variables.Items[0].Type != "list" {
		t.Errorf("%+v", variables)
	}

	c.run(name, "import pandas as pd\nframe = pd.DataFrame({'n': [3, 1, 2], 'w': ['a', None, 'c']})")
	table := as[api.Table](c, c.ask("POST", path+"/table", api.TableQuery{
		Variable: "frame", Limit: 1, Sort: &api.TableSort{Column: 0}, Filters: []api.TableFilter{{Column: 0, Test: "le", Value: "2"}},
	}))
	if table.Rows != 3 || table.Matching != 2 || len(table.Columns) != 2 || !table.Columns[0].Number || len(table.Items) != 1 ||
		table.Items[0].Index != "1" || *table.Items[0].Cells[0] != "1" || table.Items[0].Cells[1] != nil {
		t.Errorf("%+v", table)
	}
	about := as[api.Table](c, c.ask("POST", path+"/table", api.TableQuery{Variable: "frame", About: true}))
	if n, w := about.Columns[0].About, about.Columns[1].About; n == nil || n.Low != "1" || n.High != "3" ||
		w == nil || w.Missing != 1 || w.Distinct == nil || *w.Distinct != 2 || len(about.Items) != 0 {
		t.Errorf("%+v: %+v, %+v", about, n, w)
	}
	if items := as[api.Table](c, c.ask("POST", path+"/table", api.TableQuery{Variable: "numbers"})); len(items.Items) != 3 {
		t.Errorf("a list is shown as %+v", items)
	}
	saved := as[api.SavedTable](c, c.ask("POST", path+"/table/save", api.SaveTable{Variable: "frame", Format: "csv"}))
	if !strings.HasPrefix(saved.Path, "/tmp/table-") {
		t.Errorf("%+v", saved)
	}
	c.fails(c.ask("POST", path+"/table/save", api.SaveTable{Variable: "absent", Format: "csv"}), 400, "Invalid")
	c.fails(c.ask("POST", path+"/table", api.TableQuery{Variable: "absent"}), 400, "Invalid")
	c.fails(c.ask("POST", path+"/table", api.TableQuery{Variable: "frame", Filters: []api.TableFilter{{Test: "is"}}}), 400, "Invalid")

	c.networkCalls(name)
	c.permissionCalls()
	c.dropCalls(name)

	noteOpened(t)
	c.run(name, "import os; os.makedirs('/root/outbox', exist_ok=True); open('/root/outbox/a.txt', 'w').close()")
	until(t, "the results to come", func() bool {
		return c.send("POST", path+"/results/open", nil).StatusCode == 200
	})

	large := bytes.Repeat([]byte("0123456789abcdef"), 300_000) // several pieces
	file := path + "/files/content?path=" + url.QueryEscape("data/großes Blatt.csv")
	if a := c.send("PUT", file, bytes.NewReader(large)); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if in := c.run(name, "import os; os.path.getsize('data/großes Blatt.csv')"); in.Value == nil || *in.Value != "4800000" {
		t.Errorf("%+v", in)
	}
	back := c.send("GET", file, nil)
	if !bytes.Equal(back.body, large) || back.Header.Get("Content-Disposition") != "attachment; filename*=utf-8''gro%C3%9Fes%20Blatt.csv" {
		t.Errorf("%d bytes, %v", len(back.body), back.Header)
	}
	for content := range map[string]bool{"short": true, "": true} {
		c.send("PUT", file, strings.NewReader(content))
		if back := c.send("GET", file, nil); string(back.body) != content {
			t.Errorf("%q came back as %q", content, back.body)
		}
	}
	listed := as[api.FileList](c, c.send("GET", path+"/files?path=data", nil))
	if len(listed.Items) != 1 || listed.Items[0].Name != "großes Blatt.csv" || listed.Items[0].Kind != "file" || listed.Items[0].Dir || listed.Path != "/root/data" {
		t.Errorf("%+v", listed)
	}
	if home := as[api.FileList](c, c.send("GET", path+"/files", nil)); len(home.Items) == 0 || home.Path != "/root" {
		t.Errorf("%+v", home)
	}
	if a := c.send("POST", path+"/files/folder?path=new/folder", nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if found := as[api.File](c, c.send("GET", path+"/files/stat?path=new/folder", nil)); found.Name != "folder" || !found.Dir || found.Modified == nil {
		t.Errorf("%+v", found)
	}
	if a := c.send("DELETE", path+"/files?path=new", nil); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	c.fails(c.send("GET", path+"/files/stat?path=new", nil), 400, "Invalid")
	c.fails(c.send("DELETE", path+"/files", nil), 400, "Invalid")
	until(t, "the use of the disk to be told", func() bool {
		m := as[api.Machine](c, c.send("GET", path, nil))
		return m.Disk != nil && m.Disk.UsedBytes > 0 && m.Disk.SizeBytes > m.Disk.UsedBytes
	})
	c.fails(c.send("GET", path+"/files/content", nil), 400, "Invalid")
	if a := c.send("GET", path+"/files/content?path=missing.txt", nil); a.StatusCode < 400 || a.StatusCode >= 500 {
		t.Errorf("a file that is not there: %d %s", a.StatusCode, a.body)
	}
}

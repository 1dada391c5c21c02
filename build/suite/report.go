package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// state is what became of a test. One that passed only when it was tried again is flaky: it is
// counted apart, as a retry is not a pass.
type state string

const (
	passed  state = "passed"
	failed  state = "failed"
	flaky   state = "flaky"
	skipped state = "skipped"
)

// outcome is one test; its JSON is also what the page's tests report.
type outcome struct {
	Name    string  `json:"name"`
	File    string  `json:"file"` // or package
	Seconds float64 `json:"seconds"`
	State   state   `json:"state"`
	Reason  string  `json:"reason,omitempty"` // of a skip or a failure
}

// saidByTest is the first line of what a test says with its Error, Fatal, Log or Skip, and of a
// panic.
var saidByTest = regexp.MustCompile(`^(\w+\.go:\d+|panic): `)

// readGo reads test events (`go test -json`), in which a test that was tried again ends twice.
// Parts of tests are left out unless they are skipped: they run within their test. Where one fails,
// its test says so.
func readGo(path string) ([]outcome, error) {
	type event struct {
		Action, Package, Test, Output string
		Elapsed                       float64
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	type key struct{ pkg, test string }
	ended, said, wrong := map[key]*outcome{}, map[key]string{}, map[key]string{}
	var order []key
	decoder := json.NewDecoder(file)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("test events: %w", err)
		}
		k := key{strings.TrimPrefix(e.Package, "github.com/forevervm/desktop/"), e.Test}
		if e.Test == "" { // of the package: it counts where it failed without a test that did
			if e.Action != "fail" {
				continue
			}
			k.test = "(package)"
		} else if test, part, ok := strings.Cut(e.Test, "/"); ok && e.Action == "fail" {
			if of := (key{k.pkg, test}); wrong[of] == "" { // parts end before what they are part of
				wrong[of] = part + ": " + said[k]
			}
			continue
		} else if ok && e.Action != "skip" && e.Action != "output" {
			continue
		}
		var now state
		switch e.Action {
		case "output":
			if text := strings.TrimSpace(e.Output); saidByTest.MatchString(text) {
				said[k] = text
			}
			continue
		case "pass":
			now = passed
		case "fail":
			now = failed
		case "skip":
			now = skipped
		default:
			continue
		}
		o := ended[k]
		if o == nil {
			o = &outcome{Name: k.test, File: k.pkg, State: now}
			ended[k] = o
			order = append(order, k)
		} else if o.State == failed && now == passed || o.State == flaky && now == passed {
			o.State = flaky
		} else {
			o.State = now
		}
		o.Seconds = max(o.Seconds, e.Elapsed)
		switch now {
		case skipped:
			o.Reason = said[k]
		case failed:
			o.Reason = cmp.Or(wrong[k], said[k])
		}
	}
	bad := map[string]bool{}
	for k, o := range ended {
		if k.test != "(package)" && (o.State == failed || o.State == flaky) {
			bad[k.pkg] = true
		}
	}
	var outcomes []outcome
	for _, k := range order {
		if k.test != "(package)" || !bad[k.pkg] {
			outcomes = append(outcomes, *ended[k])
		}
	}
	return outcomes, nil
}

// readPage reads what frontend/e2e/report.ts writes.
func readPage(path string) ([]outcome, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var outcomes []outcome
	return outcomes, json.Unmarshal(content, &outcomes)
}

// readPytest reads pytest's --junitxml.
func readPytest(path string) ([]outcome, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var report struct {
		Cases []struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			Seconds float64   `xml:"time,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.NewDecoder(bytes.NewReader(content)).Decode(&report); err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, c := range report.Cases {
		o := outcome{Name: c.Name, File: c.Class, Seconds: c.Seconds, State: passed}
		switch {
		case c.Failure != nil || c.Error != nil:
			o.State = failed
		case c.Skipped != nil:
			o.State, o.Reason = skipped, c.Skipped.Message
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

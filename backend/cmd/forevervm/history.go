package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// historyLength is how many lines are kept.
const historyLength = 2000

// history are the lines that were typed, kept in a file for the next time. It is for one goroutine.
type history struct {
	file  string // "" keeps them only in memory
	lines []string
}

// openHistory reads the lines that were typed before, and shortens a file that has become long.
func openHistory(file string) (*history, error) {
	h := &history{file: file}
	data, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return &history{}, err
	}
	defer data.Close()
	scanner := bufio.NewScanner(data)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		h.lines = append(h.lines, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		return &history{}, err
	}
	if len(h.lines) > 2*historyLength {
		h.lines = h.lines[len(h.lines)-historyLength:]
		err = os.WriteFile(file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h, err
}

// Add remembers a line, unless it is empty or the same as the one before.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" {
		return
	}
	file, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, line)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		h.file = "" // a history that cannot be kept is no reason to disturb the person again and again
	}
}

// Len is how many lines there are.
func (h *history) Len() int { return len(h.lines) }

// At returns a line; 0 is the latest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

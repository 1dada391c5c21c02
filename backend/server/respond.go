package server

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxBody is the most bytes of a JSON body. The code of an instruction is in it.
const maxBody = 8 << 20

// writeJSON answers with JSON.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := encodeJSON(v)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has gone is no error of ours
	return nil
}

// encodeJSON is v as one line of JSON with its newline, without the escapes that only HTML needs.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return buf.Bytes(), err
}

// noContent answers that it is done.
func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// lines writes newline-delimited JSON, each line sent at once.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// newLines begins the answer.
func newLines(w http.ResponseWriter) *lines {
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &lines{w: w, control: http.NewResponseController(w)}
}

// add writes a line of JSON, its newline included, which is sent with the next flush at the latest.
func (l *lines) add(line []byte) error {
	_, err := l.w.Write(line)
	return err
}

// flush sends what was added.
func (l *lines) flush() error { return l.control.Flush() }

// attachment says that the body is to be saved, not shown, under a name.
func attachment(w http.ResponseWriter, name, mediaType string) {
	header := w.Header()
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	if disposition == "" {
		disposition = "attachment"
	}
	header.Set("Content-Disposition", disposition)
	header.Set("Content-Type", mediaType)
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Cache-Control", "no-store")
}

// pathInt is a number in the path.
func pathInt(r *http.Request, key string) (int, error) {
	n, err := strconv.ParseUint(r.PathValue(key), 10, strconv.IntSize-1)
	if err != nil {
		return 0, invalid("%q is not a number that counts from 0.", r.PathValue(key))
	}
	return int(n), nil
}

// queryInt is a number in the query, at least low; missing gives the default.
func queryInt(query url.Values, key string, low, fallback int) (int, error) {
	text := query.Get(key)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low {
		return 0, invalid("The parameter %s must be a whole number, %d or more.", key, low)
	}
	return n, nil
}

// queryBool is true for "true" and "1".
func queryBool(query url.Values, key string) (bool, error) {
	text := query.Get(key)
	if text == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalid("The parameter %s must be true or false.", key)
	}
	return value, nil
}

// queryTime is a time in the query; nil when missing.
func queryTime(query url.Values, key string) (*time.Time, error) {
	text := query.Get(key)
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, invalid("The parameter %s must be a time such as 2026-01-31T12:00:00Z.", key)
	}
	return &at, nil
}

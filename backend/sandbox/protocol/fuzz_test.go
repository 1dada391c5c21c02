package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// seeds are frames of every type, whole and broken.
func seeds(f *testing.F) {
	for _, s := range []struct{ header, payload string }{
		{`{"type":"ready","pid":2,"python":"3.13.5","baseline_bytes":1000,"last_seq":4,"running":3,"queued":[4],"sync":"00112233445566778899aabbccddeeff"}`, ""},
		{`{"type":"started","seq":3,"index":0,"at":1750000000.25}`, ""},
		{`{"type":"output","seq":3,"index":1,"stream":"stdout"}`, "hello\n"},
		{`{"type":"display","seq":3,"index":2,"mimes":[["text/html",3],["image/png",2]],"metadata":{},"display_id":null,"update":false}`, "<b>\x89P"},
		{`{"type":"clear","seq":3,"index":3,"wait":true}`, ""},
		{`{"type":"result","seq":3,"index":4,"runtime_ms":1,"status":"ok","mimes":[["text/plain",2]],"truncated":false}`, "42"},
		{`{"type":"result","seq":3,"index":4,"runtime_ms":1,"status":"error","ename":"E","evalue":"v","mimes":[["text/plain",1],["text/x-ansi",1]]}`, "ab"},
		{`{"type":"background","stream":"stderr"}`, "x"},
		{`{"type":"reply","id":9,"ok":true,"result":{"size":1,"eof":true}}`, "x"},
		{`{"type":"died","seq":null,"exit_code":3,"signal":null,"reason":"Python ended itself."}`, ""},
		{`{"type":"ended","cause":"stopped","detail":"d","checkpoint":{}}`, ""},
		{`{"type":"output","seq":-1,"index":1e99,"stream":7}`, ""},
	} {
		b, err := Raw([]byte(s.header), []byte(s.payload))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[3:])
		f.Add(append(b, b[:len(b)/2]...))
	}
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
}

// FuzzRead reads whatever comes as frames and looks at each: nothing may panic, everything accepted
// is within bounds, and what is passed on reads the same again.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		for {
			frame, err := Read(r)
			if err != nil {
				if !errors.Is(err, ErrViolation) && err != io.EOF && err != io.ErrUnexpectedEOF {
					t.Fatalf("an error of another kind: %v", err)
				}
				return
			}
			again, err := Raw(frame.Header, frame.Payload)
			if err != nil {
				t.Fatalf("read, but cannot be passed on: %v", err)
			}
			if same, err := Read(bytes.NewReader(again)); err != nil || same.Type != frame.Type {
				t.Fatalf("passed on, it reads as %+v, %v", same, err)
			}
			look(t, frame)
		}
	})
}

func look(t *testing.T, frame Frame) {
	if n, err := ParseNumbered(frame); err == nil && (n.Seq < 0 || n.Index < 0 || n.Seq > MaxSeq || n.Index > MaxSeq) {
		t.Fatalf("accepted the number %+v", n)
	}
	if in, err := ParseInstruction(frame); err == nil {
		size := len(in.Data)
		for _, m := range in.MIMEs {
			size += len(m.Data)
			if m.MIME == "" {
				t.Fatal("accepted a representation of no type")
			}
		}
		if size > len(frame.Payload) {
			t.Fatalf("%d bytes out of a payload of %d", size, len(frame.Payload))
		}
		if in.Runtime < 0 || in.At.Year() > 9999 {
			t.Fatalf("accepted the times %v and %v", in.Runtime, in.At)
		}
	} else if !errors.Is(err, ErrViolation) {
		t.Fatalf("an error of another kind: %v", err)
	}
	_, _ = ParseReady(frame)
	var request Request
	_ = frame.Decode(&request)
	var reply Reply
	_ = frame.Decode(&reply)
	var ended Ended
	_ = frame.Decode(&ended)
}

// FuzzResync puts whatever comes before a ready frame: it is found, or nothing is, and what is
// found is a frame of that stream.
func FuzzResync(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, before []byte) {
		stream := append(append([]byte{}, before...), readyFrame(t, nonce)...)
		r := bufio.NewReaderSize(bytes.NewReader(stream), ResyncBuffer)
		frame, err := Resync(r, nonce)
		if bytes.Contains(before, []byte(nonce)) {
			return // nobody can have written it before it was drawn
		}
		if err != nil || frame.Type != TypeReady {
			t.Fatalf("%+v, %v", frame, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Fatalf("something is left behind the ready frame: %v", err)
		}
	})
}

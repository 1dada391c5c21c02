package wire

import (
	"bytes"
	"strconv"
)

// Lines come by the hundred thousand, and nearly all are plain: text that JSON writes as it is.
// Their messages are written and read without JSON's machinery, which takes several times as long.

const (
	plainID     = `{"type":"output","instruction_id":`
	plainStream = `,"chunk":{"stream":"`
	plainData   = `","data":"`
	plainSeq    = `","seq":`
	plainEnd    = `}}`
)

// encodePlain is Encode for plain text.
func encodePlain(o Output) []byte {
	to := make([]byte, 0, 112+len(o.Chunk.Data))
	to = append(to, plainID...)
	to = strconv.AppendInt(to, int64(o.InstructionID), 10)
	to = append(to, plainStream...)
	to = append(to, o.Chunk.Stream...)
	to = append(to, plainData...)
	to = append(to, o.Chunk.Data...)
	to = append(to, plainSeq...)
	to = strconv.AppendInt(to, int64(o.Chunk.Seq), 10)
	return append(to, plainEnd...)
}

// decodePlain is Decode for what encodePlain writes. Anything else, wrong or only written in
// another way, it leaves to JSON.
func decodePlain(message []byte) (out Output, ok bool) {
	rest, ok := bytes.CutPrefix(message, []byte(plainID))
	if !ok {
		return Output{}, false
	}
	r := plainReader{rest, true}
	out.InstructionID = r.number(plainStream)
	out.Chunk.Stream = streamName(r.until(plainData))
	text := r.until(plainSeq)
	out.Chunk.Seq = r.number(plainEnd)
	if !r.ok || len(r.rest) > 0 || !isPlain(out.Chunk.Stream) || !isPlain(text) {
		return Output{}, false
	}
	out.Chunk.Data = string(text)
	return out, true
}

// plainReader takes a message apart at what stands between its values. Once it has met something
// else, it is not ok and stays so.
type plainReader struct {
	rest []byte
	ok   bool
}

// until takes what is before the next mark, and the mark.
func (r *plainReader) until(mark string) []byte {
	before, after, found := bytes.Cut(r.rest, []byte(mark))
	r.rest, r.ok = after, r.ok && found
	return before
}

// number is until of an integer.
func (r *plainReader) number(mark string) int {
	digits := r.until(mark)
	n, err := strconv.Atoi(string(digits))
	r.ok = r.ok && err == nil && (len(digits) == 1 || digits[0] >= '1') // JSON knows no 007 and no +7
	return n
}

// streamName is the text without memory of its own, where it is one of those that there are.
func streamName(text []byte) string {
	switch string(text) {
	case "stdout":
		return "stdout"
	case "stderr":
		return "stderr"
	}
	return string(text)
}

// isPlain says whether JSON writes text as it is.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

package server

import (
	"context"
	"encoding/json"
	"io"

	"github.com/forevervm/desktop/backend/wire"
)

// incoming is what came on a socket.
type incoming struct {
	exec    wire.ExecMessage // RequestID alone where there is a problem
	problem error            // why the exec cannot be run; it is answered with its request_id
	notice  wire.FromServer  // the answer to what has no request_id to answer to
}

var errMessageTooLarge = invalid("This message is larger than %d MiB, so it was not run. Put the code, or its data, into a file of the machine's and run that.", wire.MaxMessage>>20)

// next waits for a message. One that is too large, or makes no sense, leaves the socket usable:
// other instructions are relayed on it. Only the end of the socket is an error.
func (p *repl) next(ctx context.Context) (incoming, error) {
	_, reader, err := p.conn.Reader(ctx)
	if err != nil {
		return incoming{}, err
	}
	data, err := io.ReadAll(io.LimitReader(reader, wire.MaxMessage+1))
	if err != nil {
		return incoming{}, err
	}
	if len(data) <= wire.MaxMessage {
		return decodeIncoming(data), nil
	}
	var scan wire.RequestIDScanner
	_, _ = scan.Write(data)
	if _, err := io.Copy(&scan, reader); err != nil {
		return incoming{}, err
	}
	if id, ok := scan.ID(); ok {
		return incoming{exec: wire.ExecMessage{RequestID: id}, problem: errMessageTooLarge}, nil
	}
	return incoming{notice: wire.Message{Message: errMessageTooLarge.Error(), Level: "error"}}, nil
}

// execMessage is where wire.yaml describes what a client sends on a socket.
const execMessage = "EXEC /v1/machine/{name}/repl"

// decodeIncoming reads a message.
func decodeIncoming(data []byte) incoming {
	var message wire.ExecMessage
	err := checkJSON(descriptions()[execMessage].body, data)
	if err == nil {
		if err = json.Unmarshal(data, &message); err == nil {
			return incoming{exec: message}
		}
		err = jsonProblem(err)
	}
	var head struct {
		Type      string `json:"type"`
		RequestID *int64 `json:"request_id"`
	}
	if json.Unmarshal(data, &head) != nil || head.Type != wire.TypeExec || head.RequestID == nil {
		return incoming{notice: wire.SocketError{Code: "InvalidMessage"}}
	}
	return incoming{exec: wire.ExecMessage{RequestID: *head.RequestID}, problem: err}
}

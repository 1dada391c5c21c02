package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// Some things a person decides. Where the client can ask its person (elicitation), a call returns
// the question, and the client calls again with the answer: the protocol of 2026-07-28 says so, and
// the library does the same with older clients. Else the window asks.
//
// A client that lies can answer in its person's place: docs/security.md says what it gains.

// asks says whether the client can ask its person in the chat.
func asks(ctx context.Context) bool {
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.Modern {
		return request.ClientCapabilities != nil && asksByForm(request.ClientCapabilities.Elicitation)
	}
	session := server.ClientSessionFromContext(ctx)
	if _, can := session.(server.SessionWithElicitation); !can { // over SSE the library cannot
		return false
	}
	said, ok := session.(server.SessionWithClientInfo)
	return ok && asksByForm(said.GetClientCapabilities().Elicitation)
}

// asksByForm says whether a capability covers forms; an empty one does.
func asksByForm(c *mcp.ElicitationCapability) bool {
	return c != nil && (c.Form != nil || c.URL == nil)
}

// form is a question. Without fields, accepting it is the answer.
func form(message string, fields map[string]any) mcp.ElicitationParams {
	if fields == nil {
		fields = map[string]any{}
	}
	return mcp.ElicitationParams{
		Mode: mcp.ElicitationModeForm, Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": fields},
	}
}

// allowKey is the key of the question whether a permission is given.
const allowKey = "allow"

// permit has the person allow something. It returns nil when they did, else what the call returns
// now: the question for the client, or a refusal that ends with instead, which says what the model
// can do without the permission.
func (s *Server) permit(ctx context.Context, call mcp.CallToolRequest, m Machines, p api.AskPermission, question, instead string) *mcp.CallToolResult {
	state := fmt.Sprintf("%s/%s/%s/%d", p.Kind, p.Machine, p.Checkpoint, p.MemoryMB)
	answer := server.ElicitationResponse(call.Params.InputResponses, allowKey)
	switch {
	case answer != nil && call.Params.RequestState == state:
		if answer.Action == mcp.ElicitationResponseActionAccept {
			return nil
		}
		return mcp.NewToolResultError("The user did not allow it. " + instead)
	case asks(ctx):
		return server.NewInputRequestBuilder(state).Elicit(allowKey, form(question, nil)).ToolResult()
	}
	now, err := m.AskPermission(ctx, p, s.opts.AnswerWithin-lastAnswer)
	switch {
	case err != nil:
		return failure(err, p.Machine)
	case now.State == "allowed":
		return nil
	case now.State == "denied":
		return mcp.NewToolResultError("The user did not allow it. " + instead)
	}
	return mcp.NewToolResultError("This needs the user's permission, and ForeverVM's window asks for it. Nobody has answered yet. Tell the user, then call this tool again with the same arguments. " + instead)
}

// lot is how much work a model may take back without asking.
const (
	lotOfSteps = 10
	lotOfTime  = 5 * time.Minute // that the steps ran
	manySteps  = 500             // as many of the latest are counted
)

// undoes says how many steps going back undoes, and whether that is a lot of work. A state that it
// does not know is none: going back then fails.
func undoes(ctx context.Context, m Machines, repl, to string) (steps int, lot bool, err error) {
	all, err := m.Checkpoints(ctx, repl)
	if err != nil {
		return 0, false, err
	}
	known := map[string]api.Checkpoint{}
	for _, c := range all {
		known[c.ID] = c
		if c.Branch != "" {
			known[c.Branch] = c
		}
	}
	target, ok := known[to]
	if !ok {
		return 0, false, nil
	}
	page, err := m.Instructions(ctx, repl, client.InstructionQuery{Newest: true, Limit: manySteps})
	if err != nil {
		return 0, false, err
	}
	present := map[int]bool{} // the steps whose effect the present state has
	for _, in := range page.Items {
		present[in.Seq] = !in.RolledBack && in.Status != "cancelled"
	}
	// A state of another branch has steps of its own. What both have in common stays, as far as a
	// checkpoint tells.
	common := target
	for ok = true; ok && !present[common.LastSeq]; {
		common, ok = known[common.Parent]
	}
	var ran time.Duration
	for _, in := range page.Items {
		if present[in.Seq] && (!ok || in.Seq > common.LastSeq) {
			steps++
			ran += time.Duration(in.RuntimeMS) * time.Millisecond
		}
	}
	return steps, steps > lotOfSteps || ran > lotOfTime, nil
}

// askEvery is how often a call looks for connections that wait for an answer.
const askEvery = 500 * time.Millisecond

// errAsked ends a wait when code in the machine waits for the person.
var errAsked = errors.New("code waits for an answer")

// hostKey is the key of the question about a connection.
const hostKey = "connection-"

// What the person can answer about a host. They read these words.
const (
	forThisStep = "For this step"
	forMachine  = "Always, for this machine"
)

// asking are the connections that wait for an answer, one for each host.
func asking(ctx context.Context, m Machines, repl string) ([]api.Connection, error) {
	page, err := m.Connections(ctx, repl, "", 100)
	hosts := map[string]bool{}
	return slices.DeleteFunc(page.Items, func(c api.Connection) bool {
		known := hosts[c.Host]
		hosts[c.Host] = true
		return c.State != "asking" || known
	}), err
}

// questions are those of connections that wait, for the client to ask; none where the map is empty.
func questions(ctx context.Context, m Machines, repl string) (map[string]mcp.ElicitationParams, error) {
	waiting, err := asking(ctx, m, repl)
	all := map[string]mcp.ElicitationParams{}
	for _, c := range waiting {
		all[hostKey+strconv.FormatInt(c.ID, 10)] = form(
			fmt.Sprintf("Code in the machine %s wants to reach %s (port %d). Allow it?", repl, onOneLine(c.Host), c.Port),
			map[string]any{"allow": map[string]any{"type": "string", "title": "Allow it", "enum": []string{forThisStep, forMachine}, "default": forThisStep}})
	}
	return all, err
}

// answerQuestions passes on what the person answered. A question that waits no longer, say because
// they have answered in the window, stays as it is.
func answerQuestions(ctx context.Context, m Machines, repl string, answers mcp.InputResponses) error {
	for key := range answers {
		number, isHost := strings.CutPrefix(key, hostKey)
		id, err := strconv.ParseInt(number, 10, 64)
		answer := server.ElicitationResponse(answers, key)
		if !isHost || err != nil || answer == nil {
			continue
		}
		word := "deny"
		if answer.Action == mcp.ElicitationResponseActionAccept {
			word = "once"
			if content, _ := answer.Content.(map[string]any); content["allow"] == forMachine {
				word = "machine"
			}
		}
		if err := m.AnswerConnection(ctx, repl, id, word); err != nil && !errors.Is(err, client.ErrConflict) {
			return err
		}
	}
	return nil
}

// watchQuestions ends ctx with errAsked when code in the machine waits for an answer that the
// client can ask for. stop ends the watching, and ctx.
func watchQuestions(ctx context.Context, m Machines, repl string, before round) (watched context.Context, stop func()) {
	watched, end := context.WithCancelCause(ctx)
	stop = func() { end(context.Canceled) }
	if !asks(ctx) || before.number >= mostRounds {
		return watched, stop
	}
	go func() {
		if network, err := m.Network(watched, repl); err != nil || network.Effective.Mode != "ask" {
			return
		}
		for tick := time.NewTicker(askEvery); ; {
			select {
			case <-watched.Done():
				tick.Stop()
				return
			case <-tick.C:
				if all, err := questions(watched, m, repl); err == nil && len(all) > 0 {
					end(errAsked)
				}
			}
		}
	}()
	return watched, stop
}

// round is how far the questions of a call have come; it is the state that the client returns.
type round struct {
	number int // from 1
	of     taskID
}

// mostRounds is how often one call asks. The library gives up an older client's call after ten; the
// window goes on asking.
const mostRounds = 8

func (r round) String() string { return fmt.Sprintf("%d/%s", r.number, r.of) }

// parseRound returns the round that a call answers; its zero value where it answers none.
func parseRound(call mcp.CallToolRequest, repl string) round {
	number, text, _ := strings.Cut(call.Params.RequestState, "/")
	n, err := strconv.Atoi(number)
	id, ok := parseTaskID(text)
	if err != nil || !ok || id.machine != repl || len(call.Params.InputResponses) == 0 {
		return round{}
	}
	return round{n, id}
}

// askHosts answers a call with the questions of the code that it waits for; nil where they are
// answered by now.
func askHosts(ctx context.Context, m Machines, r round) *mcp.CallToolResult {
	all, err := questions(ctx, m, r.of.machine)
	if err != nil || len(all) == 0 {
		return nil
	}
	builder := server.NewInputRequestBuilder(r.String())
	for key, question := range all {
		builder.Elicit(key, question)
	}
	return builder.ToolResult()
}

// moreMemory has the person allow a machine with more memory than usual; see permit.
func (s *Server) moreMemory(ctx context.Context, call mcp.CallToolRequest, m Machines, mb int) *mcp.CallToolResult {
	return s.permit(ctx, call, m, api.AskPermission{Kind: "memory", MemoryMB: mb},
		fmt.Sprintf("%s wants a machine with up to %s GB of memory, more than the usual %d GB. Allow it?", caller(ctx).name, strconv.FormatFloat(float64(mb)/1024, 'f', -1, 64), defaultMemoryMB/1024),
		fmt.Sprintf("A REPL with %d MB needs no permission.", defaultMemoryMB))
}

// farBack has the person allow going back, if that undoes a lot of work; see permit.
func (s *Server) farBack(ctx context.Context, call mcp.CallToolRequest, m Machines, repl, to string) *mcp.CallToolResult {
	steps, lot, err := undoes(ctx, m, repl, to)
	switch {
	case err != nil:
		return failure(err, repl)
	case !lot:
		return nil
	}
	work := fmt.Sprintf("%d steps", steps)
	if steps == 1 {
		work = "1 step"
	}
	return s.permit(ctx, call, m, api.AskPermission{Kind: "rewind", Machine: repl, Checkpoint: to, Steps: steps},
		fmt.Sprintf("%s wants to return the machine %s to another state. This undoes %s. You can go back to the present state later. Allow it?", caller(ctx).name, repl, work),
		"To continue from that state and leave this REPL as it is, call manage-python-repl with action fork and the checkpointId.")
}

package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

const (
	transcriptPart = 8 << 10 // bytes of one instruction's output, result or error
	transcriptCode = 32 << 10
)

// transcript is a machine's history as Markdown, oldest first, at most limit bytes of the latest.
func (s *Server) transcript(ctx context.Context, m Machines, name string, limit int) (string, error) {
	machine, err := m.Machine(ctx, name)
	if err != nil {
		return "", err
	}
	var parts []string // newest first
	size, left := 0, false
	var before *int
	for !left {
		page, err := m.Instructions(ctx, name, client.InstructionQuery{Newest: true, Before: before, Limit: 50})
		if err != nil {
			return "", err
		}
		for _, in := range page.Items {
			part, err := transcribe(ctx, m, machine.Name, in)
			if err != nil {
				return "", err
			}
			if size += len(part); size > limit && len(parts) > 0 {
				left = true
				break
			}
			parts = append(parts, part)
			before = &in.Seq
		}
		if page.Next == "" || len(page.Items) == 0 {
			break
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", strings.TrimSpace(machine.Name+" "+machine.Title))
	if left {
		fmt.Fprintf(&out, "The steps before %d are left out.\n\n", *before+1)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		out.WriteString(parts[i])
	}
	return out.String(), nil
}

// transcribe is one instruction as Markdown.
func transcribe(ctx context.Context, m Machines, name string, in api.Instruction) (string, error) {
	var out strings.Builder
	by := strings.TrimSpace(in.Client.Name + " " + in.Client.Version)
	fmt.Fprintf(&out, "## Step %d · %s", in.Seq+1, in.QueuedAt.UTC().Format(time.RFC3339))
	if by != "" {
		fmt.Fprintf(&out, " · %s", by)
	}
	fmt.Fprintf(&out, " · %s", in.Status)
	if in.RolledBack {
		out.WriteString(" · its effect was undone")
	}
	out.WriteString("\n\n")
	code, _ := cutMiddle(in.Code, transcriptCode)
	fence(&out, "python", code)
	if in.Items > 0 {
		got, err := collectAll(ctx, m, in, transcriptPart)
		if err != nil {
			return "", err
		}
		text, _ := got.screen.text()
		fence(&out, "text", text)
		for n := range got.pictures {
			fmt.Fprintf(&out, "Picture: %s\n\n", plotURI(name, in.Seq, n+1))
		}
	}
	if in.Value != nil {
		value, _ := cutMiddle(*in.Value, transcriptPart)
		out.WriteString("Result:\n\n")
		fence(&out, "text", value)
	}
	if in.Error != "" {
		traceback, _ := cutMiddle(in.Error, transcriptPart)
		out.WriteString("Error:\n\n")
		fence(&out, "text", traceback)
	}
	if in.Notice != "" {
		fmt.Fprintf(&out, "> %s\n\n", in.Notice)
	}
	return out.String(), nil
}

// fence writes a code block whose fence the text cannot end.
func fence(out *strings.Builder, language, text string) {
	if text == "" {
		return
	}
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	fmt.Fprintf(out, "%s%s\n%s\n%s\n\n", marks, language, strings.TrimSuffix(text, "\n"), marks)
}

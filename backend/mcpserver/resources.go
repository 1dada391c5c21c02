package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/client"
)

const (
	maxResource   = 16 << 20 // bytes of output text in one resource
	listedMachine = 50       // transcripts in the list of resources
)

func machineURI(name string) string { return "forevervm://machine/" + url.PathEscape(name) }

func transcriptURI(name string) string { return machineURI(name) + "/transcript" }

func outputURI(name string, seq int) string {
	return fmt.Sprintf("%s/step/%d/output", machineURI(name), seq+1)
}

// plotURI is the address of an instruction's n-th picture, counting from 1.
func plotURI(name string, seq, n int) string {
	return fmt.Sprintf("%s/step/%d/plot/%d.png", machineURI(name), seq+1, n)
}

func fileURI(name, path string) string {
	return machineURI(name) + "/file/" + strings.TrimPrefix((&url.URL{Path: path}).EscapedPath(), "/")
}

func (s *Server) addResources() {
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("forevervm://machine/{name}/transcript", "Transcript of a REPL",
		mcp.WithTemplateDescription("Everything that ran in a REPL, oldest first: code, output, results, errors, who ran it."),
		mcp.WithTemplateMIMEType("text/markdown")), s.readTranscript)
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("forevervm://machine/{name}/step/{step}/output", "Output of a step",
		mcp.WithTemplateDescription("All the text that one step printed, with the text forms of the tables and other things that it displayed."),
		mcp.WithTemplateMIMEType("text/plain")), s.readWholeOutput)
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("forevervm://machine/{name}/step/{step}/plot/{n}.png", "Picture of a step",
		mcp.WithTemplateDescription("One picture that a step drew, in full resolution; the first is 1."),
		mcp.WithTemplateMIMEType("image/png")), s.readPlot)
}

// address is what a resource's URI names.
type address struct {
	name   string
	seq, n int
}

var addresses = regexp.MustCompile(`^forevervm://machine/([^/]+)/(?:transcript|step/([1-9]\d{0,8})/(?:output|plot/(\d{1,6})\.png))$`)

func parseURI(uri string) (address, error) {
	parts := addresses.FindStringSubmatch(uri)
	if parts == nil {
		return address{}, fmt.Errorf("%q is not the address of a ForeverVM resource", uri)
	}
	name, err := url.PathUnescape(parts[1])
	if err != nil {
		return address{}, fmt.Errorf("%q is not the address of a ForeverVM resource: %w", uri, err)
	}
	a := address{name: name}
	step, _ := strconv.Atoi(parts[2]) // absent for a transcript
	a.seq = step - 1
	a.n, _ = strconv.Atoi(parts[3])
	return a, nil
}

func (s *Server) readTranscript(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	a, err := parseURI(r.Params.URI)
	if err != nil {
		return nil, err
	}
	text, err := s.transcript(ctx, s.of(ctx), a.name, s.opts.ReplyLimit/2)
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/markdown", Text: text}}, nil
}

func (s *Server) readWholeOutput(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	a, err := parseURI(r.Params.URI)
	if err != nil {
		return nil, err
	}
	text, more, err := outputFrom(ctx, s.of(ctx), a.name, a.seq, 0, maxResource)
	if err != nil {
		return nil, err
	}
	end := int64(len(text))
	if text = readable(text); more {
		text += fmt.Sprintf("[… the rest is left out here; read-output goes on at offset %d …]\n", end)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: text}}, nil
}

func (s *Server) readPlot(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	a, err := parseURI(r.Params.URI)
	if err != nil {
		return nil, err
	}
	m := s.of(ctx)
	in, err := m.Instruction(ctx, a.name, a.seq, 0)
	if err != nil {
		return nil, err
	}
	all, err := picturesOf(ctx, m, in)
	if err != nil {
		return nil, err
	}
	if a.n < 1 || a.n > len(all) {
		return nil, fmt.Errorf("step %d of %s drew %d pictures; there is no number %d", a.seq+1, a.name, len(all), a.n)
	}
	data, err := m.Data(ctx, all[a.n-1].rep, maxImageBytes)
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.BlobResourceContents{URI: r.Params.URI, MIMEType: all[a.n-1].rep.MIME, Blob: base64.StdEncoding.EncodeToString(data)}}, nil
}

// listTranscripts puts the transcripts of the latest machines into the list of resources.
func (s *Server) listTranscripts(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	page, err := s.of(ctx).Machines(ctx, client.MachineFilter{Limit: listedMachine})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			s.opts.Logger.Warn("the machines could not be listed as resources", "err", err)
		}
		return
	}
	for _, m := range page.Items {
		title := m.Title
		if title == "" {
			title = m.Name
		}
		result.Resources = append(result.Resources, mcp.NewResource(transcriptURI(m.Name), m.Name,
			mcp.WithResourceTitle("Transcript of "+title),
			mcp.WithResourceDescription(fmt.Sprintf("Everything that ran in %s: %d steps.", m.Name, m.NextSeq)),
			mcp.WithMIMEType("text/markdown")))
	}
}

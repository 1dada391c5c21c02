package mcpserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
)

const (
	maxPut  = 32 << 20 // bytes of one file put in by a model
	maxText = 128 << 10
	maxBlob = 512 << 10 // of a binary file in one reply, before base64
)

func (s *Server) addPackageTool() {
	s.tool("install-packages", hints{title: "Install Python packages", destructive: true, repeatable: true, outside: true},
		s.install, replID(),
		mcp.WithArray("packages", mcp.Required(), mcp.MinItems(1), mcp.MaxItems(api.MaxInstalled), mcp.WithStringItems(), mcp.Description(`As pip takes them: ["polars", "pandas>=2.2"]`)))
}

func (s *Server) addFileTools() {
	s.tool("put-file", hints{title: "Put a file into a REPL", destructive: true, repeatable: true, here: true},
		s.putFile, s.withChatPage, replID(), filePath(), mcp.WithString("content"),
		mcp.WithString("encoding", mcp.Enum("text", "base64"), mcp.Description("Of content; default text")))

	s.tool("get-file", hints{title: "Get a file from a REPL", readOnly: true, repeatable: true, here: true},
		s.getFile, longResult, replID(), filePath(),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Description("Of a long text: first byte")))
}

// filePath is where in a machine a file is.
func filePath() mcp.ToolOption {
	return mcp.WithString("path", mcp.Required(), mcp.Description("Absolute, or relative to /root"))
}

func (s *Server) install(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	code, err := api.InstallCode(call.GetStringSlice("packages", nil))
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return s.run(ctx, call, call.GetString("replId", ""), code, s.opts.InstructionLimit)
}

func (s *Server) putFile(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, where := call.GetString("replId", ""), call.GetString("path", "")
	if _, given := call.GetArguments()["content"]; !given {
		return s.askForFile(ctx, name, where)
	}
	content := []byte(call.GetString("content", ""))
	if call.GetString("encoding", "text") == "base64" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(string(content)); err != nil {
			return mcp.NewToolResultErrorf("The content is not base64: %v.", err), nil
		}
	}
	if len(content) > maxPut {
		return mcp.NewToolResultErrorf("The file has %d bytes, more than the %d that fit through here. Ask the user to put it in with the ForeverVM app.", len(content), maxPut), nil
	}
	if err := s.of(ctx).PutFile(ctx, name, where, bytes.NewReader(content)); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%d bytes were written to %s in %s.", len(content), where, name)), nil
}

// dropKey is the key of a result's _meta that has the code of the place for a file, for the page.
const dropKey = "forevervm/drop"

// askForFile answers with a link at which the person gives a file. The page in the chat has a place
// for it, too.
func (s *Server) askForFile(ctx context.Context, name, where string) (*mcp.CallToolResult, error) {
	place, err := s.of(ctx).NewDrop(ctx, name, where)
	if err != nil {
		return failure(err, name), nil
	}
	result := mcp.NewToolResultText(fmt.Sprintf("Ask the user to open this link on their computer and drop the file there: %s\n[The link takes one file, for 10 minutes. When the user says that it is done, the file is at %s in %s%s.]",
		place.URL, where, name, inFolder(where)))
	result.Meta = &mcp.Meta{AdditionalFields: map[string]any{dropKey: place.Code}}
	return result, nil
}

func inFolder(where string) string {
	if strings.HasSuffix(where, "/") {
		return ", under its own name"
	}
	return ""
}

func (s *Server) getFile(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, where := call.GetString("replId", ""), call.GetString("path", "")
	offset := max(int64(call.GetInt("offset", 0)), 0)
	body, size, err := s.of(ctx).GetFile(ctx, name, where)
	if err != nil {
		return failure(err, name), nil
	}
	defer body.Close()
	if _, err := io.CopyN(io.Discard, body, offset); err != nil {
		return mcp.NewToolResultErrorf("%s has fewer than %d bytes.", where, offset), nil
	}
	data, err := io.ReadAll(io.LimitReader(body, maxImageBytes+1))
	if err != nil {
		return failure(err, name), nil
	}
	mime := http.DetectContentType(data)
	switch {
	case mime == "image/png" || mime == "image/jpeg":
		p, err := picture{data: data, mime: mime}.fit(s.opts.ReplyLimit - 4096)
		if err == nil {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.NewImageContent(base64.StdEncoding.EncodeToString(p.data), p.mime)}}, nil
		}
	case isText(data):
		return textFile(data, where, offset, size), nil
	}
	if len(data) > maxBlob || base64Len(data) > s.opts.ReplyLimit-4096 {
		return mcp.NewToolResultErrorf("%s is too large to be returned (%d bytes, and not text). Look at it with code in the REPL, or tell the user to download it with the ForeverVM app.", where, size), nil
	}
	return mcp.NewToolResultResource(path.Base(where), mcp.BlobResourceContents{
		URI: fileURI(name, where), MIMEType: mime, Blob: base64.StdEncoding.EncodeToString(data),
	}), nil
}

// isText says whether the bytes read as text; the last character may be cut off.
func isText(data []byte) bool {
	return utf8.Valid(wholeRunes(data)) && !bytes.ContainsRune(data, 0)
}

func textFile(data []byte, where string, offset, size int64) *mcp.CallToolResult {
	if len(data) <= maxText {
		return mcp.NewToolResultText(string(data))
	}
	end := pieceEnd(data[:maxText])
	result := mcp.NewToolResultText(string(data[:end]))
	rest := fmt.Sprintf("This is not all of %s (%d bytes): call get-file with offset %d for more.", where, size, offset+int64(end))
	result.Content = append(result.Content, mcp.NewTextContent(rest))
	return result
}

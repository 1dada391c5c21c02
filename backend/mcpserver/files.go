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
	maxPut    = 32 << 20 // bytes of one file put in by a model
	maxText   = 128 << 10
	maxListed = 500
	maxBlob   = 512 << 10 // of a binary file in one reply, before base64
)

func (s *Server) addFileTools() {
	s.tool("install-packages", hints{title: "Install Python packages", destructive: true, repeatable: true, outside: true},
		s.install, replID(),
		mcp.WithArray("packages", mcp.Required(), mcp.MinItems(1), mcp.MaxItems(api.MaxInstalled), mcp.WithStringItems(), mcp.Description(`Requirements as pip takes them: ["polars", "pandas>=2.2"]`)),
		mcp.WithOutputSchema[outcome]())

	s.tool("list-files", hints{title: "List files", readOnly: true, repeatable: true, here: true},
		s.listFiles, replID(),
		mcp.WithString("path", mcp.Description("Relative to the REPL's home folder /root, or absolute; the home folder when left out")),
		mcp.WithOutputSchema[api.FileList]())

	s.tool("delete-file", hints{title: "Delete a file", destructive: true, repeatable: true, here: true},
		s.deleteFile, replID(),
		mcp.WithString("path", mcp.Required(), mcp.Description("Relative to the REPL's home folder, or absolute")))

	s.tool("make-folder", hints{title: "Make a folder", repeatable: true, here: true},
		s.makeFolder, replID(),
		mcp.WithString("path", mcp.Required(), mcp.Description("Relative to the REPL's home folder, or absolute")))

	s.tool("put-file", hints{title: "Put a file into a REPL", destructive: true, repeatable: true, here: true},
		s.putFile, replID(),
		mcp.WithString("path", mcp.Required(), mcp.Description("Where, relative to the REPL's home folder: \"data/sales.csv\"")),
		mcp.WithString("content", mcp.Required(), mcp.Description("What to write")),
		mcp.WithString("encoding", mcp.Enum("text", "base64"), mcp.Description("base64 when the content is binary and given as base64; text when left out")))

	s.tool("get-file", hints{title: "Get a file from a REPL", readOnly: true, repeatable: true, here: true},
		s.getFile, replID(),
		mcp.WithString("path", mcp.Required(), mcp.Description("Relative to the REPL's home folder, or absolute")),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Description("For a long text: the byte to start from")))
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

func (s *Server) listFiles(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	list, err := s.of(ctx).ListFiles(ctx, name, call.GetString("path", ""))
	if err != nil {
		return failure(err, name), nil
	}
	if len(list.Items) > maxListed {
		list.Items, list.More = list.Items[:maxListed], true
	}
	lines := make([]string, 0, len(list.Items)+1)
	for _, f := range list.Items {
		line := fmt.Sprintf("%q, %s", f.Name, f.Kind)
		if f.Kind == "file" {
			line += fmt.Sprintf(", %d bytes", f.Size)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = append(lines, "The folder is empty.")
	}
	if list.More {
		lines = append(lines, "There are more: look with code.")
	}
	return mcp.NewToolResultStructured(list, list.Path+":\n"+strings.Join(lines, "\n")), nil
}

func (s *Server) deleteFile(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, where := call.GetString("replId", ""), call.GetString("path", "")
	if err := s.of(ctx).RemoveFile(ctx, name, where); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%s was deleted in %s.", where, name)), nil
}

func (s *Server) makeFolder(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, where := call.GetString("replId", ""), call.GetString("path", "")
	if err := s.of(ctx).MakeFolder(ctx, name, where); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("The folder %s is in %s.", where, name)), nil
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

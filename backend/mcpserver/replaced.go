package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const maxListed = 500 // files of a folder

// addReplacedTools adds tools of earlier builds, which no client is told of any more. Rules and
// conversations may name them, so they answer for one release. Then delete this file, and what only
// it uses. manage-python-repl replaces the first three, and code the others: os.listdir,
// os.remove, os.makedirs.
func (s *Server) addReplacedTools() {
	s.tool("list-checkpoints", hints{title: "List checkpoints", readOnly: true, repeatable: true, here: true, unlisted: true},
		s.checkpoints, replID())

	s.tool("fork-python-repl", hints{title: "Fork a REPL", here: true, unlisted: true},
		s.fork, replID(), mcp.WithString("checkpointId"), mcp.WithString("title", mcp.MaxLength(200)))

	s.tool("delete-python-repl", hints{title: "Move a REPL to the bin", destructive: true, repeatable: true, here: true, unlisted: true},
		s.delete, replID())

	s.tool("list-files", hints{title: "List files", readOnly: true, repeatable: true, here: true, unlisted: true},
		s.listFiles, replID(), mcp.WithString("path"))

	s.tool("delete-file", hints{title: "Delete a file", destructive: true, repeatable: true, here: true, unlisted: true},
		s.deleteFile, replID(), filePath())

	s.tool("make-folder", hints{title: "Make a folder", repeatable: true, here: true, unlisted: true},
		s.makeFolder, replID(), filePath())
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
	return mcp.NewToolResultText(list.Path + ":\n" + strings.Join(lines, "\n")), nil
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

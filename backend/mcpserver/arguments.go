package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/forevervm/desktop/backend/complaint"
)

// checked calls a tool only with arguments that are as its schema says. What is wrong is told in
// words that a model can act on; the library's own check (server.WithInputSchemaValidation) shows
// Go values.
func checked(tool mcp.Tool, next server.ToolHandlerFunc) server.ToolHandlerFunc {
	schema := sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(tool) })
	return func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		valid, err := schema()
		if err != nil {
			return nil, err
		}
		arguments := call.GetArguments()
		if arguments == nil {
			arguments = map[string]any{}
		}
		if err := valid.Validate(arguments); err != nil {
			return mcp.NewToolResultErrorf("The arguments of %s are wrong: %s.", tool.Name, complaint.Of(err)), nil
		}
		return next(ctx, call)
	}
}

func compile(tool mcp.Tool) (*jsonschema.Schema, error) {
	encoded, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(tool.Name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(tool.Name)
}

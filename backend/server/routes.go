package server

import "net/http"

// route is one call that the server answers.
type route struct {
	pattern string // as http.ServeMux takes it
	handle  func(w http.ResponseWriter, r *http.Request) error
	open    bool // needs no token
	socket  bool // a WebSocket, whose address may hold the token
}

// routes are all calls. What is under /api, /health and /open stands in api/openapi.yaml; a test compares them.
func (s *Server) routes() []route {
	routes := []route{
		// The ForeverVM wire.
		{pattern: "GET /v1/whoami", handle: s.wireWhoami},
		{pattern: "POST /v1/machine/new", handle: s.wireNew},
		{pattern: "POST /v1/machine/list", handle: s.wireList},
		{pattern: "GET /v1/machine/list", handle: s.wireList},
		{pattern: "POST /v1/machine/{name}/exec", handle: s.wireExec},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/result", handle: s.wireResult},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/stream-result", handle: s.wireStreamResult},
		{pattern: "GET /v1/machine/{name}/repl", handle: s.wireRepl, socket: true},
		{pattern: "POST /internal/signup", handle: s.wireSignup, open: true},

		// The daemon's own API.
		{pattern: "GET /health", handle: s.health, open: true},
		{pattern: "GET /api/status", handle: s.status},
		{pattern: "POST /api/engines/{name}/start", handle: s.startEngine},
		{pattern: "POST /api/shutdown", handle: s.shutdown},
		{pattern: "GET /api/settings", handle: s.getSettings},
		{pattern: "PATCH /api/settings", handle: s.changeSettings},
		{pattern: "GET /api/update", handle: s.getUpdate},
		{pattern: "POST /api/update/look", handle: s.lookForUpdate},
		{pattern: "POST /api/update/install", handle: s.installUpdate},
		{pattern: "POST /api/open", handle: s.newOpenCode},
		{pattern: "POST /open", handle: s.redeemOpenCode, open: true},
		{pattern: "GET /api/events", handle: s.events},
		{pattern: "GET /api/search", handle: s.search},
		{pattern: "GET /api/clients", handle: s.listClients},
		{pattern: "POST /api/clients", handle: s.hello},

		{pattern: "GET /api/hosted", handle: s.getHosted},
		{pattern: "POST /api/hosted/login", handle: s.hostedLogin},
		{pattern: "POST /api/hosted/use", handle: s.hostedUse},
		{pattern: "POST /api/hosted/logout", handle: s.hostedLogout},
		{pattern: "POST /api/hosted/signup", handle: s.hostedSignup},
		{pattern: "DELETE /api/hosted/official", handle: s.removeOfficial},

		{pattern: "GET /api/apps", handle: s.listApps},
		{pattern: "POST /api/apps/{id}/connect", handle: s.connectApp},
		{pattern: "POST /api/apps/{id}/disconnect", handle: s.disconnectApp},
		{pattern: "POST /api/apps/{id}/repair", handle: s.repairApp},
		{pattern: "POST /api/apps/{id}/offer", handle: s.offerApp},
		{pattern: "POST /api/apps/{id}/test", handle: s.testApp},
		{pattern: "GET /api/apps/{id}/backups", handle: s.listAppBackups},
		{pattern: "POST /api/apps/{id}/restore", handle: s.restoreApp},

		{pattern: "GET /api/machines", handle: s.listMachines},
		{pattern: "POST /api/machines", handle: s.createMachine},
		{pattern: "GET /api/machines/{name}", handle: s.getMachine},
		{pattern: "PATCH /api/machines/{name}", handle: s.changeMachine},
		{pattern: "DELETE /api/machines/{name}", handle: s.deleteMachine},
		{pattern: "POST /api/machines/{name}/restore", handle: s.onMachine(s.config.Machines.Restore)},
		{pattern: "POST /api/machines/{name}/swap", handle: s.onMachine(s.config.Machines.Swap)},
		{pattern: "POST /api/machines/{name}/wake", handle: s.onMachine(s.config.Machines.Wake)},
		{pattern: "POST /api/machines/{name}/interrupt", handle: s.interrupt},

		{pattern: "GET /api/machines/{name}/instructions", handle: s.listInstructions},
		{pattern: "POST /api/machines/{name}/instructions", handle: s.execute},
		{pattern: "POST /api/machines/{name}/packages", handle: s.install},
		{pattern: "GET /api/machines/{name}/instructions/{seq}", handle: s.getInstruction},
		{pattern: "DELETE /api/machines/{name}/instructions/{seq}", handle: s.cancelInstruction},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/items", handle: s.listItems},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/stream", handle: s.streamInstruction},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/data/{place}/{n}", handle: s.getData},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/output", handle: s.getOutput},

		{pattern: "GET /api/machines/{name}/export", handle: s.export},
		{pattern: "GET /api/machines/{name}/pack", handle: s.pack},
		{pattern: "GET /api/machines/{name}/plots", handle: s.listPlots},

		{pattern: "GET /api/machines/{name}/checkpoints", handle: s.listCheckpoints},
		{pattern: "POST /api/machines/{name}/checkpoints", handle: s.createCheckpoint},
		{pattern: "PATCH /api/machines/{name}/checkpoints/{id}", handle: s.keepCheckpoint},
		{pattern: "DELETE /api/machines/{name}/checkpoints/{id}", handle: s.deleteCheckpoint},
		{pattern: "POST /api/machines/{name}/rewind", handle: s.rewind},
		{pattern: "POST /api/machines/{name}/fork", handle: s.fork},
		{pattern: "GET /api/machines/{name}/compare", handle: s.compare},
		{pattern: "GET /api/machines/{name}/branches", handle: s.listBranches},
		{pattern: "PATCH /api/machines/{name}/branches/{branch}", handle: s.renameBranch},
		{pattern: "DELETE /api/machines/{name}/branches/{branch}", handle: s.deleteBranch},

		{pattern: "POST /api/unpack", handle: s.unpack},
		{pattern: "POST /api/unpack/look", handle: s.lookIntoParcel},
		{pattern: "GET /api/makers", handle: s.listMakers},
		{pattern: "DELETE /api/makers/{fingerprint}", handle: s.forgetMaker},

		{pattern: "PUT /api/machines/{name}/shared", handle: s.shareFolder},
		{pattern: "DELETE /api/machines/{name}/shared", handle: s.stopSharing},
		{pattern: "GET /api/machines/{name}/network", handle: s.getNetwork},
		{pattern: "GET /api/machines/{name}/connections", handle: s.listConnections},
		{pattern: "POST /api/machines/{name}/connections/{id}/answer", handle: s.answerConnection},

		{pattern: "POST /api/machines/{name}/complete", handle: s.complete},
		{pattern: "POST /api/machines/{name}/inspect", handle: s.inspect},
		{pattern: "GET /api/machines/{name}/variables", handle: s.listVariables},
		{pattern: "POST /api/machines/{name}/table", handle: s.readTable},
		{pattern: "GET /api/machines/{name}/files", handle: s.listFiles},
		{pattern: "DELETE /api/machines/{name}/files", handle: s.removeFile},
		{pattern: "GET /api/machines/{name}/files/stat", handle: s.statFile},
		{pattern: "POST /api/machines/{name}/files/folder", handle: s.makeFolder},
		{pattern: "GET /api/machines/{name}/files/content", handle: s.readFile},
		{pattern: "PUT /api/machines/{name}/files/content", handle: s.writeFile},

		// Whatever else looks like a call gets an answer that a program understands, not the page.
		{pattern: "/api/", handle: noSuchCall},
		{pattern: "/v1/", handle: noSuchCall},
		{pattern: "/internal/", handle: noSuchCall, open: true},
	}
	if s.config.MCP != nil {
		for _, path := range []string{"/mcp", "/sse", "/message"} {
			routes = append(routes, route{pattern: path, handle: s.mcp})
		}
	}
	if s.page != nil {
		routes = append(routes, route{pattern: "/", handle: s.page.serve, open: true})
	}
	return routes
}

func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	s.config.MCP.ServeHTTP(w, r)
	return nil
}

func noSuchCall(_ http.ResponseWriter, r *http.Request) error {
	return &failure{status: http.StatusNotFound, code: "NotFound", message: "There is no call " + r.Method + " " + r.URL.Path + " here."}
}

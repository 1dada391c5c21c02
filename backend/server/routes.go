package server

import (
	"net/http"

	"github.com/forevervm/desktop/backend/machine"
)

// route is one call that the server answers.
type route struct {
	pattern string // as http.ServeMux takes it
	handle  func(w http.ResponseWriter, r *http.Request) error
	machine func(w http.ResponseWriter, r *http.Request, m machine.Handle) error // in place of handle: {name} is a machine
	open    bool                                                                 // needs no token
	file    bool                                                                 // an open one that takes a file, once it knows who sends it
	socket  bool                                                                 // a WebSocket, whose address may hold the token
}

// routes are all calls. What is under /api, /health and /open stands in api/openapi.yaml; a test
// compares them.
func (s *Server) routes() []route {
	routes := []route{
		// The ForeverVM wire.
		{pattern: "GET /v1/whoami", handle: s.wireWhoami},
		{pattern: "POST /v1/machine/new", handle: s.wireNew},
		{pattern: "POST /v1/machine/list", handle: s.wireList},
		{pattern: "GET /v1/machine/list", handle: s.wireList},
		{pattern: "POST /v1/machine/{name}/exec", machine: s.wireExec},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/result", machine: s.wireResult},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/stream-result", machine: s.wireStreamResult},
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
		{pattern: "GET /api/backups", handle: s.getBackups},
		{pattern: "POST /api/backups/run", handle: s.backUp},
		{pattern: "GET /api/storage", handle: s.getStorage},
		{pattern: "POST /api/storage/free", handle: s.freeUp},
		{pattern: "GET /api/storage/move", handle: s.getMove},
		{pattern: "POST /api/storage/move", handle: s.moveFiles},
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
		{pattern: "POST /api/apps/{id}/ask", handle: s.askApp},
		{pattern: "POST /api/apps/{id}/test", handle: s.testApp},
		{pattern: "GET /api/apps/{id}/backups", handle: s.listAppBackups},
		{pattern: "POST /api/apps/{id}/restore", handle: s.restoreApp},

		{pattern: "GET /api/permissions", handle: s.listPermissions},
		{pattern: "POST /api/permissions", handle: s.askPermission},
		{pattern: "POST /api/permissions/{id}/answer", handle: s.answerPermission},

		{pattern: "GET /api/machines", handle: s.listMachines},
		{pattern: "POST /api/machines", handle: s.createMachine},
		{pattern: "GET /api/machines/{name}", machine: s.getMachine},
		{pattern: "PATCH /api/machines/{name}", machine: s.changeMachine},
		{pattern: "DELETE /api/machines/{name}", machine: s.deleteMachine},
		{pattern: "POST /api/machines/{name}/restore", machine: changing(machine.Handle.Restore)},
		{pattern: "POST /api/machines/{name}/swap", machine: changing(machine.Handle.Swap)},
		{pattern: "POST /api/machines/{name}/wake", machine: changing(machine.Handle.Wake)},
		{pattern: "POST /api/machines/{name}/interrupt", machine: s.interrupt},

		{pattern: "GET /api/machines/{name}/instructions", machine: s.listInstructions},
		{pattern: "POST /api/machines/{name}/instructions", machine: s.execute},
		{pattern: "POST /api/machines/{name}/run", machine: s.run},
		{pattern: "POST /api/machines/{name}/packages", machine: s.install},
		{pattern: "GET /api/machines/{name}/instructions/{seq}", machine: s.getInstruction},
		{pattern: "DELETE /api/machines/{name}/instructions/{seq}", machine: s.cancelInstruction},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/items", machine: s.listItems},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/stream", machine: s.streamInstruction},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/data/{place}/{n}", machine: s.getData},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/output", machine: s.getOutput},

		{pattern: "GET /api/machines/{name}/export", machine: s.export},
		{pattern: "GET /api/machines/{name}/pack", machine: s.pack},
		{pattern: "GET /api/machines/{name}/plots", machine: s.listPlots},

		{pattern: "GET /api/machines/{name}/checkpoints", machine: s.listCheckpoints},
		{pattern: "POST /api/machines/{name}/checkpoints", machine: s.createCheckpoint},
		{pattern: "PATCH /api/machines/{name}/checkpoints/{id}", machine: s.keepCheckpoint},
		{pattern: "DELETE /api/machines/{name}/checkpoints/{id}", machine: s.deleteCheckpoint},
		{pattern: "POST /api/machines/{name}/rewind", machine: s.rewind},
		{pattern: "POST /api/machines/{name}/fork", machine: s.fork},
		{pattern: "GET /api/machines/{name}/checkpoints/{id}/contents", machine: s.contents},
		{pattern: "GET /api/machines/{name}/compare", machine: s.compare},
		{pattern: "GET /api/machines/{name}/branches", machine: s.listBranches},
		{pattern: "PATCH /api/machines/{name}/branches/{branch}", machine: s.renameBranch},
		{pattern: "DELETE /api/machines/{name}/branches/{branch}", machine: s.deleteBranch},

		{pattern: "POST /api/unpack", handle: s.unpack},
		{pattern: "POST /api/unpack/look", handle: s.lookIntoParcel},
		{pattern: "GET /api/makers", handle: s.listMakers},
		{pattern: "DELETE /api/makers/{fingerprint}", handle: s.forgetMaker},

		{pattern: "PUT /api/machines/{name}/shared", machine: s.shareFolder},
		{pattern: "DELETE /api/machines/{name}/shared", machine: s.stopSharing},
		{pattern: "POST /api/machines/{name}/results/open", machine: s.openResults},
		{pattern: "GET /api/machines/{name}/network", machine: s.getNetwork},
		{pattern: "GET /api/machines/{name}/connections", machine: s.listConnections},
		{pattern: "POST /api/machines/{name}/connections/{id}/answer", machine: s.answerConnection},

		{pattern: "POST /api/machines/{name}/drops", machine: s.newDrop},
		{pattern: "GET /api/drops/{code}", handle: s.getDrop, open: true},
		{pattern: "PUT /api/drops/{code}", handle: s.takeDrop, open: true, file: true},
		{pattern: "POST /api/drops/{code}/pieces", handle: s.takePiece},

		{pattern: "POST /api/machines/{name}/complete", machine: s.complete},
		{pattern: "POST /api/machines/{name}/inspect", machine: s.inspect},
		{pattern: "GET /api/machines/{name}/variables", machine: s.listVariables},
		{pattern: "POST /api/machines/{name}/table", machine: s.readTable},
		{pattern: "POST /api/machines/{name}/table/save", machine: s.saveTable},
		{pattern: "GET /api/machines/{name}/files", machine: s.listFiles},
		{pattern: "DELETE /api/machines/{name}/files", machine: s.removeFile},
		{pattern: "GET /api/machines/{name}/files/stat", machine: s.statFile},
		{pattern: "POST /api/machines/{name}/files/folder", machine: s.makeFolder},
		{pattern: "GET /api/machines/{name}/files/content", machine: s.readFile},
		{pattern: "PUT /api/machines/{name}/files/content", machine: s.writeFile},

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

// routesMeanwhile are what is answered while the files move.
func (s *Server) routesMeanwhile() []route {
	routes := []route{
		{pattern: "GET /health", handle: s.health, open: true},
		{pattern: "GET /api/storage/move", handle: s.getMove},
		{pattern: "POST /api/shutdown", handle: s.shutdown},
		{pattern: "POST /open", handle: moving, open: true},
	}
	for _, path := range []string{"/api/", "/v1/", "/internal/", "/mcp", "/sse", "/message"} {
		routes = append(routes, route{pattern: path, handle: moving})
	}
	if s.page != nil {
		routes = append(routes, route{pattern: "/", handle: s.page.serve, open: true})
	}
	return routes
}

func moving(http.ResponseWriter, *http.Request) error { return errMoving }

func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	s.config.MCP.ServeHTTP(w, r)
	return nil
}

func noSuchCall(_ http.ResponseWriter, r *http.Request) error {
	return &failure{status: http.StatusNotFound, code: "NotFound", message: "There is no call " + r.Method + " " + r.URL.Path + " here."}
}

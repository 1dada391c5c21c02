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
	tools   bool                                                                 // the tokens of AI apps and programs open it, too; all else is the owner's
	people  bool                                                                 // people of a team have it behind their door, with machines of their own; see team.go
	file    bool                                                                 // an open one that takes a file, once it knows who sends it
	socket  bool                                                                 // a WebSocket, whose address may hold the token
}

// routes are all calls. What is under /api, /health and /open stands in api/openapi.yaml; a test
// compares them.
func (s *Server) routes() []route {
	routes := []route{
		// The ForeverVM wire.
		{pattern: "GET /v1/whoami", handle: s.wireWhoami, tools: true, people: true},
		{pattern: "POST /v1/machine/new", handle: s.wireNew, tools: true, people: true},
		{pattern: "POST /v1/machine/list", handle: s.wireList, tools: true, people: true},
		{pattern: "GET /v1/machine/list", handle: s.wireList, tools: true, people: true},
		{pattern: "POST /v1/machine/{name}/exec", machine: s.wireExec, tools: true, people: true},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/result", machine: s.wireResult, tools: true, people: true},
		{pattern: "GET /v1/machine/{name}/exec/{seq}/stream-result", machine: s.wireStreamResult, tools: true, people: true},
		{pattern: "GET /v1/machine/{name}/repl", handle: s.wireRepl, socket: true, tools: true, people: true},
		{pattern: "POST /internal/signup", handle: s.wireSignup, open: true},

		// The daemon's own API.
		{pattern: "GET /health", handle: s.health, open: true},
		{pattern: "GET /api/status", handle: s.status, tools: true},
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
		{pattern: "POST /api/clients", handle: s.hello, tools: true},

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

		{pattern: "GET /api/tokens", handle: s.listTokens},
		{pattern: "POST /api/tokens", handle: s.newToken},
		{pattern: "PATCH /api/tokens/{id}", handle: s.allowToken},
		{pattern: "GET /api/people", handle: s.listPeople},
		{pattern: "POST /api/people", handle: s.addPerson},
		{pattern: "POST /api/people/{id}/token", handle: s.renewPerson},
		{pattern: "DELETE /api/people/{id}", handle: s.removePerson},
		{pattern: "GET /api/secrets", handle: s.listSecrets},
		{pattern: "PUT /api/secrets/{name}", handle: s.setSecret},
		{pattern: "DELETE /api/secrets/{name}", handle: s.removeSecret},
		{pattern: "GET /api/places", handle: s.listPlaces},
		{pattern: "POST /api/places", handle: s.addPlace},
		{pattern: "POST /api/places/look", handle: s.lookAtPlace},
		{pattern: "DELETE /api/places/{name}", handle: s.removePlace},
		{pattern: "GET /api/record", handle: s.listRecord},

		{pattern: "GET /api/permissions", handle: s.listPermissions},
		{pattern: "POST /api/permissions", handle: s.askPermission, tools: true},
		{pattern: "POST /api/permissions/{id}/answer", handle: s.answerPermission},

		{pattern: "GET /api/machines", handle: s.listMachines, tools: true},
		{pattern: "POST /api/machines", handle: s.createMachine, tools: true},
		{pattern: "GET /api/machines/{name}", machine: s.getMachine, tools: true},
		{pattern: "PATCH /api/machines/{name}", machine: s.changeMachine},
		{pattern: "DELETE /api/machines/{name}", machine: s.deleteMachine, tools: true},
		{pattern: "POST /api/machines/{name}/restore", machine: s.changing(machine.Handle.Restore)},
		{pattern: "POST /api/machines/{name}/swap", machine: s.changing(machine.Handle.Swap)},
		{pattern: "POST /api/machines/{name}/wake", machine: s.changing(machine.Handle.Wake)},
		{pattern: "POST /api/machines/{name}/interrupt", machine: s.interrupt, tools: true},

		{pattern: "GET /api/machines/{name}/instructions", machine: s.listInstructions, tools: true},
		{pattern: "POST /api/machines/{name}/instructions", machine: s.execute, tools: true},
		{pattern: "POST /api/machines/{name}/run", machine: s.run, tools: true},
		{pattern: "POST /api/machines/{name}/packages", machine: s.install},
		{pattern: "GET /api/machines/{name}/instructions/{seq}", machine: s.getInstruction, tools: true},
		{pattern: "DELETE /api/machines/{name}/instructions/{seq}", machine: s.cancelInstruction, tools: true},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/items", machine: s.listItems, tools: true},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/stream", machine: s.streamInstruction, tools: true},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/data/{place}/{n}", machine: s.getData, tools: true},
		{pattern: "GET /api/machines/{name}/instructions/{seq}/output", machine: s.getOutput},

		{pattern: "GET /api/machines/{name}/export", machine: s.export},
		{pattern: "GET /api/machines/{name}/typed-keys", machine: s.typedKeys},
		{pattern: "GET /api/machines/{name}/pack", machine: s.pack},
		{pattern: "GET /api/machines/{name}/plots", machine: s.listPlots},

		{pattern: "GET /api/machines/{name}/checkpoints", machine: s.listCheckpoints, tools: true},
		{pattern: "POST /api/machines/{name}/checkpoints", machine: s.createCheckpoint, tools: true},
		{pattern: "PATCH /api/machines/{name}/checkpoints/{id}", machine: s.keepCheckpoint},
		{pattern: "DELETE /api/machines/{name}/checkpoints/{id}", machine: s.deleteCheckpoint},
		{pattern: "POST /api/machines/{name}/move", machine: s.moveMachine},
		{pattern: "POST /api/machines/{name}/rewind", machine: s.rewind, tools: true},
		{pattern: "POST /api/machines/{name}/fork", machine: s.fork, tools: true},
		{pattern: "GET /api/machines/{name}/checkpoints/{id}/contents", machine: s.contents},
		{pattern: "GET /api/machines/{name}/compare", machine: s.compare, tools: true},
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
		{pattern: "GET /api/machines/{name}/network", machine: s.getNetwork, tools: true},
		{pattern: "GET /api/machines/{name}/connections", machine: s.listConnections, tools: true},
		{pattern: "POST /api/machines/{name}/connections/{id}/answer", machine: s.answerConnection, tools: true},

		{pattern: "POST /api/machines/{name}/drops", machine: s.newDrop, tools: true},
		{pattern: "GET /api/drops/{code}", handle: s.getDrop, open: true},
		{pattern: "PUT /api/drops/{code}", handle: s.takeDrop, open: true, file: true},
		{pattern: "POST /api/drops/{code}/pieces", handle: s.takePiece, tools: true},

		{pattern: "POST /api/machines/{name}/complete", machine: s.complete},
		{pattern: "POST /api/machines/{name}/inspect", machine: s.inspect},
		{pattern: "GET /api/machines/{name}/variables", machine: s.listVariables, tools: true},
		{pattern: "POST /api/machines/{name}/table", machine: s.readTable, tools: true},
		{pattern: "GET /api/machines/{name}/files", machine: s.listFiles, tools: true},
		{pattern: "DELETE /api/machines/{name}/files", machine: s.removeFile, tools: true},
		{pattern: "POST /api/machines/{name}/table/save", machine: s.saveTable, tools: true},
		{pattern: "GET /api/machines/{name}/files/stat", machine: s.statFile},
		{pattern: "POST /api/machines/{name}/files/folder", machine: s.makeFolder, tools: true},
		{pattern: "GET /api/machines/{name}/files/content", machine: s.readFile, tools: true},
		{pattern: "PUT /api/machines/{name}/files/content", machine: s.writeFile, tools: true},

		// Whatever else looks like a call gets an answer that a program understands, not the page.
		{pattern: "/api/", handle: noSuchCall, tools: true},
		{pattern: "/v1/", handle: noSuchCall, tools: true},
		{pattern: "/internal/", handle: noSuchCall, open: true},
	}
	if s.config.MCP != nil {
		for _, path := range []string{"/mcp", "/sse", "/message"} {
			routes = append(routes, route{pattern: path, handle: s.mcp, tools: true})
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
		routes = append(routes, route{pattern: path, handle: moving, tools: true})
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

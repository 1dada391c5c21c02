package aiapps

import "github.com/forevervm/desktop/backend/api"

// Document is the status as the API and the command line show it. Of the programs that have used
// machines, those that are the app say when it was last seen.
func (s AppStatus) Document(clients []api.ClientUse) api.App {
	out := api.App{
		ID: s.App.ID, Name: s.App.Name, Installed: s.Installed, Running: s.Running, State: string(s.State), Files: []api.AppFile{},
		Restarts: s.App.Restarts, Offers: s.App.Offers(), Asks: s.App.Prompt != nil, Skill: string(s.Skill),
	}
	for _, f := range s.Files {
		out.Files = append(out.Files, api.AppFile{Path: f.Path, State: string(f.State), Problem: f.Problem})
	}
	for _, client := range clients {
		if !s.App.IsClient(client.Name) {
			continue
		}
		if out.Seen == nil {
			out.Seen = &api.AppSeen{}
		}
		out.Seen.Calls += client.Calls
		if client.SeenAt.After(out.Seen.At) {
			out.Seen.At, out.Seen.Version = client.SeenAt, client.Version
		}
	}
	return out
}

// Document is the report as the API and the command line show it.
func (r Report) Document() api.AppReport {
	out := api.AppReport{ID: r.App.ID, Name: r.App.Name, Changes: []api.AppChange{}, Running: r.Running, Next: r.Next, Restarted: r.Restarted}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, api.AppChange{Path: c.Path, Action: string(c.Action), Difference: c.Difference})
	}
	return out
}

// Document is the backup as the API and the command line show it.
func (b Backup) Document() api.AppBackup {
	return api.AppBackup{ID: b.ID, Path: b.File, At: b.At, Size: b.Size}
}

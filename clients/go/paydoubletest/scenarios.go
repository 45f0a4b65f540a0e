package paydoubletest

// Scenarios are what pay-ins play.
type Scenarios struct {
	*control
	path string
}

// ScenarioSummary is a scenario in a list.
type ScenarioSummary struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Source is "shipped", "uploaded", or the path of its file.
	Source string `json:"source"`
	// Active says that every new pay-in plays it.
	Active bool `json:"active"`
}

// List returns all scenarios, by name.
func (s *Scenarios) List() []ScenarioSummary {
	s.t.Helper()
	return list[ScenarioSummary](s.control, s.path, nil)
}

// Get returns a scenario with its steps.
func (s *Scenarios) Get(name string) Document {
	s.t.Helper()
	return ask[Document](s.control, "GET", s.path+"/"+segment(name), nil)
}

// Active returns the name of the scenario that every new pay-in plays; empty without one.
func (s *Scenarios) Active() string {
	s.t.Helper()
	return ask[struct{ Name string }](s.control, "GET", s.path+"/active", nil).Name
}

// Upload adds a scenario; it replaces another of its name.
func (s *Scenarios) Upload(scenario Document) ScenarioSummary {
	s.t.Helper()
	return ask[ScenarioSummary](s.control, "POST", s.path, scenario)
}

// UploadYAML adds the scenario of a YAML file's text.
func (s *Scenarios) UploadYAML(text string) ScenarioSummary {
	s.t.Helper()
	return s.Upload(Document{"yaml": text})
}

// Activate makes every new pay-in play a scenario.
func (s *Scenarios) Activate(name string) ScenarioSummary {
	s.t.Helper()
	return ask[ScenarioSummary](s.control, "PUT", s.path+"/active", Document{"name": name})
}

// Deactivate deactivates the active scenario, and returns its name.
func (s *Scenarios) Deactivate() string {
	s.t.Helper()
	return ask[struct{ Deleted string }](s.control, "DELETE", s.path+"/active", nil).Deleted
}

// Play makes a pay-in that plays a scenario. The members of the deposit replace the scenario's own; nil replaces none.
func (s *Scenarios) Play(name string, deposit Document) Resource {
	s.t.Helper()
	members := Document{}
	if deposit != nil {
		members["deposit"] = deposit
	}
	return ask[Resource](s.control, "POST", s.path+"/"+segment(name)+"/play", members)
}

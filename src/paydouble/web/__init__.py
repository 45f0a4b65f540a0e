"""HTTP: the API, the control API and the documents."""

"""The HTTP side of a server: the API, the control API and the documents."""

"""What an agent can do with a running server: twelve tools, most of them made from the control API's document."""

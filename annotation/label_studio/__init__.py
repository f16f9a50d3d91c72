"""Label Studio: a server of the project's own, and the client of any."""

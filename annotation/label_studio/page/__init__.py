"""What the project's own server adds to Label Studio's pages. It runs in the server's environment, not in ours."""

"""Documents of nobody, to ask questions about."""

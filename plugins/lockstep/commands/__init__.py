"""One module per subcommand; each is imported only when it is called."""

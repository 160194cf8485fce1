"""What a model's config.json says, as plain data, and the rules an engine will hold it to."""

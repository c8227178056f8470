"""The host: headless, all its tables, their journal and their audience."""

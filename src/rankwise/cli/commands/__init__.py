"""The commands: each is a function in a file of its own."""

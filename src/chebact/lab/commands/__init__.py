"""Commands that belong to no subject, and the options that all commands share; `cli` has the names of the commands."""

"""Tables, figures and the page: they read records, and never train."""

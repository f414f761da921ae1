"""The playground: one static page on which an activation is bent by hand."""

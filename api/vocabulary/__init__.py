"""The ontology over HTTP and as files: its documents, and a page of every term."""

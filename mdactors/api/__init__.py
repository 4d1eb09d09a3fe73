"""HTTP: one file a resource."""

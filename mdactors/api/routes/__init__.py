"""One file a resource; each lists its handlers in `ROUTES`."""

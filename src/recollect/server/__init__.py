"""recollect as a service: HTTP over one store. Needs the `server` extra."""

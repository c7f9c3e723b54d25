"""A team of many machines on one server: what of it is lost, how late it is, how it bears bad days."""

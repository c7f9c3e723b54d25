"""A team's server in PostgreSQL: the tables, who may use them, and the journals in them."""

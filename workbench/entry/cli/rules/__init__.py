"""`workbench rules`: commands about rules."""

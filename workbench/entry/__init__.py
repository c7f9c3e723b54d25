"""Faces of the engine; `bootstrap` is the only module where `store` meets `workbench`."""

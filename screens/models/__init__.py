"""The models of the project: what plans rank with, how each was trained, and which is used."""

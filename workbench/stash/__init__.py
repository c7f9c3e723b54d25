"""The stash: context segments that are put aside and come back when they matter [rag]."""

"""Adapters behind `workbench.ports`: journals, tables, indexes, embeddings, files and git."""

import os

# From 1.29 on onnxruntime keeps an id of the machine and reports to its maker once it is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

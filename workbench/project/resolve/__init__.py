"""From an import specifier to files of the project, one module a language family.

Each family offers `resolver(tree)`, which builds its lookups once and returns a function (position of the
importer, specifier) → positions of the imported files; () where the specifier leads outside the project.
Nothing is read: only the paths of the project decide.
"""

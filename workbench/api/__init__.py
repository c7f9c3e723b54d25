"""The public face of the package: what `workbench` exports, as classes over the services of `entry/`."""

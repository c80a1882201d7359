"""What is compiled when the package is installed; docs/compiled.md says why."""

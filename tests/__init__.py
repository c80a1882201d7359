"""The test-suite; see CONTRIBUTING.md for how it is run."""

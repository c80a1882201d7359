"""The modules that are compiled with Cython at installation; docs/compiled.md explains why and gives the rules."""

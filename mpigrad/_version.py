"""The version of the package; packaging and code both read it here."""

__version__ = "0.1.0"

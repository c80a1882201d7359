"""The version of the package; packaging and code both read it here."""

__version__ = "0.2.0"

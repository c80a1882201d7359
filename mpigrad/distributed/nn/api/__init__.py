"""The package in which PyTorch has RemoteModule, for programs that import it from there."""

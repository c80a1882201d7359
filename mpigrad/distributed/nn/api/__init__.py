"""The path under which PyTorch has RemoteModule."""

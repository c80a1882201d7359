"""The graph of recorded operations: nodes, the engine that runs them backwards, modes, views and leaves."""

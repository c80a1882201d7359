"""Lazy modules: they take their sizes from the first input and then become ordinary modules."""

from __future__ import annotations

from typing import Any

from ..parameter import UninitializedBuffer, UninitializedParameter, is_uninitialized


class LazyModuleMixin:
    """Mixin of lazy modules, whose parameters get their shapes from the first input.

    A lazy class sets the shapes for the first input in `initialize_parameters(*args)`, and names in `cls_to_become` the class
    that it becomes.
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._infer_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)  # type: ignore[attr-defined]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Set the shapes of all parameters from the arguments of the first call; every lazy class defines this."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether some parameters or buffers have no shape yet."""
        held = [*self._parameters.values(), *self._buffers.values()]  # type: ignore[attr-defined]
        return any(is_uninitialized(each) for each in held)

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._infer_hook.remove()
        del self._infer_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _apply(self: Any, fn: Any, recurse: bool = True) -> Any:
        """Move or convert members; those without a shape are left unchanged."""
        shapeless = [name for name, held in self._buffers.items() if is_uninitialized(held)]
        super()._apply(fn, recurse)  # type: ignore[misc]
        for name in shapeless:
            held = self._buffers[name]
            self._buffers[name] = UninitializedBuffer(held.requires_grad, held.device, held.dtype)
        return self

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Give members without a shape the shapes of the tensors in a state."""
        for name, held in [*self._parameters.items(), *self._buffers.items()]:  # type: ignore[attr-defined]
            given = state_dict.get(prefix + name)
            if is_uninitialized(held) and given is not None and not is_uninitialized(given):
                held.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]


__all__ = ["LazyModuleMixin", "UninitializedBuffer", "UninitializedParameter"]

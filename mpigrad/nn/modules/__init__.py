"""The modules, one file per family. Programs find all of them in `mpigrad.nn`."""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._lazy_layers import *
    from .activation import *
    from .adaptive import *
    from .batchnorm import *
    from .channelshuffle import *
    from .container import *
    from .conv import *
    from .distance import *
    from .dropout import *
    from .flatten import *
    from .fold import *
    from .instancenorm import *
    from .linear import *
    from .loss import *
    from .module import Module as Module
    from .normalization import *
    from .padding import *
    from .pixelshuffle import *
    from .pooling import *
    from .rnn import *
    from .sparse import *
    from .transformer import *
    from .upsampling import *
else:
    __getattr__, __dir__ = lazily(__name__)

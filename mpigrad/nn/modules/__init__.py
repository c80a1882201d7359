"""The modules, one file per family. The `__all__` of each file lists its public classes."""

import typing

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

if not typing.TYPE_CHECKING:  # for type checkers: all names
    __all__ = [name for name in dir() if name[0].isupper()]  # the classes; names of files begin with small letters

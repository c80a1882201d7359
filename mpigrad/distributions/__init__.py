"""Probability distributions: sampling, log probabilities (differentiable in the parameters), moments and entropies.

Parameters are tensors or numbers and are broadcast: a distribution is a batch of independent ones.
`validate_args=False` switches off the checks of parameters and values, which raise a ValueError.
"""

from . import constraints
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .uniform import Uniform

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Independent",
    "MultivariateNormal",
    "Normal",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
]

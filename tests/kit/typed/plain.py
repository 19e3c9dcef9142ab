# pyright: basic
# mypy: allow-untyped-defs, allow-untyped-calls
"""A script as people write it, without types of their own: tests/house/test_types.py checks it, and runs it."""

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

import scalarviz as sv
from scalarviz import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 8)
        self.act = nn.Tanh()
        self.fc2 = nn.Linear(8, 1)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


def my_loss(p, t):
    return ((p - t) ** 2).mean()


X = np.random.default_rng(0).random((64, 2))
net = Net()
opt = optim.Adam(net.parameters(), lr=1e-2)
run = sv.Run(net, nn.MSELoss(), opt, data=(X, X[:, :1]))
run.step(3)
print(run.loss, run.history.loss, run.predict(X), net.fc1.weight[0][0], opt.param_groups)
print(net(X).argmax(1), net(X)[0], sv.Value(1.0) * 2)
w = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
print(w[0].weight[2][0], w[0].bias[0].data)
loader = DataLoader(TensorDataset(torch.ones(4, 2), torch.ones(4, 1)), batch_size=2)
sv.Run(net, nn.MSELoss(), opt, data=loader).step()
sv.Run(net, my_loss, opt, data=(X, X[:, :1])).step()
opt = optim.Adam(net.parameters(), lr=1e-2)
schedule = optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.5)
loss = nn.MSELoss()(net([1.0, 2.0]), [1.0])
loss.backward()
nn.utils.clip_grad_norm_(net.parameters(), 1.0)
net.load_state_dict(net.state_dict())
opt.step()
schedule.step()

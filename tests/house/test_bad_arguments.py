"""One table of calls of everything that is exported, with bad values: each is refused by name, none by accident.

A line is a call, or some with ``;`` between them; of the words in ``<>`` each is one. Behind ``|`` stand values that it
must refuse at the place of ``_``. Random calls of the same lines get hostile arguments: they succeed, or the package
refuses them in words; an error out of NumPy's or Python's insides, a warning, or a state that a refused call changed is
a defect. Lines with ``||`` start processes, threads or long work, or call what they get: not at random. The layers have
a table of their own in ``tests/nn``, the flags of the command line in ``tests/cli``.
"""

import ast
import copy
import datetime
import decimal
import fractions
import math
import operator
import random
import re
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import scalarviz as sv
from kit import hunt
from scalarviz import Value, Weight, data, io, nn, optim
from scalarviz.errors import DivergedError
from scalarviz.run import edits, panels
from scalarviz.run.state import optimizer_state
from scalarviz.scalar import ops

NO_NUMBERS = [None, "1", b"1", [1.0], 1j, {}, np.zeros(2), 10**400]
NO_SEQUENCES = [None, 3, Value(1.0), 1.5]
NO_SEED = [-1, 2**64, 1.5, "0", None, True]
NO_COUNT = [-1, 1.5, "2"]
HYPER = [None, "1", [1.0], -1, math.nan, math.inf, -math.inf]
X, Y = np.zeros((4, 3)), np.zeros((4, 2))
RGB = np.ones((2, 2, 3))
ONES, PICTURE = np.ones((4, 3)), np.ones((1, 3, 3))
AXES = {"across": panels.Axis("x", 0.0, 1.0), "up": panels.Axis("y", 0.0, 1.0)}
nan, inf = math.nan, math.inf


def linear():
    return nn.Sequential(nn.Linear(3, 2))


def made(**change):
    """A new run."""
    model = linear()
    given = {"model": model, "loss": nn.MSELoss(), "optimizer": optim.SGD(model.parameters(), lr=0.1), "data": (X, Y)}
    return sv.Run(**{**given, "engine": "numpy", **change})


def groups():
    return optim.SGD([{"params": [Weight(1.0)]}, {"params": [Weight(2.0)], "lr": 0.2}], lr=0.1).param_groups


def plane(title="a", **change):
    return panels.PlaneMap(**{"title": title, **AXES, **change})


def neurons(**change):
    return panels.NeuronMaps(**AXES | change)


def features(**change):
    return panels.Features(**{"names": ("a", "b"), **AXES, "values": len, "on": len, **change})


def parameter():
    return nn.Parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def in_place(p, other):
    with sv.no_grad():
        p -= other


def never(*_):
    """A callback that ends what calls it."""
    return False


TABLE = """
sv.<abs cos exp log neg relu leaky_relu sigmoid sin softplus sqrt square tanh>(_) | *NO_NUMBERS
w.value.<abs cos exp log neg relu leaky_relu sigmoid sin softplus sqrt square tanh>()
sv.<add div maximum minimum mul pow sub>(w.value, _) | *NO_NUMBERS
w.value.__<add radd sub rsub mul rmul truediv rtruediv pow rpow lt le gt ge>__(2)
sv.<clip where>(1.0, 2.0, _) | *NO_NUMBERS
sv.<mean min max logsumexp softmax log_softmax>(_) | [], *NO_SEQUENCES, ['a']
sv.<cat stack>([w.value, _]) | None, 'a', {}, [[1.0], 2.0]
sv.<cat stack>(_) | None, 3, []
sv.cat([[1.0, 2.0], [3.0, 4.0]], dim=_) | 2, 1.5, 'a', True
sv.stack([[1.0, 2.0], [3.0, 4.0]], dim=_) | None, 2, 1.5, 'a', True
nn.<ReLU Tanh Sigmoid Identity>() ; nn.<L1Loss BCELoss CrossEntropyLoss>('mean')
nn.<L1Loss BCELoss MSELoss HuberLoss>('mean')([0.5, 0.2], [0.1, 0.9])
optim.<SGD Adam AdamW>(w.loop.parameters(), <lr weight_decay>=_) | *HYPER
optim.<SGD Adam AdamW>(_) | None, [], 3, 'w', linear(), [1.0], [None]
optim.<Adam AdamW>(w.loop.parameters(), eps=_) | *HYPER
optim.<Adam AdamW>(w.loop.parameters(), betas=_) | None, 0.9, (0.9,), (0.9, 1.0), (-0.1, 0.9), 'ab'
optim.SGD(w.loop.parameters(), momentum=_) | *HYPER
setattr(w.adam, '<lr betas eps weight_decay weight_decy>', _) ; setattr(w.sgd, '<lr momentum nesterov>', _)
setattr(w.weight, '<frozen requires_grad name>', _) ; setattr(w.p, '<data grad frozen requires_grad>', _)
setattr(w.p[0], '<data grad frozen>', _) ; setattr(w.run, 'batch_size', _)
edits.<SetWeights AddToWeights>(0, [1.0]) ; edits.SetFrozen(0, [True]) ; edits.SetEngine('numpy', 'why')
edits.SetOptimizer({'lr': 0.1}) ; edits.Call(len, 'what')
edits.read_edit(edits.write_edit(edits.SetWeights(0, np.ones(1))))
io.load_picture('a.png') ; io.save_picture('b.png', RGB, None) ; io.Picture(RGB, None)
io.check_picture_name('b.png') ; io.shrink(io.Picture(RGB.astype('f')), 1) ; io.read_cube('a.cube')
io.write_cube('b.cube', w.cube) ; io.sample(lambda c: c, 2, 't') ; io.check_lut_name('b.cube')
io.Lut(np.ones((2, 2, 2, 3)), 'title', (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)) ; io.find_idx('.', 'a-idx3-ubyte')
io.save_tensors('b.safetensors', {'a': RGB}, {'a': 'b'}) ; io.save_tensors('b.safetensors', {'a': _})
io.load_tensors('kept.safetensors') ; io.read_idx('a.idx', 3) ; io.check_target('c') ; io.write_bytes('c', b'1')
data.target('warm') ; data.random_colours(3, 0) ; data.colour_grid(2) ; data.parse_colour('#ff8800')
data.parse_pair('#ff8800:#0044cc') ; data.hex_colour(RGB[0, 0])
sv.sum(_) | *NO_SEQUENCES, ['a']
sv.dot([1.0, 2.0], _) | [], [1.0], 'ab', [None, 1.0]
sv.no_grad(_) | 3, 'f', [print]
sv.no_grad()(_) | None, 3, lambda: (yield)
sv.gather(_, 0) | *NO_NUMBERS, [Weight(1.0)]
sv.gather(nn.Parameter([1.0, 2.0]), _) | None, '1', 2, -1, 0.5, nan, ['a']
Value(_) | *NO_NUMBERS
Value(1.0).backward(_) | *NO_NUMBERS
op.add(w.value, _) | *NO_NUMBERS
op.lt(_, w.value) | None, '1', [1.0]
Weight(_) | *NO_NUMBERS
w.weight.<forward backward>(_) | *NO_NUMBERS
w.weight.step(_) | *NO_NUMBERS, -1, nan, inf
w.weight.initialize(_) | *NO_NUMBERS, 2.0, nan, inf
w.weight.initialize(seed=_) | *NO_SEED
setattr(w.weight, 'data', _) | *NO_NUMBERS
setattr(w.weight, 'grad', _) | *NO_NUMBERS[1:]
sv.gradcheck(Value.exp, _) | *NO_NUMBERS
sv.gradcheck(_, 1.0) | None, 'exp', 3
sv.gradcheck(Value.exp, 1.0, step=_) | *NO_NUMBERS, 0, -1e-5, nan, inf
sv.gradcheck(lambda v: _, 1.0) | None, 1.0, [Value(1.0)]
sv.register(_, 'a', 'a', ('1',)) | None, 3, '', 'two words', 'exp', 'lambda', 'x' * 61
sv.register('bad', _, 'a', ('1',)) | None, 3, '', 'y', 'a a', 'a b c d', [1], '1'
sv.register('bad', 'a', _, ('1',)) | None, 3, '', 'a +', 'b', 'open(a)', 'a.b', 'a[0]'
sv.register('bad', 'a', 'a', _) | None, '1', (), ('1', '1'), (1,), ('b',), ('1 +',)
sv.lesson(_) || None, True, 6.0, 'six', '', -1, [6]
sv.live(_) || circle(), None, 'rgb', 3.0, object(), {}, [], nn.Linear
sv.live(linear(), display=_) || None, 3, 'video'
sv.live(linear(), size=_) || 3, 'large', (10, 10), (1e9, 1e9)
sv.live(linear(), hide=_) || None, 3, [3], 'speed', ('pace',)
sv.live(linear(), controls=_) || None, 'yes', 2
sv.player(_) || None, 3, linear(), [], b'run.svz', 'no such file.svz'
sv.player('run.svz', size=_) || 3, 'large', (10, 10)
sv.player('run.svz', theme=_) || None, 3, 'blue'
sv.player('run.svz', title=_) || None, 3, b'a'
sv.Recording(_) || None, 'rgb', 3, linear(), sv.Run, []
sv.Recording(made(), every=_) || None, 0, *NO_COUNT, True
sv.Recording(made(), <gradients panels>=_) || None, 'yes', 2
sv.Recording(made(), budget=_) || None, *NO_COUNT
sv.show(_, required=False) || None, 3, np.float64
sv.show(w.run, theme=_, required=False) || 3, 'blue'
sv.film(_, 'x.mp4') || None, 3, linear(), np.zeros((2, 2))
sv.film(w.run, _) || None, 3, 'x', 'x.avi', '/proc/x.mp4'
sv.film(w.run, 'x.mp4', _) || -1, 1.5, 'a', True
sv.film(w.run, 'x.gif', 1, size=_) || None, (10, 10), 'large', (160,)
sv.film(w.run, 'x.gif', 1, fps=_) || 0, 1000, None, 60, 'a'
sv.film(w.run, 'x.mp4', 1, duration=_) || 0, -1, nan, 'a'
sv.film(w.run, 'x.mp4', 1, theme=_) || None, 3, 'blue'
sv.Recording(made(), path=_) || 3, b'run.svz', '.'
sv.load_recording(_) || None, 3, b'run.svz', 'no such file.svz', '.', __file__
sv.load_onnx(_) || None, 3, 'no such file.onnx', '.', __file__
sv.draw(_) | None, '1', 3.0, {}, [], ['a'], nn.Linear, linear(), nn.Parameter([1.0]), abs
sv.draw(w.value, _) | 1.0, None
sv.draw(linear(), _) | None, circle(), 'a', [1.0], [1.0, 2.0, 'a']
sv.draw(w.value, theme=_) | None, 3, 'blue'
sv.draw(w.value, chains=_) | None, 3, 'yes'
sv.draw(w.value, digits=_) | '4', -1, 13, 2.5, True, [4]
sv.draw(w.value, unfold=_) | None, 3, '0', ['0'], [3]
sv.draw(w.value).save(_) | None, 3, 'a.jpg', 'a'
sv.trace(_, 1) || None, 'f', 3
sv.trace(lambda v: v, <_ 1,_>) | None, '1', -1, 1.5
sv.trace(lambda v: v, 1, loss=_) | 'f', 3
sv.trace(lambda v: _, 1) | None, 1.0, 'a'
sv.watch(_) || circle(), None, 'rgb', 3.0, object(), {}, [], X[0], nn.Linear, made(), {'a': 'b'}, {'a': 1j}
sv.watch({'a': X}, budget=_) || None, *NO_COUNT
sv.watch({'a': X}).update(_) || 3, 'a', {}, {'b': X}, {'a': Y}, {'a': X, 'b': X}
sv.watch({'a': X}).update(grads=_) || 3, 'a', {'b': X}, {'a': Y}
sv.watch({'a': X}).update(loss=_) || *NO_NUMBERS[1:]
sv.watch({'a': X}).update(step=_) || *NO_COUNT
sv.Scene(_, w.run) | None, 3, b'a'
sv.Scene('a', _) | None, 'run', linear(), sv.Run
sv.Scene('a', w.run, _) | 'a', [None], [[1.0], [1.0, 2.0]]
sv.Scene('a', w.run, input_names=_) | None, 'rgb', (1, 2), 3
sv.Scene('a', w.run, whole_loss=_) | None, 'yes'
sv.Scene('a', w.run, steps_a_frame=_) | 0, 1.5, 'yes'
sv.Scene('a', w.run, panels=_) | None, 'loss', (None,), panels.LossCurve()
sv.sweep(_, workers=0) || None, 3, '', 'no_such', 'no_such.py', [made]
sv.sweep('xor', _, workers=0) || 3, 'lr', {'lr': 3}, {'lr': []}, {'lr': [-1]}, {'no': [1]}, {1: [2]}
sv.sweep('xor', {}, _, workers=0) || None, 0, -1, 1.5, 'x', [], [1, 1], [-1], [2**64], True
sv.sweep('xor', steps=_, workers=0) || 0, *NO_COUNT, [1]
sv.sweep('xor', results=_, workers=0) || 3, '', 'x', 'x.csv', '/no/such/../x.txt', b'x.svs'
sv.sweep('xor', workers=_) || *NO_COUNT, [1], 10**9, True
sv.sweep('xor', options=_, workers=0) || 3, {'lr': -1}, {'seed': 1}, {'no': 1}, {'lr': [1]}
sv.sweep('xor', keyframes=_, workers=0) || None, -1, 1.5, 10**9
sv.sweep('xor', executor=_) || 3, 'tls://x', print
made(model=_) || None, 3, 'net'
made(loss=_) | None, 3, 'mse', lambda o, t: 1.0, lambda o, t: o
made(optimizer=_) | None, 0.1, 'sgd', optim.SGD
made(data=_) | None, X, (X,), (X, Y, Y), (X, Y[:3]), ('a', 'b'), (X * 1j, Y), (X + 1e39, Y)
made(data=(_, Y)) | None, X[:, :2], X[:0], X * nan, X - inf, X.astype(str) + 'x'
made(batch_size=_) | 0, -1, 5, 1.5, '2', True
made(seed=_) | -1, 1.5, '0', None, True
made(engine=_) | None, '', 'gpu', 'cuda:99', 'cuda:-1', 3
made(dtype=_) | None, '', 'float8', float, 3
made(clip_norm=_) | 0, inf
w.run.step(_, progress=never) | None, -1, 1.5, '1', True
setattr(w.run, 'lr', _) | None, -1, '1', nan, inf
w.run.predict(_) | None, 'a', X[:, :2], X[:0], X * nan, X + 1e39
w.run.predict(X, _) | [1.0], np.zeros(9), 3.0
w.run.evaluate(X, _) | None, 'a', Y[:, :1], Y[:0], Y[:3], Y * nan
w.run.frame(_) | 'a', [1.0], [[1.0] * 3] * 2, [nan] * 3
w.run.switch(_) | 10**5000
optim.SGD(w.loop.parameters(), nesterov=_) | True
optim.lr_scheduler.StepLR(w.sgd, 2, last_epoch=_) | np.zeros(2)
groups()[0].__getitem__(_) | ['lr'], np.array(['lr', 'lr'])
groups()[0].__setitem__(_, 0.1) | {'lr'}
nn.init.uniform(_) | *HYPER[:3], 2.0, nan
nn.init.normal(_) | *HYPER[:3], nan
nn.init.<uniform normal>(0, _) | *HYPER
nn.init.<xavier_uniform kaiming_uniform>(_) | *HYPER, 0
nn.init.manual_seed(_) | *NO_SEED
nn.init.apply(w.loop, _) | 'uniform', 3, lambda *_: np.zeros(7), lambda *_: 'a'
w.loop.initialize(seed=_) | *NO_SEED[:-2]
w.loop.freeze(_) | None, 3, '9.*', ''
op.mul(parameter()[:, [0, 2]], _) | circle()
op.<add matmul>(parameter(), _) | circle()
<in_place sv.gather>(parameter(), _) | circle()
nn.init.<constant_ calculate_gain>(parameter(), _) | *NO_NUMBERS
nn.init.<zeros_ normal_ uniform_ trunc_normal_ xavier_uniform_ kaiming_normal_ orthogonal_>(_) | None, 'a', [1.0], 3
nn.init.<normal_ uniform_ trunc_normal_>(parameter(), _) | *NO_NUMBERS
nn.init.<xavier_uniform_ xavier_normal_ orthogonal_>(parameter(), gain=_) | *NO_NUMBERS
nn.init.<kaiming_normal_ kaiming_uniform_>(parameter(), mode=_) | None, 3, 'fan'
(parameter() * 1).<gather index_select>(0, _) | None, 'a', [[0.5]], [[9]]
(parameter() * 1).<flip unbind cumsum cumprod>(_) | 5, 'a', 0.5
(parameter() * 1).roll(_, 0) | 'a', 0.5
parameter().__getitem__(_) | circle()
parameter()[:, [0, 2]].__getitem__(_) | circle(), 9, 2, 2**63, 'a'
setattr(nn.Dropout(), 'p', _) | 5, np.ones(2)
sv.scalar.function(_) | ['exp']
<neurons features>(place=_) | None, 'column', 'overlay', 'left', 3
neurons(change=_) | (4, 2), 'change', 3
features(names=_) | None, 'ab', (), ('a', 'a'), (1, 2)
features(<values on>=_) | None, X, (True, False), 'values'
features(rows=_) | (0, 1), 'rows', 3
features(change=_) | 'change', 3
plane(title=_) | None, 3, b'a'
<plane neurons features>(<across up>=_) | None, (0.0, 1.0), 'x'
<plane neurons>(inputs=_) | None, X, 'itself'
plane(output=_) | None, -1, 0.5, '0', True
plane(span=_) | None, 1.0, (1.0, 0.0), (0.0,), (0.0, nan), (0.0, inf), '01', (0, 1, 2)
plane(says=_) | None, 'ab', ('a',), ('a', 2), ('a', 'b', 'c')
plane(cells=_) | 0, -1, 1.5, '8', 10_000, True
plane(points=_) | X, 'points', 3
plane(classes=_) | None, 'ab', ('a',), tuple('abcdefghi'), (1, 2)
plane(edits=_) | print, 'add', (print, print)
plane(place=_) | None, 'left', 3
panels.Axis(_, 0.0, 1.0) | None, 3
panels.Axis('x', _, 1.0) | None, '0', 1.0, 2.0, nan, -inf
panels.Axis('x', 0.0, 1.0, _) | np.ma.masked_all(2), 1.0, (1.0, 1.0), ('a', 'b'), (0.0, inf)
panels.Points(_, np.zeros(4)) | None, 'a', np.zeros(4), np.zeros((4, 3)), np.zeros((3, 2)), X * 1j
panels.Points(Y, _) | None, 'a', np.zeros(3), np.zeros((4, 1))
panels.Points(Y, np.zeros(4), _) | np.zeros(4), [True], 'a', np.zeros((4, 1), bool)
panels.PointEdits(<_,print print,_>) | None, 3, 'add'
panels.CurveFit(<title=_ across=_ up=_ inputs=_ points=_ edits=_>) | 7, [1]
panels.LossOver(_, ('a',), ((0, 1),)) | None, (), (-1,), (0, 1), (0, 1, 2)
panels.LossOver((0,), ('a',), _) | None, (3,), ((1, 0),), ((0, inf),)
panels.TrainingLoop(_, ('a',)) | None, (), (-1,), (0, 1), (0, 1, 2, 3)
panels.TrainingLoop((0,), _) | None, (3,), ('a', 'b')
sv.sum([1.0, w.value]) ; sv.dot([1.0, 2.0], [1.0, w.value], 1.0) ; Weight(1.0, 'name')
w.weight.initialize(0.0, 1.0, seed=0) ; sv.gradcheck(Value.exp, 1.0, step=1e-5, tolerance=1e-6)
sv.register('exp', 'a', 'a', ('1',), latex='a') ; sv.trace(lambda v: v, 3, 0, loss=None, blocks=())
sv.Scene('name', w.run, probe=ONES[0], input_names=('r', 'g', 'b'), panels=(panels.LossCurve(),), notes=[])
sv.Run(w.loop, nn.MSELoss(), w.sgd, (X, Y), batch_size=2, seed=0, engine='numpy', dtype='float64', threads=1)
w.run.step(0, progress=_) ; w.run.evaluate(ONES, ONES[:, :2], values=None)
w.run.activations(ONES[0], values=None)
w.run.set_weights(0, [1.0]) ; w.run.set_targets(ONES[:, :2])
w.run.add_samples(ONES, ONES[:, :2]) ; w.run.refill(ONES, ONES[:, :2])
w.run.change(lr=0.1, betas=(0.8, 0.9), batch_size=2, engine='numpy') ; w.run.open(None, 1, step=None)
w.run.open(w.run.frame()) ; w.run.open(None, ([0.1] * 3, [0.2] * 2)) ; w.run.open().terms('0.bias[1]', 10)
w.run.open().update(w.net[0].weight[1][2]) ; w.run.open().name(3) ; w.run.open().loss_along(0, 5)
list(w.run.open().outer_products(_)) ; list(w.run.open().outer_products('0', counts=_))
w.run.why(0, step=1) ; w.run.why('0.weight[1][2]') ; w.run.compare(0, 1, 5)
w.run.do(edits.SetWeights(0, np.ones(1)), gesture='g') ; w.run.change(engine='numpy')
w.run.prepare(stopped=bool) ; w.run.save('a.safetensors', notes={'a': 'b'})
w.run.load('kept.safetensors', optimizer=True) ; optim.SGD(w.loop.parameters(), momentum=0.9, nesterov=True)
w.sgd.load_state_dict(copy.deepcopy(w.sgd.state_dict()))
nn.init.apply(w.loop, nn.init.normal(), 0) ; w.loop.unfreeze('0.*') ; w.loop.train(True)
w.loop.backward([1.0, 2.0]) ; w.loop.load_state_dict(w.loop.state_dict(), True)
w.loop.load_state_dict({**w.loop.state_dict(), '0.weight': _}) ; w.loop([1.0, 2.0, 3.0])
nn.Linear(3, 2, bias=True, init=nn.init.normal(), seed=0) ; w.loop.__getitem__(0) ; w.network([1.0] * 3)
w.network.perceptrons.__getitem__(0) ; w.network.perceptrons[0]([1.0] * 3) ; list(w.loop.named_parameters(_))
list(w.loop.named_modules(_)) ; list(w.loop.named_buffers(_)) ; nn.Sequential().append(nn.Tanh())
nn.Sequential().register_buffer('kept', np.ones(2)) ; nn.Sequential(nn.Tanh(), nn.ReLU())
nn.Parameter([[1.0]]) ; w.p.__getitem__((0, 1)) ; w.p.weight(1)
w.p.weight_name(1) ; w.p[0].__getitem__(1) ; nn.Softplus(2.0) ; nn.LeakyReLU(0.1)
nn.Linear(3, 2)([1.0, 2.0, 3.0]) ; nn.Perceptron(3, nn.Tanh(), bias=True, init=nn.init.normal(), seed=0)
panels.Pictures(RGB, RGB, 'photo') ; panels.ColourCube(ONES, ONES)
panels.TestCurve('test', ONES, ONES, accuracy=False) ; panels.LossCurve('batch', place='column')
panels.DigitBoard(np.ones((2, 4)), np.array([1, 2]), (2, 2)) ; w.cube(RGB)
sv.render('hostile', (160, 160), theme='dark', cmap=None, quantity='weight')
"""


def expanded(line):
    """A line for each of the words between < and >."""
    if not (found := re.search("<(.+?)>", line)):
        return [line]
    return [one for word in found[1].split() for one in expanded(line.replace(found[0], word, 1))]


LINES = [one for line in TABLE.strip().replace(" ; ", "\n").splitlines() for one in expanded(line)]
MODULES = {"check", "mistakes", "nn", "optim", "view"}
REFUSED = [line for line in LINES if " | " in line or " || " in line]
RANDOM = [line.partition(" | ")[0] for line in LINES if " || " not in line]
HOLE = re.compile(r"\b_\b")
CALLS = 2500


NAMES = {"copy": copy, "data": data, "edits": edits, "op": operator}


def parsed(call):
    return ast.parse(call, mode="eval")


def evaluated(tree, names):
    return eval(compile(ast.fix_missing_locations(tree), "table", "eval"), {**globals(), **NAMES, **names})


class World:
    """Objects to call, and all that a refused call may not change."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh(), nn.Linear(2, 2, seed=2))
        self.loop = nn.Sequential(nn.Linear(3, 2, seed=1), nn.ReLU())
        self.network = nn.Network(3, 2, nn.Sigmoid(), nn.MSELoss())
        self.adam = optim.Adam(self.net.parameters(), lr=0.01)
        self.sgd = optim.SGD(self.loop.parameters(), lr=0.01, momentum=0.9)
        x = np.arange(12.0).reshape(4, 3) / 12
        self.run = sv.Run(self.net, nn.MSELoss(), self.adam, (x, x[:, :2]), batch_size=2, engine="numpy")
        self.run.step(1)
        self.weight, self.value, self.p = Weight(1.0, name="w"), Value(1.5), self.loop[0].weight
        self.loop([1.0, 2.0, 3.0])
        self.cube = io.sample(lambda c: c, 2)

    def state(self):
        run, nets = self.run, (self.net, self.loop, self.network)
        kept = [*run.state_dict().values(), *optimizer_state(run).values(), *run.samples()]
        kept += [*self.loop.state_dict().values(), *self.network.state_dict().values()]
        flags = [p.frozen_flags.tobytes() for net in nets for p in net.parameters()]
        numbers = run.steps, run.batch_size, run.lr, run.engine.name, len(run.history), run._training.call_seconds
        own = self.weight.data, self.weight.grad, self.weight.frozen, self.weight.name, self.weight.pending()
        opts = [opt.hyperparameters() for opt in (self.adam, self.sgd)], self.sgd.steps, self.sgd.state_dict()["state"]
        return [a.tobytes() for a in kept], flags, repr((numbers, own, opts)), set(ops.TABLE), repr(self.net)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the table reads, in the current folder."""
    monkeypatch.chdir(tmp_path)
    World().run.save("kept.safetensors")
    io.save_picture("a.png", RGB)
    io.write_cube("a.cube", io.sample(lambda c: c, 2))
    Path("a.idx").write_bytes(bytes([0, 0, 8, 3, *[0, 0, 0, 1] * 3, 7]))


def test_the_table_has_everything_that_is_exported():
    nodes = [node for line in LINES for node in ast.walk(parsed(re.split(r" \|\|? ", line)[0]))]
    named = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
    assert set(sv.__all__) - MODULES - {"ScalarvizError"} <= named
    assert all(isinstance(getattr(sv, name), ModuleType) for name in MODULES)


@pytest.mark.parametrize("line", REFUSED, ids=[re.split(r" \|", line)[0] for line in REFUSED])
def test_bad_values_are_refused_by_name_and_change_nothing(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, values = re.split(r" \|\|? ", line)
    names = {"w": (w := World())}
    before = w.state()
    for value in evaluated(parsed(f"[{values}]"), names):
        with pytest.raises(sv.ScalarvizError) as caught:
            evaluated(parsed(call), names | {"_": value})
        assert 15 < len(str(caught.value)) < 600, value
        assert "\n" not in str(caught.value), value
    assert w.state() == before


# ---- random calls

PYTHONS = re.compile(  # what the interpreter says of a call that does not fit a signature
    r"unexpected keyword argument|positional arguments?|required (positional|keyword-only) argument"
    r"|takes no (keyword )?arguments|multiple values for|takes exactly|takes at (most|least)"
    r"|keywords must be strings|expected \d argument|has no len"  # what `len` says of a Value, given as a function
)


class Sly:
    """An object without anything that is asked for, and a bad text."""

    def __repr__(self):
        raise RuntimeError("no text")


def circle(kind=list):
    thing = kind()
    thing.append(thing) if kind is list else thing.update(a=thing)
    return thing


def deep(levels, kind=list):
    thing = 1.0
    for _ in range(levels):
        thing = kind([thing])
    return thing


NUMBERS = [
    0, -1, 2, 7, True, 2**63, 2**64, 10**400, 10**5000, -0.0, 0.5, 1e-320, 1e308, 1e39, nan, -inf, 1j, complex("nan"),
    decimal.Decimal("NaN"), fractions.Fraction(1, 3), datetime.date(2026, 1, 1),
]  # fmt: skip
TEXTS = ["", "a", "1", "mean", "float16", "numpy", "0.*", "[", "0.weight[9][9]", "\ud800", "x" * 5000, "\0", b"1"]


def hostile(rng):
    """A bad argument; made each time, so that no two calls share one."""
    shape = rng.choice([(), (0,), (1,), (3,), (6,), (3, 0), (4, 3), (4, 2), (2, 3, 4), (1,) * 5])
    dtype = rng.choice("?bBhHiIlLqQefdgFDOSUM")
    makers = [
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(TEXTS),
        lambda: np.ones(shape, "M8[s]" if dtype == "M" else dtype),
        lambda: np.full(shape, rng.choice([inf, -inf, nan, 1e300, 1e-320])),
        lambda: np.full(shape, rng.choice([None, "a", Sly(), 10**400, Value(1.0)]), object),
        lambda: np.ma.masked_array(np.ones(shape), np.ones(shape, bool)),
        lambda: rng.choice([None, Ellipsis, NotImplemented, slice(None), Sly(), Sly, int, object(), np, len, abs]),
        lambda: rng.choice([[], (), {}, set(), range(3), [1.0] * 3, [[1.0], [2.0, 1.0]], [None], ["a", "b"], [[]]]),
        lambda: rng.choice([[Sly()], [[1.0, None]], [1j], {1.0, 2.0}, {"a": 1}, [10**400] * 3, [Value(1.0)] * 3, [{}]]),
        lambda: (n for n in (1.0, 2.0, 3.0)),
        lambda: circle(rng.choice([list, dict])),
        lambda: deep(rng.choice([3, 40, 70, 3000]), rng.choice([list, tuple])),
        lambda: rng.choice([Value, Weight, nn.Linear, nn.MSELoss, optim.SGD, sv.Run]),
        lambda: rng.choice([Value(1.0), Weight(2.0), nn.Parameter([1.0, 2.0]), nn.ReLU(), nn.Linear(3, 2)]),
        lambda: rng.choice([lambda *a, **k: 1.0, lambda *a: None, lambda *a, **k: a, lambda *a, **k: Value(1.0)]),
        lambda: rng.choice([Path("a.png"), Path("."), memoryview(b"ab"), iter([1.0])]),
    ]
    return rng.choice(makers)()


def spoilt(call, w, rng):
    """What does a call of the table with something hostile at its hole, or in the place of one or two arguments."""
    names, tree = {"w": w, "_": hostile(rng)}, parsed(call)
    if HOLE.search(call):
        return lambda: evaluated(tree, names), names["_"]
    function, *args = (evaluated(ast.Expression(part), names) for part in (tree.body.func, *tree.body.args))
    named = {part.arg: evaluated(ast.Expression(part.value), names) for part in tree.body.keywords}
    for _ in range(rng.choice([1, 1, 1, 2])):
        places, thing, change = [*range(len(args)), *named], hostile(rng), rng.random()
        if places and change < 0.85:
            place = rng.choice(places)
            (args if isinstance(place, int) else named)[place] = thing
        elif change < 0.92:
            args.append(thing)
        elif change < 0.96:
            named[rng.choice(["inplace", "device", "banana", "\ud800"])] = thing
        elif args:
            args.pop()
    return lambda: function(*args, **named), (args, named)


def brief(thing):
    try:
        return " ".join(repr(thing).split())[:200]
    except Exception:
        return f"<{type(thing).__name__}>"


def call_at_random(seed):
    rng, found, w = random.Random(seed), {}, None
    for k in range(CALLS):
        if k % 40 == 0:
            before = (w := World()).state()
        line = sorted(RANDOM)[k % len(RANDOM)]
        steps = w.run.steps
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call, given = spoilt(line, w, rng)
                call()
        except Exception as error:
            own = isinstance(error, sv.ScalarvizError) or (type(error) is TypeError and PYTHONS.search(str(error)))
            text = f"{line} of {brief(given)}: {brief(error)}"
            if not own:
                found.setdefault((line, type(error).__name__), text)
            elif isinstance(error, DivergedError) and w.run.steps > steps:
                pass  # the step was done; the error tells what came of it
            elif w.state() != before:
                found.setdefault((line, "changed"), f"{text}: refused, but changed something")
            elif len(str(error)) > 1500:
                found.setdefault((line, "long"), f"{text}: a message of {len(str(error))} characters")
        before = w.state()
    assert not found, f"{len(found)} defects\n" + "\n".join(found.values())


@pytest.mark.ci
def test_every_call_succeeds_or_is_refused_in_words(folder):
    call_at_random(0)


@pytest.mark.hunt
def test_no_other_call_has_another_end(folder):
    for seed in hunt.seeds():
        call_at_random(seed)


@pytest.mark.filterwarnings("error")
def test_an_infinity_is_a_result_of_arrays_too():
    big = nn.Parameter([1e300, 2.0])
    assert (big * 1e300).data.tolist() == [inf, 2e300]
    assert (big**9999).data.tolist() == [inf, inf]
    np.testing.assert_array_equal((big[::-1] - inf).data, [-inf] * 2)

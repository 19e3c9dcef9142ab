# %% forward: solution
# slip forward: self.data + other => self.data * other
# slip forward: self.data * other => self.data + other
# slip parents: self.data + other.data, (self, other) => self.data + other.data, ()
# slip parents: self.data * other.data, (self, other) => self.data * other.data, (self,)
# slip raises: self.data + other.data => "sum"
# slip raises: self.data + other.data => self + other
# slip raises: return Value(self.data * other.data => Value(self.data * other.data
class Value:
    def __init__(self, data, parents=(), op=""):
        self.data, self.parents, self.op = data, parents, op
        self.grad = 0.0

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), "add")

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), "mul")


# %% push: solution
# slip other: b.data * node.grad => a.data * node.grad
# slip local: b.data * node.grad => node.grad
# slip upstream: b.data * node.grad => b.data
# slip zero: a.grad += b.data * node.grad => pass
# slip sign: b.data * => -b.data *
# slip twice: b.data * node.grad => b.data * node.grad * node.grad
def push(node):
    a, b = node.parents
    if node.op == "add":
        a.grad += node.grad
        b.grad += node.grad
    else:
        a.grad += b.data * node.grad
        b.grad += a.data * node.grad


# %% push: slip overwrite
def push(node):
    a, b = node.parents
    if node.op == "add":
        a.grad = node.grad
        b.grad = node.grad
    else:
        a.grad = b.data * node.grad
        b.grad = a.data * node.grad


# %% order: solution
# slip order: reversed(order) => order
# slip root: root.grad = 1.0 => pass
def backward(root):
    order = []

    def visit(node):
        if node not in order and node.parents:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        push(node)


# %% order: slip library
def backward(root):
    root.backward()


# %% order: slip found
def backward(root):
    root.grad = 1.0
    found = [root]
    for node in found:
        if node.parents:
            push(node)
        for parent in node.parents:
            if parent not in found:
                found.append(parent)


# %% order: slip visits
def backward(root):
    root.grad = 1.0

    def visit(node):
        if node.parents:
            push(node)
        for parent in node.parents:
            visit(parent)

    visit(root)


# %% order: slip raises
def backward(root):
    root.grad = 1.0
    push(root.parents)


# %% step: solution
# slip zero_grad: weight.grad = 0.0 => pass
# slip sign: - lr => + lr
# slip lr: lr * weight => weight
# slip replaced: weight.data - lr => -lr
# slip nothing: loss().backward() => loss()
# slip again: loss().backward() => loss().backward(), loss().backward()
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
    loss().backward()
    for weight in weights:
        weight.data = weight.data - lr * weight.grad

# %% by-hand: solution
answer = 7


# %% too-early: solution
answer = 1


# %% in-order: solution
answer = "t s q p"


# %% whole-walk: solution
# slip order: reversed(order) => order
# slip root: root.grad = 1.0 => pass
def backward(root):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        push(node)


# %% whole-walk: slip found
def backward(root):
    root.grad = 1.0
    found = [root]
    for node in found:
        push(node)
        for parent in node.parents:
            if parent not in found:
                found.append(parent)


# %% whole-walk: slip visits
def backward(root):
    root.grad = 1.0

    def visit(node):
        push(node)
        for parent in node.parents:
            visit(parent)

    visit(root)


# %% whole-walk: slip overwrite
def backward(root):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            parent.grad = node.grad * slope


# %% whole-walk: slip library
def backward(root):
    root.backward()


# %% whole-walk: slip backwards
def backward(root):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    for node in order:
        node.grad = 0.0
    root.grad = 2.0
    for node in reversed(order):
        push(node)


# %% whole-walk: slip raises
def backward(root):
    root.grad = 1.0
    for node in reached(root):
        push(node)

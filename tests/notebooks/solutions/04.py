# %% by-hand: solution
answer = 7
# %% by-hand: slip factor
answer = 14
# %% by-hand: slip sign
answer = -7
# %% by-hand: slip small
answer = 6

# %% too-early: solution
answer = 1
# %% too-early: slip large
answer = 7
# %% too-early: slip sign
answer = -1
# %% too-early: slip small
answer = 0

# %% in-order: solution
answer = "t s q p"
# %% in-order: slip
answer = "p q s t"
# %% in-order: slip
answer = "t q s p"
# %% in-order: slip
answer = "t s p q"


# %% whole-walk: solution
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


# %% whole-walk: slip order
def backward(root):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in order:
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


# %% whole-walk: slip root
def backward(root):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    for node in reversed(order):
        push(node)


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

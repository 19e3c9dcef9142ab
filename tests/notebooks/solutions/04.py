# %% by-hand: solution
# slip factor: 7 => 14
# slip sign: = 7 => = -7
# slip small: 7 => 6
answer = 7

# %% too-early: solution
# slip large: 1 => 7
# slip sign: = 1 => = -1
# slip small: 1 => 0
answer = 1

# %% in-order: solution
# slip: t s q p => p q s t
# slip: s q => q s
# slip: q p => p q
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

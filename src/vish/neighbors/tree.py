r"""The nearest rows: a tree of boxes, searched best box first.

The points are halved at the median of their widest coordinate until `LEAF` are left, and lie in
memory leaf by leaf. A query takes the leaves in the order of the distance to their boxes. It ends
when no box is nearer than the k-th neighbour found, exactly, or after `most_leaves` leaves: where
points have many coordinates most of an exact search confirms what the first leaves had found, and
a prediction from neighbours needs near rows, not the nearest.

A search depends on the points and the query alone: not on threads, nor on other queries. Queries
are taken in the order of their own leaves, so that near ones find the same memory warm.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vish.sphere.compiled import compiled
from vish.sphere.threads import map_in_order

LEAF = 32  # most points of a leaf
_WIDTH_SAMPLE = 128  # points that tell which coordinate of a box is the widest
_PARTS = 3  # levels of the tree that are split before the parts go to threads
QUERY_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class Tree:
    """Points [n, p] in the order of the leaves, and the boxes of all nodes.

    Node i has the children 2i + 1 and 2i + 2; all leaves are of one depth.
    """

    points: np.ndarray  # [p, n]
    order: np.ndarray  # [n], number of each point as it was given
    bounds: np.ndarray  # [leaves + 1], where each leaf begins
    lower: np.ndarray  # [nodes, p]
    upper: np.ndarray  # [nodes, p]
    cuts: np.ndarray  # [nodes], the coordinate that was split, as a number
    values: np.ndarray  # [nodes], and where

    @classmethod
    def of(cls, points: np.ndarray, n_jobs: int | None = None) -> "Tree":
        """Build the tree.  [n, p]"""
        points = np.ascontiguousarray(points, dtype=np.float64)
        n, p = points.shape
        depth = max(0, int(np.ceil(np.log2(max(n, 1) / LEAF))))
        leaves = 2**depth
        order, keys = np.arange(n), np.empty(n)
        cuts, values = np.zeros(leaves - 1, dtype=np.int64), np.zeros(leaves - 1)
        tops = min(_PARTS, depth)
        for node in range(2**tops - 1):  # level by level, so that parents come first
            _split(points, order, keys, node, *_span(node, n), cuts, values)

        def part(root: int) -> None:
            _split_below(points, order, keys, root, *_span(root, n), leaves, cuts, values)

        for _ in map_in_order(part, range(2**tops - 1, 2 ** (tops + 1) - 1), n_jobs):
            pass
        bounds = np.array([_span(leaves - 1 + i, n)[0] for i in range(leaves)] + [n])
        lower, upper = np.empty((2 * leaves - 1, p)), np.empty((2 * leaves - 1, p))
        kept = np.ascontiguousarray(points[order].T)
        _boxes(kept, bounds, lower, upper)
        return cls(kept, order, bounds, lower, upper, cuts, values)

    @cached_property
    def n_points(self) -> int:
        return self.points.shape[1]

    def leaf_of(self, queries: np.ndarray) -> np.ndarray:
        """The leaf on whose side of all cuts each query lies.  [m, p] -> [m]"""
        leaves = np.empty(len(queries), dtype=np.int64)
        _descend(queries, self.cuts, self.values, leaves)
        return leaves

    def chunks(self, queries: np.ndarray) -> list[np.ndarray]:
        """Numbers of the queries, near ones together, in pieces for threads."""
        ordered = np.argsort(self.leaf_of(queries), kind="stable")
        return [ordered[i : i + QUERY_CHUNK] for i in range(0, len(ordered), QUERY_CHUNK)]

    def nearest(
        self, queries: np.ndarray, k: int, most_leaves: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of, and squared distances to, the k nearest points, nearest first.

        [m, p] -> [m, min(k, n)] twice
        """
        shape = (len(queries), min(k, self.n_points))
        found, squares = np.empty(shape, dtype=np.int64), np.empty(shape)
        _search(
            np.ascontiguousarray(queries, dtype=np.float64),
            self.points,
            self.order,
            self.bounds,
            self.lower,
            self.upper,
            most_leaves,
            found,
            squares,
        )
        return found, squares


def _span(node: int, n: int) -> tuple[int, int]:
    """The points of a node, by halving along the path from the root."""
    path = []
    while node:
        path.append(node % 2 == 1)  # left children are odd
        node = (node - 1) // 2
    start, stop = 0, n
    for left in reversed(path):
        middle = (start + stop) // 2
        start, stop = (start, middle) if left else (middle, stop)
    return start, stop


@compiled
def _widest(points, order, start, stop):
    """The coordinate of the largest spread, by some of the points."""
    step = max(1, (stop - start) // _WIDTH_SAMPLE)
    best, widest = 0, -1.0
    for j in range(points.shape[1]):
        total, squares, count = 0.0, 0.0, 0
        first = points[order[start], j]
        for i in range(start, stop, step):
            value = points[order[i], j] - first
            total += value
            squares += value * value
            count += 1
        spread = squares - total * total / count
        if spread > widest:
            best, widest = j, spread
    return best


@compiled
def _select(keys, order, start, stop, middle):
    """Reorder so that no key before `middle` is larger than one from it on (quickselect)."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@compiled
def _split(points, order, keys, node, start, stop, cuts, values):
    """Halve the points of a node."""
    cut = _widest(points, order, start, stop)
    middle = (start + stop) // 2
    for i in range(start, stop):
        keys[i] = points[order[i], cut]
    _select(keys, order, start, stop, middle)
    cuts[node], values[node] = cut, keys[middle]


@compiled
def _split_below(points, order, keys, root, start, stop, leaves, cuts, values):
    """Halve a node, its children and so on, down to the leaves."""
    nodes, starts, stops = np.empty((3, 128), dtype=np.int64)
    nodes[0], starts[0], stops[0] = root, start, stop
    waiting = 1
    while waiting:
        waiting -= 1
        node, start, stop = nodes[waiting], starts[waiting], stops[waiting]
        if node >= leaves - 1:
            continue
        _split(points, order, keys, node, start, stop, cuts, values)
        middle = (start + stop) // 2
        nodes[waiting], starts[waiting], stops[waiting] = 2 * node + 1, start, middle
        waiting += 1
        nodes[waiting], starts[waiting], stops[waiting] = 2 * node + 2, middle, stop
        waiting += 1


@compiled
def _boxes(points, bounds, lower, upper):
    """The smallest box around the points of every node, from the leaves up."""
    leaves = len(bounds) - 1
    for leaf in range(leaves):
        node = leaves - 1 + leaf
        for j in range(points.shape[0]):
            lower[node, j], upper[node, j] = np.inf, -np.inf
            for i in range(bounds[leaf], bounds[leaf + 1]):
                lower[node, j] = min(lower[node, j], points[j, i])
                upper[node, j] = max(upper[node, j], points[j, i])
    for node in range(leaves - 2, -1, -1):
        for j in range(points.shape[0]):
            lower[node, j] = min(lower[2 * node + 1, j], lower[2 * node + 2, j])
            upper[node, j] = max(upper[2 * node + 1, j], upper[2 * node + 2, j])


@compiled
def _descend(queries, cuts, values, leaves):
    inner = len(cuts)
    for m in range(len(queries)):
        node = 0
        while node < inner:
            node = 2 * node + (1 if queries[m, cuts[node]] < values[node] else 2)
        leaves[m] = node - inner


@compiled
def _box_distance(query, lower, upper, node):
    """Squared distance of a point to a box."""
    total = 0.0
    for j in range(len(query)):
        gap = max(max(lower[node, j] - query[j], query[j] - upper[node, j]), 0.0)
        total += gap * gap
    return total


@compiled
def _push(distances, nodes, size, distance, node):
    """Into a heap with the smallest distance on top."""
    i = size
    while i > 0:
        above = (i - 1) // 2
        if distances[above] <= distance:
            break
        distances[i], nodes[i] = distances[above], nodes[above]
        i = above
    distances[i], nodes[i] = distance, node
    return size + 1


@compiled
def _pop(distances, nodes, size):
    """Remove the top of the heap, which the caller has read."""
    size -= 1
    distance, node = distances[size], nodes[size]
    i = 0
    while 2 * i + 1 < size:
        below = 2 * i + 1
        if below + 1 < size and distances[below + 1] < distances[below]:
            below += 1
        if distance <= distances[below]:
            break
        distances[i], nodes[i] = distances[below], nodes[below]
        i = below
    distances[i], nodes[i] = distance, node
    return size


@compiled
def _replace_farthest(squares, found, square, point):
    """In a heap with the largest square on top; of equal squares, the largest number."""
    k, i = len(squares), 0
    while 2 * i + 1 < k:
        below = 2 * i + 1
        if below + 1 < k and _farther(squares, found, below + 1, squares[below], found[below]):
            below += 1
        if not _farther(squares, found, below, square, point):
            break
        squares[i], found[i] = squares[below], found[below]
        i = below
    squares[i], found[i] = square, point


@compiled
def _farther(squares, found, i, square, point):
    return squares[i] > square or (squares[i] == square and found[i] > point)


@compiled
def _scan_leaf(query, points, order, start, stop, room, squares, found):
    """Take over the points of a leaf that are nearer than the farthest kept."""
    room[: stop - start] = 0.0
    for j in range(len(query)):
        at = query[j]
        for i in range(start, stop):
            gap = points[j, i] - at
            room[i - start] += gap * gap
    for i in range(start, stop):
        square = room[i - start]
        if square <= squares[0] and _farther(squares, found, 0, square, order[i]):
            _replace_farthest(squares, found, square, order[i])


@compiled
def _search(queries, points, order, bounds, lower, upper, most_leaves, found, squares):
    """The nearest points of every query, by best box first."""
    leaves = len(bounds) - 1
    k = found.shape[1]
    room = np.empty(2 * LEAF)
    distances, nodes = np.empty(2 * leaves), np.empty(2 * leaves, dtype=np.int64)
    kept, at = np.empty(k), np.empty(k, dtype=np.int64)
    for m in range(len(queries)):
        kept[:] = np.inf
        at[:] = len(order)
        size, seen = _push(distances, nodes, 0, 0.0, 0), 0
        while size and distances[0] <= kept[0] and (seen < most_leaves or kept[0] == np.inf):
            node = nodes[0]
            size = _pop(distances, nodes, size)
            while node < leaves - 1:  # down to the nearer child; the other one waits
                left, right = 2 * node + 1, 2 * node + 2
                a = _box_distance(queries[m], lower, upper, left)
                b = _box_distance(queries[m], lower, upper, right)
                node = left if a <= b else right
                other, distance = (right, b) if a <= b else (left, a)
                if distance <= kept[0]:
                    size = _push(distances, nodes, size, distance, other)
            leaf = node - (leaves - 1)
            _scan_leaf(queries[m], points, order, bounds[leaf], bounds[leaf + 1], room, kept, at)
            seen += 1
        _sort(kept, at)
        found[m], squares[m] = at, kept


@compiled
def _sort(squares, found):
    """The heap in order, nearest first."""
    for size in range(len(squares) - 1, 0, -1):
        square, point = squares[size], found[size]
        squares[size], found[size] = squares[0], found[0]
        _replace_farthest(squares[:size], found[:size], square, point)

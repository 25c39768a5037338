"""The drawing of chapter 10: what is kept until the backward pass."""

from __future__ import annotations

from .svg import Drawing

FIRST, PITCH, WIDTH = 40, 62, 44  # the first box, from box to box in a group, and their width
GROUP = 3 * PITCH + 20  # from group to group


def checkpoint() -> str:
    """Three layers forwards and backwards; above as usual, below with a checkpoint."""
    d = Drawing("checkpoint")

    def left(group, i):
        return FIRST + GROUP * group + PITCH * i

    def row(y, groups):
        before = 12
        for group, (title, css, numbers) in enumerate(groups):
            if title == "forwards again":
                d.arrow(before, y + 17, before + 12, y + 17)
                before = left(group, 0) - 16
            d.text(left(group, 1) + WIDTH / 2, y - 10, title, css)
            for i, number in enumerate(numbers):
                d.arrow(before, y + 17, left(group, i) - 2, y + 17, css=css)
                d.box(left(group, i), y, WIDTH, 34, css)
                d.text(left(group, i) + WIDTH / 2, y + 22, number, f"number {css}")
                before = left(group, i) + WIDTH
        d.arrow(before, y + 17, before + 24, y + 17, css=groups[-1][1])

    def keep(begin, end, y):
        """From a layer to its own backward step: the longer, the deeper."""
        depth = (end - begin) * 0.28 + 14
        d.lines.append(
            f'<path class="linear" d="M{begin:g} {y:g}C{begin + 10:g} {y + depth:g} '
            f'{end - 10:g} {y + depth:g} {end:g} {y + 2:g}" marker-end="url(#{d.name}-tip)"/>')

    def residuals(y, group):
        for i in range(3):
            keep(left(group, i) + WIDTH / 2, left(group + 1, 2 - i) + WIDTH / 2, y + 34)

    forwards, backwards = ("forwards", "", "123"), ("backwards", "linear", "321")

    def usual():
        row(34, [forwards, backwards])
        residuals(34, 0)
        d.text(left(2, 0), 56, "as usual: the residuals", anchor="start")
        d.text(left(2, 0), 76, "of all layers are kept", anchor="start")

    def again():
        row(190, [forwards, ("forwards again", "", "123"), backwards])
        residuals(190, 1)
        keep(18, left(1, 0) - 14, 208)
        d.text((18 + left(1, 0) - 14) / 2, 278, "only x is kept", "linear")

    d.part("usual", usual)
    d.part("again", again)
    return d.svg(680, 318, "Above: three layers forwards, then three layers backwards. Long arrows "
                 "lead from each layer to its backward step. Below, with checkpoint: only the "
                 "argument is kept. The three layers run forwards, then forwards again, then "
                 "backwards, and the arrows begin at the second run.")

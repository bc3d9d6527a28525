"""How many branches of its trees something runs over, of which rows of tendons and struts take two."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.model import Model

_MOST = 2


def check_branches(element: str, model: Model, links: Iterable[str]) -> None:
    """Throws naming ``element`` if links that move are the tips of more than two branches."""
    carriers = {joint.child: joint for joint in model.description.joints}
    moved, inboard = set[str](), set[str]()
    for link in links:
        while link in carriers and carriers[link].type == "fixed":
            link = carriers[link].parent
        if link not in carriers:
            continue  # the world
        moved.add(link)
        while (link := carriers[link].parent) in carriers:
            inboard.add(link)
    if len(moved - inboard) > _MOST:
        raise ValueError(
            f"{element}: limits and dry friction are those of lengths over two branches at most, this one has "
            f"{len(moved - inboard)}"
        )
